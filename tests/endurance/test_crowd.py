"""Several processes write and read one workspace: a moment here, ten minutes in the long tier."""

from pathlib import Path

import pytest

from tests.endurance import crowd


@pytest.mark.parametrize(
    ("seconds", "writers", "readers"),
    [(1.5, 2, 1), pytest.param(600.0, 3, 5, marks=pytest.mark.long)],
)
def test_writers_take_turns_and_readers_never_see_half(
    tmp_path: Path, seconds: float, writers: int, readers: int
) -> None:
    figures = crowd.measure(tmp_path, seconds, writers, readers)
    assert {name: figures[name] for name in ("wrong", "faults", "died", "rows_lost")} == {
        "wrong": [],
        "faults": [],
        "died": 0,
        "rows_lost": 0,
    }
    assert figures["reads"]
    assert figures["rows_acknowledged"]
