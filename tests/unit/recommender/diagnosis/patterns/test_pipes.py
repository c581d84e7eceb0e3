"""Units of a core that set the pace of its kernels."""

from typing import Any

import pytest

from ingest.profiles.facts.intervals import split_steps
from ingest.profiles.facts.kernels import KernelBuilder
from ingest.profiles.facts.run import Profile, Rank
from recommender.diagnosis.analysis import analyse


def waiting_for_memory(kind: str, lasts: float = 50.0) -> Profile:
    """A run of one kind of kernel whose way to memory is busy while nothing else is."""
    builder = KernelBuilder("kernel_details.csv")
    counters = {"aiv_time(us)": lasts, "aiv_mte2_ratio": 0.95, "aiv_vec_ratio": 0.2}
    for row in range(20):
        builder.add(
            row, round(row * (lasts + 1) * 1e3), duration_us=lasts, name=kind, kind=kind, core="AI_VECTOR_CORE",
            blocks=40.0, pipes=counters, input_shapes="4096,4096", input_types="DT_BF16",
        )  # fmt: skip
    kernels = builder.build()
    rank = Rank(rank=0, folder="", layout="test", kernels=kernels, steps=tuple(split_steps(kernels)))
    return Profile(path="run", ranks=(rank,))


@pytest.mark.parametrize(("kind", "is_loss"), [("LayerNormV3", False), ("MaskedScatterNd", True)])
def test_what_reads_and_writes_once_is_not_held_up_by_it(thresholds: Any, kind: str, is_loss: bool) -> None:
    assert (analyse(waiting_for_memory(kind), thresholds)["memory-bandwidth"].share > 0.5) is is_loss


def test_it_is_where_it_takes_longer_than_before(thresholds: Any) -> None:
    now, before = waiting_for_memory("LayerNormV3", 80.0), waiting_for_memory("LayerNormV3")
    assert analyse(now, thresholds, before)["memory-bandwidth"].share > 0.3


@pytest.mark.parametrize(("vector", "is_idle"), [(0.45, False), (0.05, True)])
def test_cores_that_take_turns_on_a_kernel_are_busy_together(
    make: Any, thresholds: Any, vector: float, is_idle: bool
) -> None:
    mixed = {"aic_mac_ratio": 0.4, "aic_mte2_ratio": 0.3, "aiv_time(us)": 100.0, "aiv_vec_ratio": vector}
    found = analyse(make(pipes=mixed), thresholds)["no-bound-operator"]
    assert (found.share > 0.1) is is_idle
