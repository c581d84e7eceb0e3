"""Vectors of problems: made again for another encoder, and where they are lost."""

import sqlite3
from collections.abc import Callable
from pathlib import Path

import pytest

from kg.nouns.entities import Case
from recommender.files import WorkspaceFiles
from recommender.workspace.workspace import Workspace
from tests.unit.recommender.store.writing.conftest import CheckCounts


def change(path: Path, sql: str) -> None:
    with sqlite3.connect(WorkspaceFiles(path).trials) as connection:
        connection.execute(sql)


@pytest.mark.parametrize(
    ("sql", "is_told"),
    [
        ("UPDATE encoders SET hash = 'another'", False),  # those of the other encoder are all there
        ("DELETE FROM vectors WHERE row = (SELECT max(row) FROM vectors)", True),
    ],
)
def test_vectors_of_another_encoder_and_lost_ones_are_made_again_by_the_next_writer(
    empty_path: Path,
    cases: Callable[..., list[Case]],
    check_counts: CheckCounts,
    caplog: pytest.LogCaptureFixture,
    sql: str,
    is_told: bool,
) -> None:
    with Workspace.editor(empty_path, cache=empty_path) as editor:
        editor.add_cases(cases(1, 2, 3))
    change(empty_path, sql)
    with Workspace.editor(empty_path, cache=empty_path):
        pass
    assert ("vectors are missing" in caplog.text) == is_told
    check_counts(empty_path, rows=6, problems=3)
