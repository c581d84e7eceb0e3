"""The size of the response model, chosen without the group that is asked."""

from benchmarks.answers.unseen import Judged
from tools.fitting.tree_size import left_out


def judged(device: str, hit: float) -> Judged:
    return Judged(
        name="kernels",
        classes=(),
        method="ours",
        device=device,
        within=(hit, 1, 1),
        regrets=(0.5 - hit / 2, 0, 0),
    )


def test_a_group_is_answered_by_what_the_others_would_choose() -> None:
    hits = {"shipped": {"a": 0.0, "b": 1.0, "c": 1.0}, "half": {"a": 1.0, "b": 0.0, "c": 1.0}}
    found = {size: [judged(device, hit) for device, hit in of.items()] for size, of in hits.items()}
    picked, shares = left_out(found, ["a", "b", "c"])
    assert picked == {"a": "shipped", "b": "half", "c": "shipped"}  # where both lose alike the first stays
    assert shares == {"kernels": (0.6667, 0.3333)}
