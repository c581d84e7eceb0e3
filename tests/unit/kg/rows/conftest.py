"""An empty trial store."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from kg.rows.trials import TrialStore

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "trials.sqlite3"


@pytest.fixture
def store(path: Path) -> Iterator[TrialStore]:
    with TrialStore(path) as opened:
        yield opened
