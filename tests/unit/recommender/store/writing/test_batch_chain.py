"""Batches: unseen until they are published, and swept where they were never acknowledged."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from kg.errors import WorkspaceError
from kg.rows.trials import TrialStore
from kg.triples.oxigraph_store import OxigraphStore
from recommender.files import WorkspaceFiles
from recommender.workspace import Workspace

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from kg.nouns.entities import Case
    from tests.unit.recommender.store.writing.conftest import CheckCounts


def test_the_next_writer_sweeps_what_was_never_acknowledged(
    empty_path: Path,
    cases: Callable[..., list[Case]],
    check_counts: CheckCounts,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    first, second = cases(1), cases(2)
    with Workspace.editor(empty_path, cache=empty_path) as editor:
        editor.add_cases(first)
        with monkeypatch.context() as broken:

            def fail(*_: object, **__: object) -> None:
                raise WorkspaceError("the disk is full")

            broken.setattr(OxigraphStore, "extend", fail)
            with pytest.raises(WorkspaceError):
                editor.add_cases(second)
    check_counts(empty_path, rows=2, problems=1)
    with TrialStore(WorkspaceFiles(empty_path).trials, read_only=True) as left:
        assert left.counts().trials == 4  # unseen, but there
    with Workspace.editor(empty_path, cache=empty_path):
        pass
    with TrialStore(WorkspaceFiles(empty_path).trials, read_only=True) as left:
        assert left.counts().trials == 2


def test_readers_see_nothing_of_a_batch_until_it_is_published(
    empty_path: Path, cases: Callable[..., list[Case]], check_counts: CheckCounts
) -> None:
    with Workspace.editor(empty_path, cache=empty_path) as editor:
        editor.add_cases(cases(1))
        check_counts(empty_path, rows=0, problems=0)
    check_counts(empty_path, rows=2, problems=1)
