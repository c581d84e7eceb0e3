"""Batches: unseen until they are published, and swept where they were never acknowledged."""

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from kg.errors import WorkspaceError
from kg.nouns.entities import Case
from kg.rows import seals
from kg.rows.trials import TrialStore
from kg.triples.finders import batch_records
from kg.triples.oxigraph_store import OxigraphStore
from recommender.files import WorkspaceFiles
from recommender.store.writing.batch_chain import BatchChain
from recommender.workspace.workspace import Workspace
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

            broken.setattr(OxigraphStore, "replace_plain", fail)
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


@pytest.mark.parametrize("durable", [True, False])
def test_a_durable_batch_waits_for_the_disk_before_it_is_acknowledged(
    empty_path: Path, cases: Callable[..., list[Case]], monkeypatch: pytest.MonkeyPatch, durable: bool
) -> None:
    order: list[str] = []

    def note(owner: Any, name: str) -> None:
        plain = getattr(owner, name)

        def noted(*given: Any, **more: Any) -> Any:
            order.append(name)
            return plain(*given, **more)

        monkeypatch.setattr(owner, name, noted)

    note(OxigraphStore, "replace_plain")
    note(OxigraphStore, "flush")
    note(seals, "acknowledge")
    made = cases(1)
    with Workspace.editor(empty_path, cache=empty_path, durable=durable) as editor:
        order.clear()
        editor.add_cases(made)
        written = list(order)
    assert written == (
        ["replace_plain", "flush", "acknowledge"] if durable else ["replace_plain", "acknowledge"]
    )


def test_a_graph_of_an_older_day_is_refused_before_anything_is_swept(
    empty_path: Path, cases: Callable[..., list[Case]], tmp_path: Path
) -> None:
    files = WorkspaceFiles(empty_path)
    first, second = cases(1), cases(2)
    with Workspace.editor(empty_path, cache=empty_path) as editor:
        editor.add_cases(first)
    shutil.copytree(files.live, tmp_path / "older")
    with Workspace.editor(empty_path, cache=empty_path) as editor:
        editor.add_cases(second)
    shutil.rmtree(files.live)
    (tmp_path / "older").rename(files.live)
    with OxigraphStore(files.live) as graph, TrialStore(files.trials) as trials:
        with pytest.raises(WorkspaceError, match="graph ends with batch 1"):
            BatchChain(files, graph, trials, durable=False, was_left=False)
        assert trials.counts().trials == 4


def test_the_rows_know_the_seal_that_the_graph_has(
    empty_path: Path, cases: Callable[..., list[Case]]
) -> None:
    with Workspace.editor(empty_path, cache=empty_path) as editor:
        editor.add_cases(cases(1))
    files = WorkspaceFiles(empty_path)
    with OxigraphStore(files.live) as graph, TrialStore(files.trials) as trials:
        noted, known = seals.recorded(trials.file)
        assert noted == 1
        assert known[1] == batch_records(graph)[1].seal != ""
