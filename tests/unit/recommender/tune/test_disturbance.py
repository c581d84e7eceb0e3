"""Disturbance by others and by the client itself."""

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from recommender.tune.disturbance import ProcessorTime, disturbance
from recommender.tune.load import LoadResult, RequestRecord


def result(lag: float = 0.0, cpu: float = 0.1) -> LoadResult:
    records = tuple(RequestRecord(due=1.0, sent=1.0 + lag, first=1.1, last=1.2) for _ in range(10))
    return LoadResult(records=records, wall_s=1.0, cpu_share=cpu)


@pytest.mark.parametrize(
    ("lag", "cpu", "foreign", "smallest", "says"),
    [
        (0.0, 0.1, 0.0, None, ""),
        (0.0, 0.1, 0.4, None, "other processes took 40%"),
        (0.15, 0.1, 0.0, None, ""),
        (0.25, 0.1, 0.0, None, "250 ms late"),
        (0.03, 0.1, 0.0, 0.5, "30 ms late"),
        (0.02, 0.1, 0.0, 0.5, ""),
        (0.0, 0.95, 0.0, None, "95% of a core"),
    ],
)
def test_what_spoils_a_probe(
    lag: float, cpu: float, foreign: float, smallest: float | None, says: str
) -> None:
    found = disturbance(result(lag, cpu), foreign, smallest)
    assert says in found
    assert bool(found) == bool(says)


@pytest.mark.skipif(not Path("/proc/stat").exists(), reason="processor time is read in /proc")
def test_time_of_others_counts_and_time_of_our_own_does_not() -> None:
    busy = subprocess.Popen([sys.executable, "-c", "while True: pass"])
    try:
        time.sleep(0.3)
        one, other = ProcessorTime.now([busy.pid]), ProcessorTime.now([])
        time.sleep(1.5)
        again, another = ProcessorTime.now([busy.pid]), ProcessorTime.now([])
        assert one is not None
        assert other is not None
        assert again is not None
        assert another is not None
        cores = os.cpu_count() or 1
        assert another.foreign_share(other) >= 0.1 / cores
        assert again.foreign_share(one) < another.foreign_share(other)
    finally:
        busy.kill()
        busy.wait()
