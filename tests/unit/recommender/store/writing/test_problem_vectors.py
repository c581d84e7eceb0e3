"""Vectors of problems: made again for another encoder, and where they are lost."""

from collections.abc import Callable
from pathlib import Path

import pytest

from kg.nouns.entities import Case
from recommender.files import WorkspaceFiles
from recommender.workspace.workspace import Workspace
from tests.unit.recommender.store.writing.conftest import CheckCounts


def test_a_change_of_encoder_makes_all_vectors_again(
    empty_path: Path,
    cases: Callable[..., list[Case]],
    check_counts: CheckCounts,
    caplog: pytest.LogCaptureFixture,
) -> None:
    with Workspace.editor(empty_path, cache=empty_path) as editor:
        editor.add_cases(cases(1, 2, 3))
    log = WorkspaceFiles(empty_path).vectors
    log.write_bytes(log.read_bytes().replace(b'"encoder": "', b'"encoder": "0', 1))
    with Workspace.editor(empty_path, cache=empty_path):
        pass
    assert "the encoder changed" in caplog.text
    check_counts(empty_path, rows=6, problems=3)


def test_lost_vectors_are_made_again_by_repair(
    empty_path: Path, cases: Callable[..., list[Case]], check_counts: CheckCounts
) -> None:
    with Workspace.editor(empty_path, cache=empty_path) as editor:
        editor.add_cases(cases(1, 2, 3))
    WorkspaceFiles(empty_path).vectors.unlink()
    with Workspace.editor(empty_path, cache=empty_path) as editor:
        editor.repair()
    check_counts(empty_path, rows=6, problems=3)
