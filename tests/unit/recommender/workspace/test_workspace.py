"""The workspace: made, written, read, refused."""

import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from kg.errors import AmbiguousEntityError, CaseFormatError, UnknownEntityError, WorkspaceError
from kg.nouns.entities import Hardware, Problem
from recommender.files import WorkspaceFiles
from recommender.workspace.workspace import Workspace


def open_(path: Path) -> Workspace:
    return Workspace.open(path, cache=path.parent / "cache")


def test_the_shipped_workspace_is_whole_and_filled(shipped: Workspace) -> None:
    stats = shipped.knowledge.stats()
    assert [found for found in shipped.upkeep.check() if found.severity == "fault"] == []
    assert stats["knowledge"]["HardwareProfile"] > 600
    assert stats["knowledge"]["Strategy"] > 100
    assert stats["cases"]["rows"] > 900
    assert stats["rows_by_kind"]["published"] > 900


def test_a_second_writer_is_refused_and_told_who_writes(empty_path: Path) -> None:
    with open_(empty_path) as workspace, workspace.edit(command="first writer"):
        with pytest.raises(WorkspaceError, match="first writer") as refused, workspace.edit():
            pass
        assert refused.value.exit_code == 1


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
    assert shipped.ask.questions.age_note == ""


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
    assert shipped.ask.questions.understood(bare) == (asked, notes)
    assert shipped.ask.questions.understood(asked, ("said",)) == (asked, ("said",))
    for name, count in (("a100", 8), ("h100", 2)):
        with pytest.raises(AmbiguousEntityError):
            shipped.recommend(replace(bare, hardware=Hardware(name=name, count=count)))
    with pytest.raises(UnknownEntityError, match="no hardware named 'nothing'"):
        shipped.recommend(replace(bare, hardware=Hardware(name="nothing")))


def test_recipes_of_documents_are_withheld_until_the_next_state(shipped: Workspace) -> None:
    asked = {"model": "qwen3-32b", "phase": "serving", "hardware": "910B3", "count": 4}

    def behind() -> tuple[str, ...]:
        plan = shipped.recommend(asked).plan
        assert plan is not None
        return plan.start.recipes

    before = behind()
    assert before
    shipped.without_documents("no such address")
    assert behind() == before
    shipped.without_documents("https://")
    assert behind() == ()
    shipped.refresh()
    assert behind() == before
