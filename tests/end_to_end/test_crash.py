"""A writer killed with signal 9 at random moments loses nothing that it acknowledged and leaves nothing torn."""

from __future__ import annotations

import gzip
import importlib.util
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

CRASH = Path(__file__).resolve().parent.parent.parent / "benchmarks" / "crash.py"
KILLS = 20
ROWS = 30_000
"""Of each file: more than twenty children take in before they are killed."""


def benchmark() -> Any:
    spec = importlib.util.spec_from_file_location("crash", CRASH)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


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


def test_twenty_kills_lose_nothing_and_tear_nothing(tmp_path: Path, capsys: Any) -> None:
    for name, device in (("one", "NVIDIA A100-SXM4-80GB"), ("two", "NVIDIA H100 80GB HBM3")):
        with gzip.open(tmp_path / f"{name}.jsonl.gz", "wt", compresslevel=1) as stream:
            stream.writelines(cases(device))
    crash = benchmark()
    crash.LONGEST_LIFE_S = 2.0
    figures = crash.measure(tmp_path, KILLS, seed=7)
    assert figures["kills"] == KILLS
    assert figures["batches_acknowledged"] >= KILLS // 2, capsys.readouterr().out
    wrong = ("rows_lost", "torn_problems", "broken_opens", "index_faults")
    assert {name: figures[name] for name in wrong} == dict.fromkeys(wrong, 0), capsys.readouterr().out
