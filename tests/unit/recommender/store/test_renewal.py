"""A renewed workspace: what ships now, its own kept, and the old or the new one after a kill."""

import os
import shutil
import signal
import time
from collections.abc import Callable
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from kg.errors import WorkspaceError
from kg.nouns.entities import Trust
from kg.nouns.knowledge import HardwareProfile
from kg.triples.serialisation import all_of
from kg.triples.snapshots import newest_number
from recommender.files import WorkspaceFiles
from recommender.store import renewal
from recommender.store.base import Base
from recommender.store.ingestion import Options
from recommender.store.renewal import RenewalResult, renew
from recommender.workspace.upkeep import UpkeepDesk
from recommender.workspace.workspace import Workspace
from tests.samples.toy_cases import case_line

Ingest = Callable[..., None]
Describe = Callable[[Path, str, str], None]
VENDOR = "hardware:\n  - {{id: {0}, level: vendor, label: {{en: {1}}}}}\n"


@pytest.fixture(scope="session")
def made_once(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A workspace with two rows of one problem."""
    place = tmp_path_factory.mktemp("base")
    Workspace.create(place / "base", cache=place / "cache", text_model=None, with_shipped=False)
    (place / "base.jsonl").write_text(case_line(1.0) + case_line(2.0, block=32))
    with Workspace.editor(place / "base", cache=place) as editor:
        editor.ingest([place / "base.jsonl"])
    return place / "base"


@pytest.fixture
def base(made_once: Path, tmp_path: Path) -> Path:
    """A copy of it that may be written to: what ships now."""
    return shutil.copytree(made_once, tmp_path / "base")


def begun_with(base: Path, path: Path) -> Path:
    """A workspace that begins with what another holds now, with nothing of its own."""
    shutil.copytree(base, path)
    Base.keep(WorkspaceFiles(path), "then")
    return path


def renewed(path: Path, base: Path, cache: Path) -> RenewalResult:
    """Put a workspace on what another holds now."""
    return renew(
        WorkspaceFiles(path),
        cache,
        version="now",
        make=lambda draft: Base.keep(WorkspaceFiles(shutil.copytree(base, draft.root)), "now"),
        clock=lambda: datetime.now(UTC),
    )


@pytest.fixture
def mine(base: Path, tmp_path: Path) -> Path:
    """A workspace that began with it, with nothing of its own."""
    return begun_with(base, tmp_path / "mine")


@pytest.fixture
def ingest(tmp_path: Path) -> Callable[..., None]:
    """Take lines into a workspace."""

    def take(path: Path, *lines: str, options: Options | None = None) -> None:
        file = tmp_path / f"{path.name}.jsonl"
        file.write_text("".join(lines))
        with Workspace.editor(path, cache=tmp_path) as editor:
            editor.ingest([file], options=options)

    return take


@pytest.fixture
def name_vendor(tmp_path: Path) -> Callable[[Path, str, str], None]:
    """Describe a vendor in a workspace, or describe it anew."""

    def describe(path: Path, identifier: str, label: str) -> None:
        file = tmp_path / "vendors.yaml"
        file.write_text(VENDOR.format(identifier, label))
        with Workspace.editor(path, cache=tmp_path) as editor:
            editor.add_file("hardware", file)

    return describe


def answers(path: Path, cache: Path) -> Any:
    """Everything that answers rest on, but for the times of writing."""
    with Workspace.open(path, cache=cache) as workspace:
        triples = {str(item) for item in workspace.graph.triples() if "endedAtTime" not in str(item)}
        rows = {
            row.id: workspace.trials.rows(row.id)
            for row in workspace.trials.summary(workspace.trials.keys().tolist())
        }
        return triples, rows, workspace.snapshot.index.keys(workspace.snapshot.batch).tolist()


def bytes_of(path: Path) -> dict[str, str]:
    """Digests of every file of a workspace that says something of its content."""
    left_out = ("LOCK", "LOG", "lock", "trials.sqlite3-")
    return {
        str(item.relative_to(path)): sha256(item.read_bytes()).hexdigest()
        for item in sorted(path.rglob("*"))
        if item.is_file() and not item.name.startswith(left_out)
    }


def labels(path: Path, cache: Path) -> dict[str, str]:
    """The names of the devices that a workspace describes."""
    with Workspace.open(path, cache=cache) as workspace:
        return {item.id: item.labels["en"] for item in all_of(workspace.graph, HardwareProfile)}


def test_answers_rest_on_the_same_as_in_one_workspace(
    base: Path, mine: Path, tmp_path: Path, ingest: Ingest
) -> None:
    own = [case_line(3.0, block=8), case_line(0.5, size=64), case_line(4.0, hardware={"name": "NVIDIA H20"})]
    ingest(mine, *own)
    number = newest_number(WorkspaceFiles(mine).graph)
    for path in (base, plain := shutil.copytree(base, tmp_path / "plain")):
        ingest(path, case_line(7.0, block=128), case_line(8.0, size=256))
    grown = bytes_of(base)
    done = renewed(mine, base, tmp_path)
    ingest(plain, *own)
    plain.rename(tmp_path / "mine.plain")
    assert (done.is_new, done.added.rows, done.added.problems) == (True, 3, 2)
    here, there = answers(mine, tmp_path), answers(tmp_path / "mine.plain", tmp_path)
    assert here[1:] == there[1:]
    of_files = ("#file>", "#completed>")  # the two were not read from one file
    assert {item for item in here[0] ^ there[0] if not any(name in item for name in of_files)} == set()
    assert bytes_of(base) == grown
    assert newest_number(WorkspaceFiles(mine).graph) > number
    with Workspace.open(mine, cache=tmp_path) as workspace:
        assert [item for item in workspace.upkeep.check() if item.severity == "fault"] == []
    assert [item for item in UpkeepDesk.examine(mine, deep=True) if item.severity == "fault"] == []


@pytest.mark.long
def test_own_knowledge_stays_and_wins_and_the_rest_is_renewed(
    base: Path, tmp_path: Path, name_vendor: Describe
) -> None:
    for name in ("theirs", "both", "same"):
        name_vendor(base, name, "as it was")
    mine = begun_with(base, tmp_path / "mine")
    name_vendor(mine, "own", "mine alone")
    name_vendor(mine, "both", "my words")
    name_vendor(base, "theirs", "renewed")
    name_vendor(base, "both", "their words")
    name_vendor(base, "fresh", "new there")
    done = renewed(mine, base, tmp_path)
    assert labels(mine, tmp_path) == {
        "own": "mine alone",
        "both": "my words",
        "theirs": "renewed",
        "fresh": "new there",
        "same": "as it was",
    }
    assert set(done.nodes) == {"hardware/own", "hardware/both"}
    assert set(done.changed) == {"hardware/theirs", "hardware/both", "hardware/fresh"}
    [conflict] = done.conflicts
    assert conflict.about == "hardware/both"
    assert "my words" in conflict.ours
    assert "their words" in conflict.theirs
    assert renewed(mine, base, tmp_path).is_new is False


@pytest.mark.long
def test_what_was_withdrawn_is_gone(made_once: Path, tmp_path: Path, name_vendor: Describe) -> None:
    older = shutil.copytree(made_once, tmp_path / "older")
    name_vendor(older, "withdrawn", "as it was")
    mine = begun_with(older, tmp_path / "mine")
    done = renewed(mine, made_once, tmp_path)
    assert labels(mine, tmp_path) == {}
    assert done.changed == ("hardware/withdrawn",)


@pytest.mark.long
def test_rows_that_ship_by_now_are_no_longer_own(
    base: Path, mine: Path, tmp_path: Path, ingest: Ingest
) -> None:
    ingest(mine, case_line(3.0, block=8), case_line(5.0, block=16))
    ingest(base, case_line(3.0, block=8), case_line(6.0, block=16))
    done = renewed(mine, base, tmp_path)
    assert (done.added.rows, done.added.repeated) == (1, 1)
    [conflict] = done.conflicts
    assert (conflict.ours, conflict.theirs) == ("0.006", "0.005")


@pytest.mark.long
def test_trust_files_and_origins_stay(base: Path, mine: Path, tmp_path: Path, ingest: Ingest) -> None:
    ingest(mine, case_line(3.0, block=8, source="c/d"), options=Options(trust=Trust.HIGH, origin="the lab"))
    (mine / "experiments").mkdir()
    (mine / "experiments" / "one.log").write_text("kept\n")
    (mine / "notes.txt").write_text("mine\n")
    ingest(base, case_line(9.0, block=256))
    renewed(mine, base, tmp_path)
    with Workspace.open(mine, cache=tmp_path) as workspace:
        [source] = {row.source_id for row in _rows(workspace) if row.configuration["block"] == 8}
        assert workspace.trials.trust_of(source) is Trust.HIGH
        [origin] = {r[0] for r in workspace.knowledge.query("SELECT ?o { ?b tg:origin ?o }").rows}
    assert origin == "the lab"
    assert (mine / "experiments" / "one.log").read_text() == "kept\n"
    assert (mine / "notes.txt").read_text() == "mine\n"
    assert sorted(item.name for item in tmp_path.glob("*mine*")) == ["mine", "mine.jsonl"]


def _rows(workspace: Workspace) -> list[Any]:
    summary = workspace.trials.summary(workspace.trials.keys().tolist())
    return [trial for row in summary for trial in workspace.trials.rows(row.id)]


def test_what_cannot_be_renewed_is_as_it_was(base: Path, mine: Path, tmp_path: Path, ingest: Ingest) -> None:
    ingest(mine, case_line(3.0, block=8))
    before = answers(mine, tmp_path)
    with Workspace.editor(mine, cache=tmp_path), pytest.raises(WorkspaceError, match="is being written to"):
        renewed(mine, base, tmp_path)
    assert answers(mine, tmp_path) == before


def test_a_disk_that_is_full_at_the_last_step_is_told(
    base: Path, mine: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise OSError(28, "No space left on device")

    before = answers(mine, tmp_path)
    monkeypatch.setattr(renewal, "put_in_place", refuse)
    with pytest.raises(WorkspaceError, match="cannot be written to: No space"):
        renewed(mine, base, tmp_path)
    assert answers(mine, tmp_path) == before
    assert not list(mine.parent.glob(".*-renew-*"))


@pytest.mark.long
def test_a_kill_leaves_the_old_workspace_or_the_new_one(
    base: Path, mine: Path, tmp_path: Path, ingest: Ingest
) -> None:
    ingest(mine, case_line(3.0, block=8), case_line(0.5, size=64))
    old = answers(mine, tmp_path)[1]
    ingest(base, case_line(7.0, block=128))
    untouched = bytes_of(base)
    took = time.monotonic()
    renewed(shutil.copytree(mine, tmp_path / "trial"), base, tmp_path)
    took = time.monotonic() - took
    new = answers(tmp_path / "trial", tmp_path)[1]
    ends = set()
    for number in range(20):
        place = shutil.copytree(mine, tmp_path / f"kill{number}")
        child = os.fork()
        if not child:
            try:
                renewed(place, base, tmp_path)
            finally:
                os._exit(0)
        time.sleep(took * (number + 1) / 21)
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        end = answers(place, tmp_path)[1]
        assert end in (old, new)
        ends.add(end == new)
        renewed(place, base, tmp_path)
        assert answers(place, tmp_path)[1] == new
    assert False in ends
    assert bytes_of(base) == untouched
