"""Snapshots: readers see what was published, whole, and are not pruned away."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from pyoxigraph import Literal, NamedNode, Triple

from kg.errors import WorkspaceError
from kg.nouns.entities import Source
from kg.nouns.knowledge import Cause
from kg.triples.graph import GraphStore
from kg.triples.serialisation import all_of, to_triples
from kg.triples.snapshots import KEPT, newest, open_newest, publish, share

SOURCE = Source(title="mine")
S, P = NamedNode("http://example.org/s"), NamedNode("http://example.org/p")


@pytest.fixture
def live(tmp_path: Path) -> Iterator[GraphStore]:
    with GraphStore(tmp_path / "live") as store:
        yield store


def numbers(folder: Path) -> list[int]:
    return sorted(int(entry.name) for entry in (folder / "published").iterdir())


def test_readers_see_what_was_published_and_nothing_later(live: GraphStore, tmp_path: Path) -> None:
    live.extend([Triple(S, P, Literal(1))])
    assert publish(live, tmp_path) == 1
    live.extend([Triple(S, P, Literal(2))])
    with open_newest(tmp_path) as reader:
        assert len(reader) == 1
        assert publish(live, tmp_path) == 2
        assert len(reader) == 1
    with open_newest(tmp_path) as reader:
        assert len(reader) == 2


def test_before_the_first_there_is_none(tmp_path: Path) -> None:
    assert newest(tmp_path) is None
    with pytest.raises(WorkspaceError, match="no published graph"):
        open_newest(tmp_path)


def test_old_ones_go_but_not_one_that_is_open(live: GraphStore, tmp_path: Path) -> None:
    publish(live, tmp_path)
    with open_newest(tmp_path) as reader:
        live.extend([Triple(S, P, Literal(1))])
        for _ in range(5):
            publish(live, tmp_path)
        assert numbers(tmp_path) == [1, 4, 5, 6]
        assert list(reader.triples()) == []
    publish(live, tmp_path)
    assert numbers(tmp_path) == [5, 6, 7]
    assert len(numbers(tmp_path)) == KEPT


def test_a_copy_of_a_snapshot_is_whole_without_it(live: GraphStore, tmp_path: Path) -> None:
    live.extend([Triple(S, P, Literal(number)) for number in range(100)])
    publish(live, tmp_path)
    folder = newest(tmp_path)
    assert folder is not None
    with open_newest(tmp_path):
        share(folder, tmp_path / "copy")
    shutil.rmtree(folder)
    with GraphStore(tmp_path / "copy", read_only=True) as copy:
        assert set(copy.triples()) == set(live.triples())


def test_knowledge_of_a_snapshot_is_read_once_and_that_of_a_live_graph_anew(
    live: GraphStore, tmp_path: Path
) -> None:
    def causes(store: GraphStore) -> list[Cause]:
        return list(all_of(store, Cause))

    live.extend(to_triples(Cause(id="a", labels={"en": "A"}, source=SOURCE)))
    publish(live, tmp_path)
    assert len(causes(live)) == 1
    live.extend(to_triples(Cause(id="b", labels={"en": "B"}, source=SOURCE)))
    assert len(causes(live)) == 2
    with open_newest(tmp_path) as reader:
        [first], [second] = causes(reader), causes(reader)
    assert first is second


def test_what_a_killed_writer_left_is_no_snapshot(live: GraphStore, tmp_path: Path) -> None:
    publish(live, tmp_path)
    half = tmp_path / "published" / ".2"
    half.mkdir()
    (half / "CURRENT").write_text("torn")
    (tmp_path / "CURRENT.new").write_text("9")
    with open_newest(tmp_path) as reader:
        assert len(reader) == 0
    live.extend([Triple(S, P, Literal(1))])
    assert publish(live, tmp_path) == 2
    with open_newest(tmp_path) as reader:
        assert len(reader) == 1


def test_a_copy_that_was_never_switched_to_keeps_its_number(live: GraphStore, tmp_path: Path) -> None:
    publish(live, tmp_path)
    live.backup(tmp_path / "published" / "2")
    path = newest(tmp_path)
    assert path is not None
    assert path.name == "1"
    assert publish(live, tmp_path) == 3


def test_where_hard_links_fail_the_graph_is_copied(
    live: GraphStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(self: GraphStore, folder: Path) -> None:
        folder.mkdir()
        raise WorkspaceError("no links here")

    triples = [Triple(S, P, Literal(number)) for number in range(100)]
    live.extend(triples)
    monkeypatch.setattr(GraphStore, "backup", refuse)
    publish(live, tmp_path)
    with open_newest(tmp_path) as reader:
        assert set(map(str, reader.triples())) == set(map(str, triples))


@pytest.mark.parametrize("content", ["", "x", "1 2", "\0"])
def test_a_damaged_name_is_told(live: GraphStore, tmp_path: Path, content: str) -> None:
    publish(live, tmp_path)
    (tmp_path / "CURRENT").write_text(content)
    with pytest.raises(WorkspaceError, match="damaged"):
        newest(tmp_path)


def test_a_full_disk_gets_its_room_back(
    live: GraphStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    publish(live, tmp_path)

    def fails(*_: object) -> None:
        raise WorkspaceError("no hard links here")

    def fills(_: GraphStore, folder: Path) -> None:
        folder.mkdir()
        (folder / "half").write_bytes(b"x")
        raise WorkspaceError("no space left on device")

    monkeypatch.setattr(GraphStore, "backup", fails)
    monkeypatch.setattr("kg.triples.snapshots._copy", fills)
    with pytest.raises(WorkspaceError, match="no space left"):
        publish(live, tmp_path)
    assert [entry.name for entry in (tmp_path / "published").iterdir()] == ["1"]
    with open_newest(tmp_path) as reader:
        assert len(reader) == 0


def test_a_missing_name_of_the_newest_is_told_as_that(live: GraphStore, tmp_path: Path) -> None:
    publish(live, tmp_path)
    (tmp_path / "CURRENT").unlink()
    with pytest.raises(WorkspaceError, match="CURRENT is missing") as told:
        open_newest(tmp_path)
    assert "doctor --repair" in told.value.hint
    publish(live, tmp_path)
    with open_newest(tmp_path) as reader:
        assert len(reader) == 0


def test_a_missing_or_damaged_snapshot_is_told(live: GraphStore, tmp_path: Path) -> None:
    publish(live, tmp_path)
    (tmp_path / "CURRENT").write_text("7")
    with pytest.raises(WorkspaceError, match="cannot be opened"):
        open_newest(tmp_path)
    (tmp_path / "CURRENT").write_text("1")
    (tmp_path / "published" / "1" / "CURRENT").write_text("nonsense")
    with pytest.raises(WorkspaceError, match="cannot be opened"):
        open_newest(tmp_path)


def test_the_live_graph_has_one_owner(live: GraphStore, tmp_path: Path) -> None:
    with pytest.raises(WorkspaceError, match="cannot be opened") as caught:
        GraphStore(tmp_path / "live")
    assert "another process" in caught.value.hint


def test_publishing_again_and_again_leaves_nothing_open(live: GraphStore, tmp_path: Path) -> None:
    for number in range(2 * KEPT):
        live.extend([Triple(S, P, Literal(number))])
        publish(live, tmp_path)
    opened = [str(item.readlink()) for item in Path("/proc/self/fd").iterdir() if item.is_symlink()]
    assert [name for name in opened if name.startswith(f"{tmp_path}/published")] == []
