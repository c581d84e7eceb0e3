"""A batch written in several steps counts whole or not at all."""

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from kg.errors import WorkspaceError
from kg.nouns.effects import Effect
from kg.nouns.entities import (
    Case,
)
from kg.nouns.outcomes import Outcome
from kg.triples.finders import sources_of_effect
from kg.triples.oxigraph_store import OxigraphStore
from kg.triples.serialisation import all_of
from recommender.files import WorkspaceFiles
from recommender.store.writing import batch_chain, bulk_writing
from recommender.store.writing.bulk_writing import take_back
from recommender.workspace.workspace import Workspace
from tests.samples.conclusions import NOW, conclusion, copies
from tests.unit.recommender.store.writing.conftest import CheckCounts


def triples(path: Path) -> set[str]:
    """What the live graph says, but for the times and seals of batches."""
    with OxigraphStore(WorkspaceFiles(path).live, read_only=True) as graph:
        return {str(triple) for triple in graph.triples() if "/batch/" not in str(triple.subject)}


def break_bulk(monkeypatch: pytest.MonkeyPatch, *, after: bool) -> None:
    """Let the fast write fail, before or after it has written."""
    plain = OxigraphStore.load_plain

    def fail(self: OxigraphStore, lines: bytes) -> None:
        if after:
            plain(self, lines)
        raise WorkspaceError("the disk is full")

    monkeypatch.setattr(OxigraphStore, "load_plain", fail)


def test_a_batch_in_several_steps_says_what_one_in_one_step_says(
    tmp_path: Path,
    empty_path: Path,
    cases: Callable[..., list[Case]],
    check_counts: CheckCounts,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    other = tmp_path / "other"
    shutil.copytree(empty_path, other)
    for path, least in ((empty_path, 1), (other, 1 << 30)):
        monkeypatch.setattr(batch_chain, "BULK_TRIPLES", least)
        with Workspace.editor(path, cache=path) as editor:
            editor.add_cases(cases(1))
            editor.add_cases([*cases(1), *cases(2)])
        assert not WorkspaceFiles(path).unfinished.exists()
    assert triples(empty_path) == triples(other)
    check_counts(empty_path, rows=4, problems=2)


def test_outcomes_in_several_steps_and_pieces_say_what_those_in_one_step_say(
    tmp_path: Path, empty_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = tmp_path / "other"
    shutil.copytree(empty_path, other)
    monkeypatch.setattr(bulk_writing, "PIECE", 7)
    for path, least in ((empty_path, 1), (other, 1 << 30)):
        monkeypatch.setattr(batch_chain, "BULK_TRIPLES", least)
        with Workspace.editor(path, cache=path, clock=lambda: NOW) as editor:
            assert (
                editor.add_outcomes(
                    [conclusion(number, copies(number % 2), f"test {number // 2}") for number in range(5)]
                ).rows
                == 5
            )
            added = editor.add_outcomes(
                [conclusion(number, copies(number % 2), f"test {number // 2}") for number in range(3, 40)]
            )
            assert (added.rows, added.repeated) == (35, 2)
    assert triples(empty_path) == triples(other)
    with Workspace.open(empty_path, cache=empty_path) as workspace:
        assert workspace.knowledge.validate() == []
        assert [item.says for item in workspace.upkeep.check() if item.severity == "fault"] == []
        assert {item.id for item in all_of(workspace.graph, Outcome)} == {
            f"outcome-{number}" for number in range(40)
        }
        effects = [*all_of(workspace.graph, Effect)]
        assert len(effects) == 6
        assert sum(item.n for item in effects) == 40
        assert sum(len(sources_of_effect(workspace.graph, item)) for item in effects) == 40


@pytest.mark.parametrize("after", [False, True])
def test_what_was_cut_off_is_taken_back_by_the_next_writer(
    empty_path: Path,
    cases: Callable[..., list[Case]],
    check_counts: CheckCounts,
    monkeypatch: pytest.MonkeyPatch,
    after: bool,
) -> None:
    with Workspace.editor(empty_path, cache=empty_path) as editor:
        editor.add_cases(cases(1))
    before = triples(empty_path)
    monkeypatch.setattr(batch_chain, "BULK_TRIPLES", 1)
    with Workspace.editor(empty_path, cache=empty_path) as editor, monkeypatch.context() as broken:
        break_bulk(broken, after=after)
        with pytest.raises(WorkspaceError, match="full"):
            editor.add_cases(cases(2))
        with pytest.raises(WorkspaceError, match="cut off"):  # this writer cannot go on
            editor.add_cases(cases(3))
    assert WorkspaceFiles(empty_path).unfinished.exists()
    check_counts(empty_path, rows=2, problems=1)
    with Workspace.editor(empty_path, cache=empty_path):
        pass
    assert not WorkspaceFiles(empty_path).unfinished.exists()
    assert triples(empty_path) == before
    with Workspace.editor(empty_path, cache=empty_path) as editor:
        assert editor.add_cases(cases(2)).rows == 2
    check_counts(empty_path, rows=4, problems=2)


def test_a_writer_that_died_while_it_took_back_is_made_good(
    empty_path: Path, cases: Callable[..., list[Case]], check_counts: CheckCounts
) -> None:
    files = WorkspaceFiles(empty_path)
    with Workspace.editor(empty_path, cache=empty_path) as editor:
        editor.add_cases(cases(1))
    before = triples(empty_path)
    files.unfinished.write_text("2\n", encoding="ascii")
    files.live.rename(files.graph / "live.cut")  # and then it died
    with Workspace.editor(empty_path, cache=empty_path):
        pass
    assert triples(empty_path) == before
    assert sorted(item.name for item in files.graph.iterdir()) == ["CURRENT", "live", "published"]
    check_counts(empty_path, rows=2, problems=1)


def test_without_a_published_graph_nothing_is_taken_back(tmp_path: Path) -> None:
    files = WorkspaceFiles(tmp_path)
    files.graph.mkdir()
    files.unfinished.write_text("2\n", encoding="ascii")
    with pytest.raises(WorkspaceError, match="no published graph"):
        take_back(files)
    assert files.unfinished.exists()
