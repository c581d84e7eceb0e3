"""An empty trial store."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from kg.rows.trials import TrialStore


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "trials.sqlite3"


@pytest.fixture
def store(path: Path) -> Iterator[TrialStore]:
    with TrialStore(path) as opened:
        yield opened
