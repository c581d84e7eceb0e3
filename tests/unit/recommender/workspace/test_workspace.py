"""The workspace: made, written, read, refused."""

import json
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from kg.errors import (
    AmbiguousEntityError,
    CaseFormatError,
    InputError,
    UnknownEntityError,
    WorkspaceError,
)
from kg.nouns.entities import Hardware, Kind, Problem
from kg.triples.networks import circles
from recommender.files import WorkspaceFiles
from recommender.workspace.workspace import Workspace
from tests.samples.toy_cases import case_line


def open_(path: Path) -> Workspace:
    return Workspace.open(path, cache=path.parent / "cache")


def test_the_shipped_workspace_is_whole_and_filled(shipped: Workspace) -> None:
    stats = shipped.knowledge.stats()
    assert [found for found in shipped.upkeep.check() if found.severity == "fault"] == []
    assert stats["knowledge"]["HardwareProfile"] > 600
    assert stats["knowledge"]["Strategy"] > 100
    assert stats["cases"]["rows"] > 900
    assert stats["rows_by_kind"]["published"] > 900


def test_the_shipped_causes_and_trees_run_in_no_circle(shipped: Workspace) -> None:
    assert list(circles(shipped.graph)) == []


def test_ingesting_twice_changes_nothing(empty_path: Path, tmp_path: Path) -> None:
    file = tmp_path / "cases.jsonl"
    file.write_text(case_line() + case_line(block=32) + case_line(2.5, device="NVIDIA H100 80GB HBM3"))
    with open_(empty_path) as workspace:
        first = workspace.ingest(file)
        exported = tmp_path / "once.nq"
        workspace.knowledge.export(exported)
        second = workspace.ingest(file)
        again = tmp_path / "twice.nq"
        workspace.knowledge.export(again)
        assert (first.added.rows, first.added.problems) == (3, 2)
        assert (second.added.rows, second.added.repeated, second.added.problems) == (0, 3, 0)
        assert sorted(exported.read_bytes().splitlines()) == sorted(again.read_bytes().splitlines())


def test_a_bad_row_never_hides_the_good_ones(empty_path: Path, tmp_path: Path) -> None:
    file = tmp_path / "cases.jsonl"
    file.write_text(case_line() + "{not json\n" + case_line(-1.0, block=8) + case_line(block=32))
    with open_(empty_path) as workspace:
        summary = workspace.ingest(file)
        assert (summary.good, summary.bad, summary.added.rows) == (2, 2, 2)
        assert [fault.place for fault in summary.files[0].faults] == ["line 2", "line 3"]


def test_cases_come_back_as_they_went_in(empty_path: Path, tmp_path: Path) -> None:
    file, out = tmp_path / "cases.jsonl", tmp_path / "out.jsonl"
    file.write_text(case_line() + case_line(block=32))
    with open_(empty_path) as workspace:
        workspace.ingest(file)
        assert workspace.knowledge.export(out) == (2, "cases")
        with pytest.raises(InputError, match="there already"):
            workspace.knowledge.export(out)
    other = tmp_path / "other"
    Workspace.create(other, cache=tmp_path / "cache", text_model=None, with_shipped=False)
    with open_(other) as copy:
        copy.ingest(out)
        assert copy.trials.counts().trials == 2
        assert copy.upkeep.check()[0].severity == "ok"


def test_a_published_gain_updates_its_effect_once(empty_path: Path, tmp_path: Path) -> None:
    file = tmp_path / "cases.jsonl"
    file.write_text(
        case_line(
            1.0,
            kind="published",
            strategy="tile-it",
            bottleneck="memory",
            baseline={"value": 2.0, "config": {}},
        )
    )
    query = "SELECT ?n ?sum { ?e a tg:Effect ; tg:n ?n ; tg:sumMicronats ?sum }"
    with open_(empty_path) as workspace:
        workspace.ingest(file)
        workspace.ingest(file)
        assert workspace.knowledge.query(query).rows == (("1", "693147"),)
        assert workspace.trials.counts().kinds == {Kind.PUBLISHED: 1}


def test_a_reader_sees_the_snapshot_until_it_refreshes(empty_path: Path, tmp_path: Path) -> None:
    file = tmp_path / "cases.jsonl"
    file.write_text(case_line())
    with open_(empty_path) as reader:
        with reader.edit() as editor:
            editor.ingest([file])
        assert reader.trials.counts().trials == 0
        reader.refresh()
        assert reader.trials.counts().trials == 1


def test_a_second_writer_is_refused_and_told_who_writes(empty_path: Path) -> None:
    with open_(empty_path) as workspace, workspace.edit(command="first writer"):
        with pytest.raises(WorkspaceError, match="first writer") as refused, workspace.edit():
            pass
        assert refused.value.exit_code == 1


def test_another_version_of_the_workspace_is_refused(empty_path: Path) -> None:
    manifest = WorkspaceFiles(empty_path).manifest
    manifest.write_text(json.dumps({"format": 99}))
    with pytest.raises(WorkspaceError, match="format 99"):
        open_(empty_path)


def test_a_workspace_is_not_made_in_a_folder_that_holds_something_else(tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").write_text("precious")
    with pytest.raises(WorkspaceError, match=r"thesis\.tex"):
        Workspace.create(tmp_path, cache=tmp_path, text_model=None)
    assert (tmp_path / "thesis.tex").read_text() == "precious"


def test_own_hardware_enters_the_graph_and_is_found_by_its_alias(empty_path: Path, tmp_path: Path) -> None:
    file = tmp_path / "chip.yaml"
    file.write_text(
        "sources:\n  sheet: {title: Our data sheet, url: 'https://example.org/sheet'}\n"
        "hardware:\n"
        "  - {id: acme, level: vendor, label: {en: Acme}}\n"
        "  - id: acme-one\n    level: device\n    broader: acme\n    label: {en: Acme One}\n    aliases: [A1-64G]\n"
        "    facts:\n"
        "      memory_bytes: {value: 64000000000, source: sheet, kind: documented, confidence: high}\n"
    )
    with open_(empty_path) as workspace:
        with workspace.edit() as editor:
            editor.add_file("hardware", file)
        workspace.refresh()
        assert workspace.names.hardware("a1 64g").id == "acme-one"
        assert workspace.hardware.facts("acme-one")["memory_bytes"] == 64e9


def test_a_bad_knowledge_file_adds_nothing_and_tells_all_faults(empty_path: Path, tmp_path: Path) -> None:
    file = tmp_path / "chip.yaml"
    file.write_text(
        "hardware:\n  - {id: acme-one, level: device, broader: nowhere, label: {en: One}}\n"
        "  - {id: acme-two, level: planet, label: {en: Two}}\n"
    )
    with open_(empty_path) as workspace:
        with workspace.edit() as editor, pytest.raises(CaseFormatError) as refused:
            editor.add_file("hardware", file)
        assert refused.value.faults
        workspace.refresh()
        with pytest.raises(UnknownEntityError):
            workspace.names.hardware("acme-one")


@pytest.mark.long
def test_the_shipped_knowledge_conforms_and_gives_the_same_answers_elsewhere(
    shipped: Workspace, tmp_path: Path
) -> None:
    """An import checks all of the union against the shapes."""
    out = tmp_path / "graph.ttl"
    shipped.knowledge.export(out, knowledge_only=True)
    other = tmp_path / "other"
    Workspace.create(other, cache=tmp_path / "cache", text_model=None, with_shipped=False)
    with open_(other) as copy:
        with copy.edit() as editor:
            editor.import_graph(out)
        copy.refresh()
        assert copy.names.hardware("昇腾910B3").id == shipped.names.hardware("Ascend 910B3").id
        assert (
            copy.knowledge.stats()["knowledge"]["Strategy"]
            == shipped.knowledge.stats()["knowledge"]["Strategy"]
        )


def test_sparql_of_a_user_has_a_deadline_and_cannot_write(shipped: Workspace) -> None:
    assert shipped.knowledge.query("ASK { ?s a tg:Strategy }").rows == (("true",),)
    with pytest.raises(InputError):
        shipped.knowledge.query("DELETE WHERE { ?s ?p ?o }")
    with pytest.raises(InputError, match="did not end within"):
        shipped.knowledge.query("SELECT (COUNT(*) AS ?n) { ?a ?b ?c . ?d ?e ?f . ?g ?h ?i }", deadline_s=1.0)


def test_older_knowledge_is_said_with_every_answer(
    shipped: Workspace, shipped_path: Path, tmp_path: Path
) -> None:
    shutil.copytree(shipped_path, tmp_path / "w")
    files = WorkspaceFiles(tmp_path / "w")
    files.write({**files.read(), "shipped": "0" * 16})
    raw = {"model": "qwen3-8b", "phase": "serving", "hardware": "910b3"}
    with Workspace.open(tmp_path / "w", cache=shipped_path.parent / "cache") as older:
        assert "newer knowledge" in older.problem(raw)[1][-1]
        assert "newer knowledge" in older.upkeep.check()[-1].says
    assert shipped.ask.age_note == ""


def test_the_face_has_at_most_forty_names() -> None:
    assert len([name for name in dir(Workspace) if not name.startswith("_")]) <= 40


def test_a_verb_takes_a_problem_or_its_facts(shipped: Workspace) -> None:
    question = {"model": "bert-large", "phase": "training", "hardware": "ascend-910b3", "count": 8}
    problem, notes = shipped.problem(question)
    answer = shipped.recommend(question, 3)
    assert answer.to_json() == shipped.recommend(problem, 3, notes=notes).to_json()
    assert [item.problem.key for item in shipped.similar(question, 2)] == [
        item.problem.key for item in shipped.similar(problem, 2)
    ]


def test_an_answer_prints_itself_in_short(shipped: Workspace) -> None:
    answer = shipped.recommend({"model": "bert-large", "phase": "training", "hardware": "ascend-910b3"}, 3)
    text = str(answer)
    assert text.startswith("bert-large train on ascend-910b3, by ")
    for line in answer.starts[0].paste_lines:
        assert line in text
    for item in answer:
        assert item.title in text


def test_a_problem_of_a_program_is_understood_as_the_same_words_are(shipped: Workspace) -> None:
    asked, notes = shipped.problem(
        {"model": "Qwen/Qwen3-32B-AWQ", "phase": "serving", "hardware": "h100", "count": 8}
    )
    work = replace(asked.workload, model="Qwen/Qwen3-32B-AWQ", precision=None)
    bare = Problem(workload=work, hardware=Hardware(name="h100", count=8), objective=asked.objective)
    assert shipped.ask.understood(bare) == (asked, notes)
    assert shipped.ask.understood(asked, ("said",)) == (asked, ("said",))
    for name, count in (("a100", 8), ("h100", 2)):
        with pytest.raises(AmbiguousEntityError):
            shipped.recommend(replace(bare, hardware=Hardware(name=name, count=count)))
    with pytest.raises(UnknownEntityError, match="no hardware named 'nothing'"):
        shipped.recommend(replace(bare, hardware=Hardware(name="nothing")))
