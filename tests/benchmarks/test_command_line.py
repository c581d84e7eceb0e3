"""Command lines in one process: their time ends them, whatever else the process runs."""

import gc
import time
from pathlib import Path

import pytest

from benchmarks.kinds import command_line
from benchmarks.kinds.command_line import CommandLine


def test_callbacks_of_others_hold_up_no_end(
    shipped_path: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """An exception in a callback of the collector or of a weak reference is printed and lost."""

    def works() -> None:
        until = time.process_time() + 3
        while time.process_time() < until:
            gc.collect()

    def slow(*_: object) -> None:
        sum(range(300_000))

    monkeypatch.setattr(command_line, "main", works)
    gc.callbacks.append(slow)
    try:
        with CommandLine(shipped_path, tmp_path, budget_s=0.2) as line:
            result = line.run([])
        assert slow in gc.callbacks
    finally:
        gc.callbacks.remove(slow)
    assert result.code == -2
