"""The one writer: what is written in which order, and what a failed batch leaves."""

from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from embeddings.vector_table import VectorTable
from kg.errors import WorkspaceError
from kg.nouns.effects import Context, Effect
from kg.nouns.entities import Case, Kind, Trust
from kg.nouns.knowledge import Bottleneck
from kg.rows.copies import copied_devices
from kg.rows.trials import TrialStore
from kg.triples.finders import completion_marks
from kg.triples.graph import GraphStore
from kg.triples.serialisation import all_of, to_triples
from recommender.files import WorkspaceFiles
from recommender.store.writing.writer import Additions
from recommender.workspace.workspace import Workspace
from tests.unit.recommender.store.writing.conftest import CheckCounts


def test_rows_and_vectors_come_first_then_the_graph(
    empty_path: Path, cases: Callable[..., list[Case]], monkeypatch: pytest.MonkeyPatch
) -> None:
    order: list[str] = []

    def noted(cls: type, name: str) -> None:
        plain = getattr(cls, name)

        def call(self: object, *given: Any, **named: Any) -> Any:
            order.append(f"{cls.__name__}.{name}")
            return plain(self, *given, **named)

        monkeypatch.setattr(cls, name, call)

    with Workspace.editor(empty_path, cache=empty_path) as editor:
        for cls, name in ((TrialStore, "add"), (VectorTable, "append"), (GraphStore, "replace_plain")):
            noted(cls, name)
        added = editor.add_cases(cases(1))
    assert (added.rows, added.problems) == (2, 1)
    assert order == ["TrialStore.add", "VectorTable.append", "GraphStore.replace_plain"]


def test_knowledge_that_is_said_again_is_replaced(empty_path: Path) -> None:
    with Workspace.editor(empty_path, cache=empty_path) as editor:
        for words in ("first words", "other words"):
            said = set(to_triples(Bottleneck(id="own", labels={"en": words})))
            editor.add_knowledge([Bottleneck(id="own", labels={"en": words})])
            node = next(iter(said)).subject
            assert {item for item in editor._writer.graph.triples() if item.subject == node} == said
        assert editor.batch == 0


def test_known_cases_make_no_batch(empty_path: Path, cases: Callable[..., list[Case]]) -> None:
    with Workspace.editor(empty_path, cache=empty_path) as editor:
        editor.add_cases(cases(1, 2))
        again = editor.add_cases(cases(2, 1))
    assert (again.rows, again.repeated, again.problems) == (0, 4, 0)
    with Workspace.open(empty_path, cache=empty_path) as workspace:
        assert workspace.snapshot.batch == 1


def test_names_to_complete_are_written_where_there_are_new_ones(
    empty_path: Path, cases: Callable[..., list[Case]]
) -> None:
    names = WorkspaceFiles(empty_path).completions

    def write(*, size: int = 0, bottleneck: str = "") -> bool:
        names.write_text("as they were")
        with Workspace.editor(empty_path, cache=empty_path) as editor:
            if size:
                editor.add_cases(cases(size))
            if bottleneck:
                editor.add_knowledge([Bottleneck(id=bottleneck, labels={"en": "own"})])
        return (bottleneck or "operator") in names.read_text(encoding="utf-8")

    assert write(size=1)
    assert not write(size=2)
    assert write(bottleneck="mine")


@pytest.mark.parametrize(("cls", "step"), [(VectorTable, "append"), (GraphStore, "replace_plain")])
@pytest.mark.parametrize("error", [WorkspaceError("the disk is full"), KeyboardInterrupt()])
def test_a_batch_that_fails_is_there_or_not_and_the_next_is_whole(
    empty_path: Path,
    cases: Callable[..., list[Case]],
    check_counts: CheckCounts,
    monkeypatch: pytest.MonkeyPatch,
    cls: type,
    step: str,
    error: BaseException,
) -> None:
    first, second, third = cases(1), cases(2), cases(2, 3)
    with Workspace.editor(empty_path, cache=empty_path) as editor:
        editor.add_cases(first)
        with monkeypatch.context() as broken:

            def fail(*_: object, **__: object) -> None:
                raise error

            broken.setattr(cls, step, fail)
            with pytest.raises(type(error)):
                editor.add_cases(second)
        added = editor.add_cases(third)
        is_there = cls is GraphStore  # it fails once the batch is acknowledged
        assert (added.rows, added.problems) == ((2, 1) if is_there else (4, 2))
    check_counts(empty_path, rows=6, problems=3)


def test_an_interruption_after_the_acknowledgement_loses_nothing(
    empty_path: Path,
    cases: Callable[..., list[Case]],
    check_counts: CheckCounts,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    first, second = cases(1), cases(2)
    plain = GraphStore.replace_plain
    with Workspace.editor(empty_path, cache=empty_path) as editor:
        with monkeypatch.context() as broken:

            def late(self: GraphStore, removed: Any, added: Any) -> None:
                plain(self, removed, added)
                raise KeyboardInterrupt

            broken.setattr(GraphStore, "replace_plain", late)
            with pytest.raises(KeyboardInterrupt):
                editor.add_cases(first)
        editor.add_cases(second)
    check_counts(empty_path, rows=4, problems=2)


@pytest.mark.parametrize("is_stopped", [True, False])
def test_a_writer_looks_for_copies_and_the_next_one_where_it_was_stopped(
    empty_path: Path, cases: Callable[..., list[Case]], tmp_path: Path, *, is_stopped: bool
) -> None:
    one = cases(1, 2, 3)
    two = [
        replace(case, problem=replace(case.problem, hardware=replace(case.problem.hardware, name="other")))
        for case in one
    ]
    editor = Workspace.editor(empty_path, cache=tmp_path)
    with suppress(KeyboardInterrupt), editor:
        editor.add_cases([*one, *two])
        if is_stopped:
            raise KeyboardInterrupt
    if is_stopped:
        with TrialStore(WorkspaceFiles(empty_path).trials, read_only=True) as trials:
            assert copied_devices(trials) == []
        with Workspace.editor(empty_path, cache=tmp_path):
            pass
    with TrialStore(WorkspaceFiles(empty_path).trials, read_only=True) as trials:
        [copy] = copied_devices(trials)
    assert {copy.device, copy.origin} == {"other", one[0].problem.hardware.name}


def test_trust_that_a_failed_batch_set_is_set_by_the_next(
    empty_path: Path, cases: Callable[..., list[Case]], monkeypatch: pytest.MonkeyPatch
) -> None:
    made = cases(1)
    with Workspace.editor(empty_path, cache=empty_path) as editor:
        writer = editor._writer
        with monkeypatch.context() as broken:

            def fail(*_: object) -> None:
                raise KeyboardInterrupt

            broken.setattr(VectorTable, "append", fail)
            with pytest.raises(KeyboardInterrupt):
                writer.add(made, trust=Trust.LOW)
        assert writer.trials.trust_of(made[0].source.id) is Trust.MEDIUM
        writer.add(made, trust=Trust.LOW)
        assert writer.trials.trust_of(made[0].source.id) is Trust.LOW


def test_what_was_added_adds_up() -> None:
    first, second = Additions(rows=1, repeated=2, problems=3), Additions(rows=10, repeated=20, problems=30)
    assert first + second == Additions(rows=11, repeated=22, problems=33)


def test_gains_that_come_without_their_cases_are_counted_with_those_that_are_there(empty_path: Path) -> None:
    context = Context(bottleneck="host-bound", hardware="ascend-910b1")
    effect = Effect(context=context, strategy="graph-mode", metric="step_time", kind=Kind.MEASURED)
    with Workspace.editor(empty_path, cache=empty_path) as editor:
        writer = editor._writer
        for gains, completed in (([0.1], "merge/a"), ([0.2, 0.3], "merge/b")):
            writer.add_effects([effect.add(gains)], completed=(completed,), origin="theirs")
        assert [item.n for item in all_of(writer.graph, Effect)] == [3]
        assert editor.batch == 2
        assert {"merge/a", "merge/b"} <= set(completion_marks(writer.graph))
