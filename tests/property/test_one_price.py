"""One price for one question, whoever asks it: plan, estimate, prediction, search and screening, to the digit.

And one list of what is assumed where the question is silent.
"""

import math
import os
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from kg.nouns.entities import Kind
from kg.nouns.situation import assumption_line
from kg.nouns.values import Settings
from recommender.answers.answer import Answer
from recommender.answers.capacity import CapacityRequest
from recommender.cost_model.measured.correction import RunCorrection
from recommender.cost_model.priced_step import price
from recommender.evolution.screening import HypothesisScreen
from recommender.search.run.task import TaskModel
from recommender.search.run.task_file import TaskFile
from recommender.workspace.workspace import Workspace
from tests.unit.recommender.ranking.measured.served_cases import DEVICE, MODEL, case, with_cases

CHAT = {"input_len": 1024, "output_len": 1024}
MEASURED: list[dict[str, Any]] = [
    {"model": MODEL, "phase": "serving", "hardware": "h200", "count": 8, "shape": CHAT, "limits": ["tpot<=20ms"]},
    {"model": MODEL, "phase": "serving", "hardware": DEVICE, "count": 4, "software": {"vllm": ""}},
]  # fmt: skip
MODELS = ("qwen3-8b", "llama-2-7b", "qwen3-30b-a3b", "deepseek-v3")
DEVICES = ("910b3", "atlas-800i-a3", "h100-sxm", "h200", "mi300x")


@pytest.fixture(scope="module")
def measured(shipped_path: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Workspace]:
    cases = [case(1500, tp=2), case(1100, tp=4), case(2400, tp=8, at_once=128)]
    with with_cases(shipped_path, tmp_path_factory.mktemp("measured"), *cases) as opened:
        yield opened


def one_price(workspace: Workspace, raw: dict[str, Any]) -> Answer:
    """The answer to a question whose start has the price that every other way to ask gives."""
    problem, _ = workspace.problem(raw)
    answer = workspace.recommend(problem, 5)
    if answer.plan is None or answer.priced is None:
        return answer
    start, settings = answer.plan.start, dict(answer.priced.settings)
    shown = {item.metric: item for item in start.expected}
    raw = {**raw, "software": {start.framework: start.version}}
    words = {name: value for name, value in raw.items() if name not in {"phase", "limits"}}

    step = workspace.ask.estimate(words, phase=raw["phase"], settings=settings).steps[0]
    throughput = step.results["throughput"]
    assert throughput == pytest.approx(shown["throughput"].value)
    ratio = step.time_interval_s[1] / step.results["step_time_s"]
    assert ratio == pytest.approx(shown["throughput"].high / shown["throughput"].value, rel=1e-12)
    for name in ("tpot", "ttft"):
        if name in shown:
            assert step.results[f"{name}_s"] == pytest.approx(shown[name].value)

    assert price(answer.priced)[0].throughput == pytest.approx(throughput)
    predicted = workspace.predict(problem, 5)
    assert predicted.now is not None
    assert predicted.now.throughput == pytest.approx(throughput)
    assert predicted.start == f"{start.layout} with {start.framework} {start.version}"

    file = {
        "parameters": {"graph": [0, 1]},
        "objectives": [{"metric": "throughput", "better": "higher"}],
        "problem": {**words, "phase": raw["phase"]},
        "cost_model": {"phase": raw["phase"], "fixed": settings},
        "default": {"graph": 0},
    }
    source = workspace.searches.prepare(
        TaskFile(file, folder=workspace.snapshot.layout.root), base=dict(os.environ)
    ).task.number_source
    assert isinstance(source, TaskModel)
    assert source.cost_model is not None
    assert source.cost_model.kind is Kind.MODELLED
    assert source.cost_model.records([Settings()])[0]["throughput"] == pytest.approx(throughput)

    screen = HypothesisScreen(workspace.graph, workspace.hardware, workspace.snapshot.near_runs.about)
    asked, _ = workspace.problem({**raw, "current": settings})
    size = "batch" if raw["phase"] == "serving" else "micro_batch"
    change = {size: max(1, int(str(settings[size]).partition(".")[0]) // 2)}
    two = workspace.ask.estimate(words, phase=raw["phase"], settings=settings, compare=[{}, change]).steps
    expected = math.log(two[1].results["throughput"] / two[0].results["throughput"])
    assert screen.check(asked, Settings(change)).gain == pytest.approx(expected, abs=1e-12)
    return answer


@pytest.mark.parametrize("place", range(len(MEASURED)))
def test_measured_runs_are_seen_by_whoever_asks(measured: Workspace, place: int) -> None:
    answer = one_price(measured, MEASURED[place])
    assert answer.priced is not None
    assert len(answer.priced.measured.runs) == 3
    bare = price(replace(answer.priced, measured=RunCorrection()))[0]
    assert price(answer.priced)[0].throughput != bare.throughput


@pytest.mark.parametrize(("phase", "model"), [("serving", "qwen3-8b"), ("training", "llama-2-7b")])
def test_without_runs_too(shipped: Workspace, model: str, phase: str) -> None:
    shape = CHAT if phase == "serving" else {"seq_len": 4096}
    one_price(shipped, {"model": model, "phase": phase, "hardware": "910b3", "count": 8, "shape": shape})


@pytest.mark.parametrize(
    "raw",
    [
        {"model": "qwen3-32b", "hardware": "ascend-910b3", "count": 8},
        pytest.param(
            {"model": "qwen3-30b-a3b", "hardware": "ascend-910c", "count": 16, "traits": {"concurrency": 64}},
            marks=pytest.mark.long,
        ),
        {
            "model": "qwen3-8b",
            "hardware": "h200",
            "count": 2,
            "shape": {"input_len": 3000, "output_len": 500},
        },
    ],
    ids=lambda raw: raw["model"],
)
def test_where_a_question_is_silent_all_assume_the_same(shipped: Workspace, raw: dict[str, Any]) -> None:
    raw = {**raw, "phase": "serving"}
    problem, _ = shipped.problem(raw)
    answer, estimated = shipped.recommend(problem), shipped.ask.estimate(raw)
    assert answer.plan is not None
    expected = answer.plan.start.expected[0].value
    assert estimated.steps[0].results["throughput"] == pytest.approx(expected, rel=1e-3)
    line = assumption_line(answer.assumed)
    assert line
    assert assumption_line(shipped.predict(problem).assumed) == assumption_line(estimated.assumed) == line
    sized = shipped.ask.capacity(problem, CapacityRequest())
    assert {fact.words for fact in sized.assumed} <= {fact.words for fact in answer.assumed}


@pytest.mark.long
@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("hardware", DEVICES)
@pytest.mark.parametrize("phase", ["serving", "training"])
def test_two_hundred_questions_have_one_price(
    shipped: Workspace, model: str, hardware: str, phase: str
) -> None:
    shape = CHAT if phase == "serving" else {"seq_len": 4096}
    for count in (1, 2, 8, 16, 64):
        one_price(
            shipped, {"model": model, "phase": phase, "hardware": hardware, "count": count, "shape": shape}
        )
