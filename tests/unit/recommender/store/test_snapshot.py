"""A snapshot is one state of a workspace: it stays as it is, and a refresh opens another."""

import json
from pathlib import Path

import pytest

from kg.errors import WorkspaceError
from recommender.workspace.workspace import Workspace
from tests.samples.problems import make_problem


def case(device: str) -> str:
    record = {
        "task": {"kind": "operator", "op": "copy", "shape": {"size": 64}},
        "hardware": {"vendor": "nvidia", "name": device, "count": 1},
        "config": {"tile": 16},
        "outcome": {"metric": "latency", "unit": "ms", "value": 1, "better": "lower", "status": "ok"},
        "source": {"repo": "a/b", "path": "c.json", "commit": "d", "licence": "MIT"},
    }
    return json.dumps(record) + "\n"


def test_a_refresh_replaces_the_snapshot_with_all_that_rests_on_it(empty_path: Path, tmp_path: Path) -> None:
    file = tmp_path / "cases.jsonl"
    file.write_text(case("card"))
    with Workspace.open(empty_path, cache=tmp_path) as workspace:
        first = workspace.snapshot
        version, retriever, counts = first.knowledge_version, first.retriever, first.counts
        with Workspace.editor(empty_path, cache=tmp_path) as editor:
            editor.ingest([file])
        assert workspace.snapshot is first
        assert first.counts is counts
        assert workspace.trials.operators() == []
        workspace.refresh()
        second = workspace.snapshot
        assert second is not first
        assert (first.batch, second.batch) == (0, 1)
        assert (first.knowledge_version, second.knowledge_version) == (
            version,
            workspace.snapshot.knowledge_version,
        )
        assert second.knowledge_version != version
        assert second.retriever is not retriever
        assert (first.counts["cases"]["rows"], second.counts["cases"]["rows"]) == (0, 1)
        assert second.recommender.retriever is second.retriever
        assert workspace.trials.operators() == ["copy"]


def test_sizes_of_a_problem_stand_in_for_an_unknown_model(empty_path: Path, tmp_path: Path) -> None:
    problem = make_problem(
        "train", "card", kind="training", model="mine", shape={"layers": 2}, metric="step_time"
    )
    with Workspace.open(empty_path, cache=tmp_path) as workspace:
        assert workspace.ask.model_facts(problem) == {"layers": 2}


def test_no_reader_writes(empty_path: Path, tmp_path: Path) -> None:
    with (
        Workspace.open(empty_path, cache=tmp_path) as workspace,
        pytest.raises(WorkspaceError, match="readonly"),
    ):
        workspace.trials.file.write("DELETE FROM trials")
