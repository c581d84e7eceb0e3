"""When a search ends."""

import pytest

from recommender.search.engine.proposal import StopRule


@pytest.mark.parametrize(
    ("rule", "word"),
    [
        (StopRule(budget=10), "budget"),
        (StopRule(patience=3), "no gain"),
        (StopRule(minimum_gain=0.01), "expected"),
        (StopRule(budget=11, patience=4, minimum_gain=0.001), None),
    ],
)
def test_each_bound_speaks(rule: StopRule, word: str | None) -> None:
    reason = rule.reason(evaluations=10, idle=3, open_points=5, expected=0.005)
    assert (reason is None) if word is None else (reason is not None and word in reason)


def test_an_exhausted_space_ends_a_search() -> None:
    assert "every configuration" in str(
        StopRule().reason(evaluations=1, idle=0, open_points=0, expected=None)
    )
