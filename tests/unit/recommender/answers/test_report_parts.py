"""The parts of a report from results and from printed JSON."""

import json
from datetime import UTC, datetime
from pathlib import Path

import pytest

from kg.errors import InputError
from recommender.answers.report_parts import document_of, part_of, printed_parts
from recommender.workspace.workspace import Workspace
from tests.unit.recommender.report import contents

NOW = datetime(2026, 11, 22, tzinfo=UTC)


def test_results_and_what_their_commands_print_are_the_same_part(shipped: Workspace, tmp_path: Path) -> None:
    problem, notes = shipped.problem({"model": "bert-large", "hardware": "ascend-910b3", "count": 8, "phase": "training",
                                      "shape": {"seq_len": 128}})  # fmt: skip
    answer = shipped.recommend(problem, notes=notes)
    estimate = shipped.ask.estimate({"model": "bert-large", "hardware": "ascend-910b3", "count": 8, "shape": {"seq_len": 128}},
                                axes={"micro_batch": [1, 2, 4]}, pareto=["throughput", "memory"])  # fmt: skip
    for result in (answer, estimate):
        path = tmp_path / "printed.json"
        path.write_text(json.dumps({"schema_version": 2, **result.to_json()}))
        [printed] = printed_parts(path) or []
        made = part_of(result, str(path))
        content = {name: value for name, value in made.content.items() if name != "notes"}
        assert content == {name: value for name, value in printed.content.items() if name != "notes"}
    assert made.content["front_points"]["front"] == made.content["pareto"]["front"]


@pytest.mark.parametrize("text", ["{}", "[]", "no json", '{"a": 1}'])
def test_other_files_are_none_of_ours(text: str, tmp_path: Path) -> None:
    path = tmp_path / "x.json"
    path.write_text(text)
    assert printed_parts(path) is None


def test_a_report_is_taken_whole(tmp_path: Path) -> None:
    document = contents.document("search", "answer")
    path = tmp_path / "x.json"
    path.write_text(json.dumps(document.to_json()))
    assert printed_parts(path) == list(document.parts)


@pytest.mark.parametrize(
    "raw",
    [
        {"planned": [{"start": "tomorrow", "end": "later"}]},
        {"planned": [], "series": {"start": "2026-01-01", "g_per_kwh": [1]}},
        {"planned": 7},
        {"forecast": [], "basis": "x", "region": "DE"},
        {"estimates": [], "phase": "serving", "hardware": "x"},
        {"predictions": [{}], "objective": "o", "hardware": "h"},
        {"format": "tunegraph report", "version": 1, "title": "", "made": "", "program": "", "not_collected": [],
         "parts": [{"kind": "poem", "source": "", "content": {}}]},
    ],
)  # fmt: skip
def test_what_is_ours_and_broken_is_refused_in_a_line(raw: object, tmp_path: Path) -> None:
    path = tmp_path / "x.json"
    path.write_text(json.dumps(raw))
    with pytest.raises(InputError, match=str(path)):
        printed_parts(path)


def test_parts_stand_in_the_order_of_a_page_and_what_lacks_is_listed() -> None:
    parts = contents.document("diagnosis", "answer").parts
    document = document_of(parts, program="t", now=NOW)
    assert [part.kind for part in document.parts] == ["answer", "diagnosis"]
    assert document.title == "qwen3-32b serve on ascend-910b3"
    names = [what for what, _ in document.not_collected]
    assert names[0] == "diagnosis.json: memory"
    assert {"a search", "an A/B test", "a carbon plan"} <= set(names)
    assert "a diagnosis" not in names
    assert len(document_of(parts, program="t", now=NOW, lists_missing=False).not_collected) == 1


def test_what_no_section_shows_is_refused() -> None:
    with pytest.raises(TypeError, match="no section"):
        part_of(object(), "here")
