"""Counters in traces."""

import json
from pathlib import Path

from ingest.profiles.folders import read_profile


def event(name: str, ts: str, dur: float, **more: object) -> dict[str, object]:
    return {"ph": "X", "name": name, "pid": 1, "tid": 2, "ts": ts, "dur": dur, **more}


def test_counters_of_a_trace_in_their_units(tmp_path: Path) -> None:
    def sample(name: str, ts: str, **told: float) -> dict[str, object]:
        return {"ph": "C", "name": name, "pid": 1, "tid": 0, "ts": ts, "args": told}

    events = [
        sample("HBM 0/Read", "10.5", **{"Read(MB/s)": 3000.0}), sample("HBM 1/Write", "10.5", **{"Write(MB/s)": 1000}),
        sample("HBM 0/Read", "20.5", **{"Read(MB/s)": 500.0}), sample("AI Core Freq", "1", MHz=1800),
        sample("APP/Memory", "1", KB=2048.0), sample("APP/HBM", "1", KB=2048.0), sample("HBM 0/Read", "x", a=1),
        sample("LLC 0 Read/Hit Rate", "1", **{"Hit Rate(%)": 0.86}),
    ]  # fmt: skip
    path = tmp_path / "trace_view.json"
    path.write_text(json.dumps([event("Free", "1", 5), *events]))
    [rank] = read_profile(path).ranks
    assert rank.hbm_gb_s == ((10_500, 4.0), (20_500, 0.5))
    assert rank.frequency_mhz == ((1000, 1800.0),)
    assert {(c.name, c.unit, c.mean, c.peak) for c in rank.details.counters} == {
        ("HBM 0 read", "MB/s", 1750.0, 3000.0), ("HBM 1 write", "MB/s", 1000.0, 1000.0),
        ("APP hbm", "KB", 2048.0, 2048.0), ("LLC 0 Read hit rate", "%", 86.0, 86.0),
    }  # fmt: skip
    assert [(module.component, module.peak_mb) for module in rank.details.modules] == [("app", 2.0)]
