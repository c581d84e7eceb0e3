"""Every instant is counted once, whatever overlaps."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ingest.profiles.facts.kernels import KernelBuilder, Kernels
from recommender.diagnosis.ledger.sweep import share_time

CORES = ("AI_CORE", "COMMUNICATION", "MEMCPY")


def build(rows: list[tuple[int, int, int]]) -> Kernels:
    builder = KernelBuilder("kernels.csv")
    for row, (start, lasted, core) in enumerate(rows):
        builder.add(row, start, duration_us=lasted / 1e3, name="x", core=CORES[core])
    return builder.build()


def by_hand(rows: list[tuple[int, int, int]]) -> list[float]:
    """Nanoseconds of computing, of exposed communication, of bare copies and of gaps, one by one."""
    found = [0.0, 0.0, 0.0, 0.0]
    working = [(a, a + n) for a, n, core in rows if core < 2 and n]
    for at in range(min(a for a, _ in working), max(b for _, b in working)):
        running = {core for a, n, core in rows if a <= at < a + n}
        found[min(running, default=3)] += 1
    return found


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.tuples(st.integers(0, 60), st.integers(0, 25), st.integers(0, 2)), min_size=1, max_size=12)
)
def test_the_classes_add_up_to_the_step_instant_by_instant(rows: list[tuple[int, int, int]]) -> None:
    if not any(core < 2 and n for _, n, core in rows):
        return
    found = share_time(build(rows), np.zeros(len(rows), np.int64))
    sums = [found.computing_us.sum(), found.exposed_us.sum(), found.copy_us.sum(), found.gap_us.sum()]
    assert [1e3 * float(part) for part in sums] == pytest.approx(by_hand(rows))


def test_kernels_that_run_at_once_share_their_time() -> None:
    found = share_time(build([(0, 40, 0), (20, 40, 0), (30, 50, 1)]), np.zeros(3, np.int64))
    assert found.computing_us * 1e3 == pytest.approx([30, 30, 0])
    assert found.exposed_us * 1e3 == pytest.approx([0, 0, 20])


def test_each_step_is_swept_by_itself_and_what_is_outside_is_left_out() -> None:
    kernels = build([(0, 10, 0), (20, 10, 0), (1000, 10, 0), (1040, 10, 0), (5000, 70, 0)])
    found = share_time(kernels, np.array([0, 0, 1, 1, -1]))
    assert found.computing_us * 1e3 == pytest.approx([10, 10, 10, 10, 0])
    assert found.gap_us * 1e3 == pytest.approx([10, 30])
    assert found.gap_step.tolist() == [0, 1]
