"""Batches: unseen until they are published, and the graph caught up where a writer was cut off."""

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from pyoxigraph import NamedNode, Triple

from kg.errors import InputError, WorkspaceError
from kg.nouns.entities import Case
from kg.nouns.knowledge import Bottleneck
from kg.rows import batches
from kg.rows.trials import TrialStore
from kg.triples.finders import batch_records
from kg.triples.graph import GraphStore
from kg.triples.serialisation import to_triples
from kg.triples.snapshots import newest, newest_number, open_newest
from kg.triples.vocabulary import TG
from recommender.files import WorkspaceFiles, write_folder
from recommender.store.versions import Version, save
from recommender.store.writing import batch_chain
from recommender.store.writing.batch_chain import BatchChain
from recommender.workspace.workspace import Workspace
from tests.unit.recommender.store.writing.conftest import CheckCounts


def triples(path: Path) -> set[object]:
    with GraphStore(WorkspaceFiles(path).live, read_only=True) as graph:
        return set(graph.triples())


def test_the_next_writer_catches_up_what_the_graph_lacks(
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

            broken.setattr(GraphStore, "replace_plain", fail)
            with pytest.raises(WorkspaceError):
                editor.add_cases(second)
    check_counts(empty_path, rows=2, problems=1)  # acknowledged, and not seen yet
    with Workspace.editor(empty_path, cache=empty_path):
        pass
    check_counts(empty_path, rows=4, problems=2)


def test_knowledge_of_a_writer_that_was_killed_is_published(
    empty_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as killed, Workspace.editor(empty_path, cache=empty_path) as editor:
        editor.add_knowledge([Bottleneck(id="own", labels={"en": "own words"})])
        killed.setattr(BatchChain, "publish", lambda _: None)
    with Workspace.editor(empty_path, cache=empty_path):
        pass
    with open_newest(WorkspaceFiles(empty_path).graph) as graph:
        assert set(graph.triples()) == triples(empty_path)


def test_readers_see_nothing_of_a_batch_until_it_is_published(
    empty_path: Path, cases: Callable[..., list[Case]], check_counts: CheckCounts
) -> None:
    with Workspace.editor(empty_path, cache=empty_path) as editor:
        editor.add_cases(cases(1))
        check_counts(empty_path, rows=0, problems=0)
    check_counts(empty_path, rows=2, problems=1)
    number = newest_number(WorkspaceFiles(empty_path).graph)
    with Workspace.editor(empty_path, cache=empty_path):
        pass
    assert newest_number(WorkspaceFiles(empty_path).graph) == number  # nothing new is not published again


def test_readers_do_not_wait_for_a_writer_to_end(
    empty_path: Path,
    cases: Callable[..., list[Case]],
    check_counts: CheckCounts,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with Workspace.editor(empty_path, cache=empty_path) as editor:
        editor.add_cases(cases(1))
        monkeypatch.setattr(batch_chain, "PUBLISH_EVERY_S", -1.0)
        editor.add_cases(cases(2))
        check_counts(empty_path, rows=4, problems=2)
        folder = newest(WorkspaceFiles(empty_path).graph)
        editor._writer._chain.publish_if_due()
        assert newest(WorkspaceFiles(empty_path).graph) == folder


def test_a_batch_is_on_the_disk_before_the_graph_has_it(
    empty_path: Path, cases: Callable[..., list[Case]], monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[int] = []
    said: list[str] = []
    plain = GraphStore.replace_plain

    def look(self: GraphStore, removed: bytes, added: bytes) -> None:
        with TrialStore(WorkspaceFiles(empty_path).trials, read_only=True) as beside:
            seen.append(batches.newest(beside.file)[0])
        plain(self, removed, added)

    monkeypatch.setattr(GraphStore, "replace_plain", look)
    made = cases(1)
    with Workspace.editor(empty_path, cache=empty_path) as editor:
        file = editor._writer.trials.file
        assert file.read("PRAGMA synchronous") == [(2,)]  # FULL: the end of a transaction waits for the disk
        file._connection.set_trace_callback(said.append)
        editor.add_cases(made)
        file._connection.set_trace_callback(None)
    assert seen == [1]
    assert not [text for text in said if "synchronous" in text]


@pytest.mark.parametrize("lost", ["all", "the newest batch"])
def test_a_graph_made_again_is_the_one_that_was(
    empty_path: Path, cases: Callable[..., list[Case]], tmp_path: Path, lost: str
) -> None:
    files = WorkspaceFiles(empty_path)
    first, second = cases(1), cases(1, 2)
    with Workspace.editor(empty_path, cache=empty_path) as editor:
        editor.add_cases(first)
    shutil.copytree(files.live, tmp_path / "older")
    with Workspace.editor(empty_path, cache=empty_path) as editor:
        editor.add_cases(second)
        for words in ("first words", "other words"):
            editor.add_knowledge([Bottleneck(id="own", labels={"en": words})])
    before = triples(empty_path)
    shutil.rmtree(files.live)
    if lost != "all":
        (tmp_path / "older").rename(files.live)
    with Workspace.editor(empty_path, cache=empty_path):
        pass
    assert triples(empty_path) == before


def test_a_graph_of_later_batches_is_refused(
    empty_path: Path, cases: Callable[..., list[Case]], tmp_path: Path
) -> None:
    files = WorkspaceFiles(empty_path)
    first, second = cases(1), cases(2)
    with Workspace.editor(empty_path, cache=empty_path) as editor:
        editor.add_cases(first)
    shutil.copyfile(files.trials, tmp_path / "older")
    with Workspace.editor(empty_path, cache=empty_path) as editor:
        editor.add_cases(second)
    shutil.copyfile(tmp_path / "older", files.trials)
    with (
        GraphStore(files.live) as graph,
        TrialStore(files.trials) as trials,
        pytest.raises(WorkspaceError, match="the graph ends with batch 2, the rows with batch 1"),
    ):
        BatchChain(files, graph, trials, published=2)


def test_the_rows_know_the_seal_that_the_graph_has(
    empty_path: Path, cases: Callable[..., list[Case]]
) -> None:
    with Workspace.editor(empty_path, cache=empty_path) as editor:
        editor.add_cases(cases(1))
    files = WorkspaceFiles(empty_path)
    with GraphStore(files.live) as graph, TrialStore(files.trials) as trials:
        assert batches.newest(trials.file) == (1, batch_records(graph)[1].seal)


def test_a_seal_is_of_all_batches_before_it(
    empty_path: Path, cases: Callable[..., list[Case]], tmp_path: Path
) -> None:
    seals = []
    for path, first in ((shutil.copytree(empty_path, tmp_path / "other"), 1), (empty_path, 3)):
        for content in (cases(first), cases(2)):
            with Workspace.editor(path, cache=tmp_path) as editor:
                editor.add_cases(content)
        with TrialStore(WorkspaceFiles(path).trials, read_only=True) as trials:
            seals.append(batches.newest(trials.file)[1])
    assert len(set(seals)) == 2


def test_what_a_batch_that_never_was_saved_is_removed(empty_path: Path) -> None:
    files = WorkspaceFiles(empty_path)
    for since in (0, 9):
        version = Version(
            name=f"since{since}", time="", batch=0, since=since, hardware=frozenset(), changelog=()
        )
        save(files, version, (), {})
        write_folder(files.generations / str(since), {"a": b""})
    with Workspace.editor(empty_path, cache=empty_path) as editor:
        for name in ("7", ".draft", "words"):
            assert sorted(item.name for item in files.versions.iterdir()) == ["since0"]
            assert [item.name for item in files.generations.iterdir()] == ["0"]
            write_folder(files.generations / name, {"a": b""})
            write_folder(files.versions / ".draft", {"a": b""})
            editor._writer._chain.resume()
    assert sorted(item.name for item in files.versions.iterdir()) == ["since0"]


def test_an_import_is_taken_back_where_it_is_as_it_came_and_nothing_rests_on_it(
    empty_path: Path, tmp_path: Path
) -> None:
    said = sorted(to_triples(Bottleneck(id="own", labels={"en": "own words"})), key=str)
    file = tmp_path / "own.nt"
    file.write_bytes(b"".join(f"{triple} .\n".encode() for triple in said))
    node = said[0].subject
    assert isinstance(node, NamedNode)
    pointing = Triple(NamedNode("https://example.org/other"), TG.CONFLICTS_WITH, node)
    with Workspace.editor(empty_path, cache=tmp_path) as editor:
        assert editor.import_graph(file) == len(said)
        batch, writer = editor.batch, editor._writer
        with pytest.raises(InputError, match=f"batch {batch + 1} is no import"):
            editor.undo(batch + 1)
        for removed, added, why in (
            ([said[0]], [], "has changed since"),
            ([], [pointing], "is used since by"),
        ):
            writer.change_knowledge(removed, added)
            with pytest.raises(InputError, match=why):
                editor.undo(batch)
            writer.change_knowledge(added, removed)
        assert set(said) <= set(writer.graph.triples())
        assert editor.undo(batch) == len(said)
        assert not set(said) & set(writer.graph.triples())
        with pytest.raises(InputError, match="taken back already"):
            editor.undo(batch)
        assert editor.import_graph(file) == len(said)
        writer.trials.file.write("DELETE FROM statements WHERE batch = ?", editor.batch)
        with pytest.raises(InputError, match="is not known"):
            editor.undo(editor.batch)
