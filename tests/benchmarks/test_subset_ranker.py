"""Answers from a subset of the problems, which never see the others."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from benchmarks.protocols.subset_ranker import SubsetRanker
from embeddings.weights import BlockWeights
from kg.nouns.entities import Problem
from kg.triples.serialisation import from_graph
from recommender.workspace.workspace import Workspace

BEST = {"NVIDIA H100 80GB HBM3": 64, "NVIDIA A100-SXM4-80GB": 32, "AMD Instinct MI300X": 16}


def case(device: str, size: int, tile: int) -> str:
    record = {
        "task": {"kind": "operator", "op": "copy", "shape": {"size": size}},
        "hardware": {"name": device, "count": 1},
        "config": {"tile": tile},
        "outcome": {
            "metric": "latency",
            "unit": "ms",
            "value": 1.0 if tile == BEST[device] else 2.0,
            "better": "lower",
            "status": "ok",
        },
        "source": {"repo": "a/b", "path": "c.json", "commit": "d", "licence": "MIT"},
    }
    return json.dumps(record)


def filled(shipped_path: Path, tmp_path: Path) -> Workspace:
    import shutil

    place = tmp_path / "workspace"
    shutil.copytree(shipped_path, place)
    file = tmp_path / "cases.jsonl"
    rows = [case(device, size, tile) for device in BEST for size in (64, 128) for tile in BEST.values()]
    file.write_text("\n".join(rows) + "\n")
    opened = Workspace.open(place, cache=tmp_path / "cache")
    opened.ingest(file)
    return opened


def problems(opened: Workspace) -> dict[int, Problem]:
    rows = [row for row in opened.trials.summary(opened.trials.keys().tolist()) if row.operator == "copy"]
    return {row.key: from_graph(opened.graph, Problem, row.id) for row in rows}


def test_only_the_known_problems_answer(shipped_path: Path, tmp_path: Path) -> None:
    with filled(shipped_path, tmp_path) as opened:
        every = problems(opened)
        nvidia, _, other = (opened.names.hardware(name).id for name in BEST)
        asked = next(item for item in every.values() if item.hardware.name == nvidia)
        amd = {key: item for key, item in every.items() if item.hardware.name == other}
        assert len(amd) == 2
        with SubsetRanker(opened.snapshot, amd) as ranker:
            assert {item.problem.key for item in ranker.neighbours(asked)} == set(amd)
            assert ranker.rank(asked, 1).configurations[0]["tile"] == 16
        with SubsetRanker(opened.snapshot, every) as ranker:
            assert ranker.rank(asked, 1).configurations[0]["tile"] == 64


def test_a_hidden_task_answers_on_no_device(shipped_path: Path, tmp_path: Path) -> None:
    with filled(shipped_path, tmp_path) as opened:
        every = problems(opened)
        asked = next(iter(every.values()))
        tasks = frozenset({asked.task_id})
        with SubsetRanker(opened.snapshot, every, hides_tasks=True, tasks=tasks) as ranker:
            near = {item.problem.key for item in ranker.neighbours(asked)}
            assert near == {key for key, item in every.items() if item.task_id != asked.task_id}
            assert set(ranker.taught) == near


def test_a_question_is_asked_with_weights_of_its_own(shipped_path: Path, tmp_path: Path) -> None:
    with filled(shipped_path, tmp_path) as opened:
        every = problems(opened)
        asked = next(iter(every.values()))
        as_shipped = BlockWeights.shipped()
        blind = replace(as_shipped, shape=0.0)
        with (
            SubsetRanker(opened.snapshot, every, left_out=lambda _: blind) as nested,
            SubsetRanker(opened.snapshot, every) as shipped,
        ):
            apart = {
                name: {item.problem.key: item.apart for item in ranker.neighbours(asked)}
                for name, ranker in (("nested", nested), ("shipped", shipped))
            }
        other_size = [
            key
            for key, item in every.items()
            if item.hardware.name == asked.hardware.name and item.task_id != asked.task_id
        ]
        assert [apart["nested"][key] for key in other_size] == pytest.approx([0.0], abs=1e-6)
        assert apart["shipped"][other_size[0]] > 0.01
