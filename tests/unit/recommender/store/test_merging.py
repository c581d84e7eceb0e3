"""Two workspaces become one: cases, knowledge, effects, and what contradicts is told."""

import shutil
import sqlite3
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from kg.errors import InputError, WorkspaceError
from kg.nouns.effects import Effect
from kg.nouns.entities import Trust
from kg.nouns.provenance import Batch
from kg.triples.serialisation import all_of
from recommender.store.ingestion import Options
from recommender.store.merging import MergeResult
from recommender.store.writing.writer import Writer
from recommender.workspace.workspace import Workspace
from tests.samples.toy_cases import case_line

PUBLISHED: dict[str, Any] = {
    "kind": "published",
    "strategy": "tile-it",
    "bottleneck": "memory",
    "baseline": {"value": 2.0, "config": {}},
}
SUMS = "SELECT ?n ?sum { ?e a tg:Effect ; tg:n ?n ; tg:sumMicronats ?sum }"


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Path]:
    """A workspace of the given lines, and whatever YAML of hardware; equal ones are made once."""

    @cache
    def make(name: str, *lines: str, hardware: str = "", options: Options | None = None) -> Path:
        place = tmp_path_factory.mktemp("made")
        Workspace.create(place / name, cache=place / "cache", text_model=None, with_shipped=False)
        with Workspace.editor(place / name, cache=place / "cache") as editor:
            if lines:
                (place / f"{name}.jsonl").write_text("".join(lines))
                editor.ingest([place / f"{name}.jsonl"], options=options)
            if hardware:
                (place / f"{name}.yaml").write_text(f"hardware:\n{hardware}")
                editor.add_file("hardware", place / f"{name}.yaml")
        return place / name

    return make


@pytest.fixture
def make(made: Callable[..., Path], tmp_path: Path) -> Callable[..., Workspace]:
    """A copy of such a workspace, opened."""

    def copied(name: str, *lines: str, **more: Any) -> Workspace:
        path = shutil.copytree(made(name, *lines, **more), tmp_path / name)
        return Workspace.open(path, cache=tmp_path / "cache")

    return copied


def content(workspace: Workspace) -> tuple[object, ...]:
    """Everything in a workspace that a merge could change."""
    triples = sorted(map(str, workspace.graph.triples()))
    return triples, workspace.trials.counts(), len(workspace.snapshot.index), workspace.snapshot.batch


def test_cases_come_with_their_origin_and_both_stay_whole(make: Callable[..., Workspace]) -> None:
    ours = make("ours", case_line(1.0))
    theirs = make(
        "theirs", case_line(1.0), case_line(2.0, block=32), case_line(3.0, hardware={"name": "NVIDIA H20"})
    )
    before = content(theirs)
    merged = ours.knowledge.merge(theirs.layout.root, label="the lab")
    assert (merged.added.rows, merged.added.repeated, merged.added.problems) == (2, 1, 1)
    assert merged.conflict_count == 0
    assert [batch.origin for batch in all_of(ours.graph, Batch)] == ["", "the lab"]
    assert [found for found in ours.upkeep.check() if found.severity == "fault"] == []
    theirs.refresh()
    assert content(theirs) == before


def test_merging_twice_changes_nothing(make: Callable[..., Workspace]) -> None:
    ours, theirs = (
        make("ours", case_line(1.0)),
        make("theirs", case_line(2.0, block=8), case_line(1.0, source="c/d", **PUBLISHED)),
    )
    ours.knowledge.merge(theirs.layout.root)
    once = content(ours)
    again = ours.knowledge.merge(theirs.layout.root)
    assert content(ours) == once
    assert (again.added.rows, again.added.repeated, again.effects) == (0, 2, 0)


def test_a_dry_run_tells_the_same_and_writes_nothing(make: Callable[..., Workspace]) -> None:
    ours = make("ours", case_line(1.0), hardware="  - {id: acme, level: vendor, label: {en: Acme}}\n")
    theirs = make(
        "theirs",
        case_line(1.5),
        case_line(2.0, block=8),
        hardware="  - {id: bolt, level: vendor, label: {en: Bolt}}\n",
    )
    before = content(ours)
    dry = ours.knowledge.merge(theirs.layout.root, dry_run=True)
    ours.refresh()
    assert content(ours) == before
    real = ours.knowledge.merge(theirs.layout.root)
    told = {**dry.to_json(), "dry_run": False}
    assert told == real.to_json()
    assert told["knowledge_new"] == ["hardware/bolt"]


def test_what_contradicts_is_told_and_ours_stays(make: Callable[..., Workspace]) -> None:
    ours = make("ours", case_line(1.0), hardware="  - {id: acme, level: vendor, label: {en: Acme}}\n")
    other = "  - {id: acme, level: vendor, label: {en: Acme}, aliases: [Acme Inc]}\n"
    theirs = make("theirs", case_line(1.5), hardware=other)
    merged = ours.knowledge.merge(theirs.layout.root)
    said = next(item for item in merged.conflicts if item.about == "hardware/acme")
    assert (said.ours, said.theirs) == ("nothing more", "aliases Acme Inc")
    assert merged.conflict_count == 2
    described, row = merged.conflicts
    assert described.about == "hardware/acme"
    assert "Acme Inc" in described.theirs
    assert "Acme Inc" not in described.ours
    assert (row.ours, row.theirs) == ("0.001", "0.0015")
    assert "kernel_time of toy" in row.about
    assert ours.names.hardware("acme").id == "acme"
    assert ours.trials.counts().trials == 2


def test_effects_follow_from_the_cases_that_come(make: Callable[..., Workspace]) -> None:
    shared = case_line(1.0, **PUBLISHED)
    ours = make("ours", shared)
    theirs = make(
        "theirs", shared, case_line(1.0, source="c/d", **PUBLISHED), case_line(1.0, block=8, **PUBLISHED)
    )
    merged = ours.knowledge.merge(theirs.layout.root)
    assert merged.effects == 0
    assert ours.knowledge.query(SUMS).rows == (("2", str(2 * 693147)),)


def test_effects_without_cases_are_added_once(make: Callable[..., Workspace], tmp_path: Path) -> None:
    origin = make("origin", case_line(1.0, **PUBLISHED))
    graph = tmp_path / "origin.nq"
    origin.knowledge.export(graph)
    theirs = make("theirs")
    with theirs.edit() as editor:
        editor.import_graph(graph)
    ours = make("ours", case_line(1.5, block=8, **PUBLISHED))
    ours_sum = round(1e6 * 0.28768207245178085)
    for expected in (1, 0):
        assert ours.knowledge.merge(theirs.layout.root).effects == expected
        assert ours.knowledge.query(SUMS).rows == (("2", str(693147 + ours_sum)),)
    twin = make("twin")
    with twin.edit() as editor:
        editor.import_graph(graph)
    assert twin.knowledge.merge(theirs.layout.root).effects == 0, "both imported the same graph"


def test_distrust_comes_along_and_praise_does_not(make: Callable[..., Workspace]) -> None:
    ours = make("ours")
    for name, told in (("low", Trust.LOW), ("high", Trust.HIGH)):
        theirs = make(name, case_line(1.0, source=f"who/{name}"), options=Options(trust=told))
        ours.knowledge.merge(theirs.layout.root)
    [problem] = ours.trials.summary(ours.trials.keys().tolist())
    assert sorted(row.trust for row in ours.trials.rows(problem.id)) == [Trust.LOW, Trust.MEDIUM]


def test_a_crash_in_the_middle_leaves_both_whole_and_merging_goes_on(
    make: Callable[..., Workspace], monkeypatch: pytest.MonkeyPatch
) -> None:
    ours = make("ours", case_line(1.0))
    theirs = make("theirs", *(case_line(2.0 + block, block=block) for block in range(6)))
    before = content(theirs)
    monkeypatch.setattr("recommender.store.merging.BATCH_ROWS", 2)
    genuine, calls = Writer.add, 0

    def failing(self: Writer, cases: Sequence[Any], *args: Any, **options: Any) -> Any:
        nonlocal calls
        calls += 1
        if calls == 3:
            raise KeyboardInterrupt
        return genuine(self, cases, *args, **options)

    with monkeypatch.context() as patched:
        patched.setattr(Writer, "add", failing)
        with pytest.raises(KeyboardInterrupt):
            ours.knowledge.merge(theirs.layout.root)
    ours.refresh()
    theirs.refresh()
    assert ours.trials.counts().trials == 5
    assert [found for found in ours.upkeep.check() if found.severity == "fault"] == []
    assert content(theirs) == before
    merged: MergeResult = ours.knowledge.merge(theirs.layout.root)
    assert (merged.added.rows, merged.added.repeated) == (2, 4)


def test_a_workspace_is_not_joined_with_itself_or_with_nothing(
    make: Callable[..., Workspace], tmp_path: Path
) -> None:
    ours = make("ours")
    with pytest.raises(InputError, match="itself"):
        ours.knowledge.merge(ours.layout.root)
    with pytest.raises(WorkspaceError, match="not a workspace"):
        ours.knowledge.merge(tmp_path / "nothing")


def test_a_gain_that_no_strategy_has_is_passed_over(make: Callable[..., Workspace], tmp_path: Path) -> None:
    """The other workspace took it in before there was a limit."""
    with (
        make("ours", case_line(1.0, block=32)) as ours,
        make("theirs", case_line(1.0, **PUBLISHED)) as theirs,
    ):
        with sqlite3.connect(theirs.layout.trials) as rows:
            rows.execute("UPDATE trials SET value = value / 1000 WHERE strategy <> ''")
        dry = ours.knowledge.merge(theirs.layout.root, dry_run=True)
        merged = ours.knowledge.merge(theirs.layout.root)
        assert (merged.added.rows, merged.conflict_count) == (0, dry.conflict_count)
        assert any("more than any strategy does" in item.theirs for item in merged.conflicts)
        assert list(all_of(ours.graph, Effect)) == []
