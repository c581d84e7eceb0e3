"""A writer killed with signal 9 at random moments loses nothing that it acknowledged and leaves nothing torn."""

import gzip
import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.endurance import crash

pytestmark = pytest.mark.long

KILLS = 20
ROWS = 3000
"""Of each file."""


def cases(device: str) -> Iterator[str]:
    """Cases of many small problems; every fifth is evidence for a strategy."""
    for number in range(ROWS):
        case: dict[str, object] = {
            "task": {"kind": "kernel", "op": f"toy{number % 3}", "shape": {"M": number // 6, "N": 64}},
            "hardware": {"vendor": "nvidia", "name": device},
            "config": {"block": 8 << (number % 6), "stages": number % 2},
            "outcome": {
                "metric": "kernel_time",
                "unit": "ms",
                "value": 1 + number % 13 / 10,
                "better": "lower",
                "status": "ok",
            },
            "source": {"repo": "a/b", "path": "c.json", "commit": "d", "licence": "MIT"},
        }
        if number % 5 == 0:
            case |= {
                "kind": "published",
                "strategy": "tile-it",
                "bottleneck": "memory",
                "baseline": {"value": 2.0},
            }
        yield json.dumps(case) + "\n"


def test_twenty_kills_lose_nothing_and_tear_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, device in (("one", "NVIDIA A100-SXM4-80GB"), ("two", "NVIDIA H100 80GB HBM3")):
        with gzip.open(tmp_path / f"{name}.jsonl.gz", "wt", compresslevel=1) as stream:
            stream.writelines(cases(device))
    monkeypatch.setenv("PYTHONPATH", "")  # the benchmark sets it for its children
    figures = crash.measure(tmp_path, None, KILLS, seed=7)
    assert figures["kills"] == KILLS
    assert figures["batches_acknowledged"] >= KILLS // 2, capsys.readouterr().out
    wrong = ("lost", "torn", "rows_lost", "rows_not_recovered", "torn_problems", "broken_opens")
    assert {name: figures[name] for name in wrong} == dict.fromkeys(wrong, 0), capsys.readouterr().out
