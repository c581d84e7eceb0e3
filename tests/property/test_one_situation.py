"""One situation has one price and one list of assumptions, whichever command is asked."""

import itertools
from typing import Any

import pytest

from kg.nouns.situation import assumption_line
from recommender.answers.capacity import CapacityRequest
from recommender.workspace.workspace import Workspace

MODELS = ("qwen3-32b", "llama-3-1-8b", "qwen3-30b-a3b", "deepseek-r1")
PLACES = (("ascend-910b3", 8), ("h100-sxm", 8), ("ascend-910c", 16))
FACTS: tuple[dict[str, Any], ...] = (
    {},
    {"shape": {"input_len": 3000, "output_len": 500}},
    {"traits": {"concurrency": 64}},
    {"precision": "int8"},
)
SERVED = [
    {"model": model, "phase": "serving", "hardware": device, "count": count, **facts}
    for (model, (device, count)), facts in zip(
        itertools.product(MODELS, PLACES), itertools.cycle(FACTS), strict=False
    )
]
TRAINED: list[dict[str, Any]] = [
    {"model": model, "phase": "training", "hardware": device, "count": count}
    for model, (device, count) in itertools.product(MODELS[:2], PLACES[:2])
]


@pytest.mark.parametrize("raw", [*SERVED, *TRAINED], ids=lambda raw: f"{raw['model']}-{raw['hardware']}")
def test_one_question_has_one_price_and_one_list_of_assumptions(
    shipped: Workspace, raw: dict[str, Any]
) -> None:
    problem, _ = shipped.problem(raw)
    answer = shipped.recommend(problem)
    assert answer.plan is not None
    if not answer.plan.fits:
        pytest.skip("it does not fit")
    start = answer.plan.start
    expected = start.expected[0].value
    predicted, estimated = shipped.predict(problem), shipped.ask.estimate(raw)
    assert predicted.now is not None
    assert predicted.now.throughput == pytest.approx(expected, rel=1e-3)
    assert estimated.steps[0].results["throughput"] == pytest.approx(expected, rel=1e-3)
    line = assumption_line(answer.assumed)
    assert line
    assert assumption_line(predicted.assumed) == assumption_line(estimated.assumed) == line
    if raw["phase"] != "serving":
        return
    sized = shipped.ask.capacity(problem, CapacityRequest())
    assert {fact.words for fact in sized.assumed} <= {fact.words for fact in answer.assumed}
    widest = max(sized.options, key=lambda item: item.rated.devices).rated
    layout, at_once = widest.deployment.layout, widest.deployment.concurrency
    degrees = layout.degrees({"tensor_parallel", "pipeline_parallel", "data_parallel", "expert_parallel"})
    again = shipped.ask.estimate(
        {**raw, "count": widest.devices}, settings={**degrees, "batch": int(at_once / layout.dp)}
    )
    if answer.problem.hardware.count == widest.devices:
        assert again.steps[0].results["throughput"] == pytest.approx(widest.throughput, rel=1e-3)
