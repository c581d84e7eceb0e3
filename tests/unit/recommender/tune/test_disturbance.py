"""Disturbance by others and by the client itself."""

import os
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest

from recommender.tune.disturbance import MachineTime, disturbance
from recommender.tune.load import LoadResult, RequestRecord


def result(lag: float = 0.0, cpu: float = 0.1) -> LoadResult:
    records = tuple(RequestRecord(due=1.0, sent=1.0 + lag, first=1.1, last=1.2) for _ in range(10))
    return LoadResult(records=records, wall_s=1.0, cpu_share=cpu)


@pytest.mark.parametrize(
    ("lag", "cpu", "parts", "smallest", "says"),
    [
        (0.0, 0.1, {}, None, ""),
        (0.0, 0.1, {"others": 0.4, "io": 0.3}, None, "other processes took 40%"),
        (0.0, 0.1, {"others": 0.05, "memory": 0.3}, None, "for 30% of the time everything waited for memory"),
        (0.0, 0.1, {"others": 0.05, "io": 0.09}, None, ""),
        (0.0, 0.1, {"others": 0.0, "heat of 3": 0.2}, None, "heat or power slowed the clocks for 20%"),
        (0.15, 0.1, {}, None, ""),
        (0.25, 0.1, {}, None, "250 ms late"),
        (0.03, 0.1, {}, 0.5, "30 ms late"),
        (0.02, 0.1, {}, 0.5, ""),
        (0.0, 0.95, {}, None, "95% of a core"),
    ],
)
def test_what_spoils_a_probe(
    lag: float, cpu: float, parts: dict[str, float], smallest: float | None, says: str
) -> None:
    found = disturbance(result(lag, cpu), parts, smallest)
    assert says in found
    assert bool(found) == bool(says)


@pytest.mark.skipif(not Path("/proc/stat").exists(), reason="processor time is read in /proc")
def test_time_of_others_counts_and_time_of_our_own_does_not() -> None:
    busy = subprocess.Popen([sys.executable, "-c", "while True: pass"])
    try:
        time.sleep(0.1)
        one, other = MachineTime.now([busy.pid]), MachineTime.now([])
        time.sleep(0.6)
        again, another = MachineTime.now([busy.pid]), MachineTime.now([])
        assert one is not None
        assert other is not None
        assert again is not None
        assert another is not None
        cores = os.cpu_count() or 1
        assert another.shares(other)["others"] >= 0.1 / cores
        assert again.shares(one)["others"] < another.shares(other)["others"]
    finally:
        busy.kill()
        busy.wait()


@pytest.mark.skipif(not Path("/proc/stat").exists(), reason="processor time is read in /proc")
def test_time_that_was_lost_is_read_where_the_system_tells(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A fake ``nvidia-smi`` prints what the query for its counters of microseconds does, a row a device."""
    monkeypatch.setattr("recommender.tune.disturbance._PRESSURE", tmp_path)
    monkeypatch.setattr("recommender.tune.disturbance._THROTTLES", tmp_path / "cpus")
    monkeypatch.setenv("PATH", str(tmp_path))
    assert MachineTime.now([]).lost_s == {}  # type: ignore[union-attr]
    tool = tmp_path / "nvidia-smi"
    tool.write_text("#!/bin/sh\necho 1000000, 0, 0\necho 500000, 0, 0\n")
    tool.chmod(0o755)
    stall = (
        "some avg10=0.00 avg60=0.00 avg300=0.00 total={}\nfull avg10=0.00 avg60=0.00 avg300=0.00 total={}\n"
    )
    (tmp_path / "memory").write_text(stall.format(9_000_000, 2_000_000))
    package = tmp_path / "cpus" / "cpu0" / "thermal_throttle"
    package.mkdir(parents=True)
    (package / "package_throttle_total_time_ms").write_text("250\n")
    before = MachineTime.now([])
    assert before is not None
    assert before.lost_s == {"memory": 2.0, "heat of 0": 1.0, "heat of 1": 0.5, "heat of 2": 0.25}
    later = replace(before, at_s=before.at_s + 10, lost_s={"memory": 5.0, "heat of 1": 2.5, "io": 1.0})
    assert later.shares(before) == {
        "others": 0.0,
        "memory": pytest.approx(0.3),
        "heat of 1": pytest.approx(0.2),
    }
