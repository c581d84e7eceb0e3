"""Cases to write, and a look at what was written."""

from collections.abc import Callable
from pathlib import Path
from typing import Protocol

import pytest

from ingest.reading import read
from kg.nouns.entities import Case
from kg.triples.names import Names
from recommender.workspace.workspace import Workspace
from tests.samples.toy_cases import case_line


class CheckCounts(Protocol):
    """Asserts what a workspace holds."""

    def __call__(self, path: Path, *, rows: int, problems: int) -> None:
        """Assert that it has so many rows and problems, and that its parts agree."""


@pytest.fixture
def cases(empty_path: Path, tmp_path: Path) -> Callable[..., list[Case]]:
    """Makes cases of problems of the given sizes, two configurations each."""

    def make(*sizes: int) -> list[Case]:
        file = tmp_path / "some.jsonl"
        lines = [case_line(1.0 + block, size=size, block=block) for size in sizes for block in (1, 2)]
        file.write_text("".join(lines))
        with Workspace.open(empty_path, cache=tmp_path) as workspace:
            return [item for item in read([file], Names(workspace.graph)) if isinstance(item, Case)]

    return make


@pytest.fixture
def check_counts() -> CheckCounts:
    """Asserts that a workspace has so many rows and problems, and that its parts agree."""

    def check(path: Path, *, rows: int, problems: int) -> None:
        with Workspace.open(path, cache=path.parent / "cache") as workspace:
            assert [item.says for item in workspace.upkeep.check() if item.severity == "fault"] == []
            counts = workspace.trials.counts()
            assert (counts.trials, counts.problems) == (rows, problems)

    return check
