"""Cases of a served model, as a benchmark publishes them, and what a workspace that has them reads."""

import json
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from recommender.ranking.measured.measured_run import MeasuredRun
from recommender.ranking.measured.runs import RunReader
from recommender.ranking.starts.starts import Starts
from recommender.workspace.workspace import Workspace

MODEL, DEVICE = "llama-3.3-70b", "b200"

QUESTION = {
    "model": MODEL, "phase": "serving", "hardware": DEVICE, "count": 8, "precision": "fp8",
    "shape": {"input_len": 1024, "output_len": 1024}, "software": {"vllm": ""}, "traits": {"concurrency": 256},
}  # fmt: skip


def case(value: float, *, tp: int = 2, at_once: int = 64, **more: Any) -> dict[str, Any]:
    """One measured deployment: output and input tokens a second of each device."""
    stated = {
        "model": MODEL,
        "hardware": DEVICE,
        "input_len": 1024,
        "output_len": 1024,
        "unit": "tokens/s/gpu",
        "metric": "throughput",
        **more,
    }
    config = {"framework": "vllm", "tp": tp, "num_gpus": tp, "concurrency": at_once}
    return {
        "task": {
            "kind": "serving",
            "op": "serve",
            "model": stated["model"],
            "shape": {"input_len": stated["input_len"], "output_len": stated["output_len"]},
            "dtype": "fp8",
        },
        "hardware": {"vendor": "nvidia", "name": stated["hardware"]},
        "config": {**config, **stated.get("config", {})},
        "outcome": {
            "metric": stated["metric"],
            "unit": stated["unit"],
            "value": value,
            "better": stated.get("better", "higher"),
            "status": "ok",
        },
        "source": {
            "repo": "a/b",
            "path": "c.json",
            "commit": "d",
            "licence": "MIT",
            "url": "https://a.example/c.json",
        },
    }


def with_cases(shipped_path: Path, place: Path, *cases: dict[str, Any]) -> Workspace:
    """The shipped knowledge with some cases."""
    shutil.copytree(shipped_path, place / "workspace")
    workspace = Workspace.open(place / "workspace", cache=shipped_path.parent / "cache")
    path = place / "cases.jsonl"
    path.write_text("".join(json.dumps(one) + "\n" for one in cases), encoding="utf-8")
    workspace.ingest(path)
    return workspace


def starts(workspace: Workspace, question: Mapping[str, Any] = QUESTION) -> Starts:
    """The starts of a question."""
    problem, _ = workspace.problem(question)
    planner = workspace.snapshot.recommender.planner
    situation = planner.starts.situation(problem)
    assert situation is not None
    return planner.starts.find(situation, workspace.ask.model_facts(problem))


def runs(workspace: Workspace, phase: str = "serving") -> list[MeasuredRun]:
    """The runs of the model that it has."""
    snapshot = workspace.snapshot
    reader = RunReader(snapshot.trials, snapshot.graph, snapshot.hardware)
    rows = [row for row in snapshot.trials.summary(snapshot.trials.keys()) if row.model == "llama-3-3-70b"]
    return reader.runs(rows, phase)
