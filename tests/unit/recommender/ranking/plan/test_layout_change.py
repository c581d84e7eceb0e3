"""A layout that is modelled to be faster than the start is a change to test, never a promise beside it."""

import math
from dataclasses import replace
from typing import Any

import pytest

from kg.nouns.layout import ParallelLayout
from kg.nouns.setting import SettingPlace
from kg.terms.setting_registry import registry
from recommender.cost_model.change import modelled_change
from recommender.ranking.change import LEAST_LOG_GAIN
from recommender.ranking.plan.layout_change import _difference, layout_changes
from recommender.ranking.plan.planner import Planned
from recommender.ranking.plan_setting import Origin, PlanSetting
from recommender.ranking.start import ExpectedValue, StartConfiguration, log_gain_over
from recommender.workspace.workspace import Workspace

QUESTION: dict[str, Any] = {
    "model": "qwen3-32b",
    "phase": "serving",
    "hardware": "ascend-910b3",
    "count": 8,
    "software": {"vllm-ascend": "0.18.0"},
}


def reaching(metric: str, value: float) -> StartConfiguration:
    number = ExpectedValue(metric=metric, unit="", value=value, low=value, high=value, tier="modelled")
    return StartConfiguration(layout=ParallelLayout(), expected=(number,))


@pytest.mark.parametrize(("metric", "ratio"), [("throughput", 2.0), ("tpot", 0.5), ("step_time", 0.5)])
def test_better_is_more_of_a_rate_and_less_of_a_time(metric: str, ratio: float) -> None:
    gained = log_gain_over(reaching(metric, 100.0), reaching(metric, 100.0 * ratio))
    assert gained == pytest.approx(math.log(2.0))


def test_nothing_is_better_without_a_price() -> None:
    bare = StartConfiguration(layout=ParallelLayout())
    assert log_gain_over(bare, reaching("throughput", 1.0)) == 0.0
    assert log_gain_over(reaching("throughput", 1.0), bare) == 0.0


@pytest.mark.parametrize(
    ("told", "admits"),
    [
        ({}, True),
        ({"limits": ["tpot_p90<=1ms"]}, False),  # which more requests keep even less
        ({"traits": {"concurrency": 8}}, False),
        ({"current": {"--max-num-seqs": 256}}, False),
    ],
)
def test_more_requests_than_the_launch_admits_are_tested_where_they_pay(
    shipped: Workspace, told: dict[str, Any], admits: bool
) -> None:
    problem, _ = shipped.problem({**QUESTION, "current": {"--max-num-seqs": 8}, **told})
    answer = shipped.ask.recommend(problem)
    plan = answer.plan
    assert plan is not None
    first = [one for one in plan.changes if one.title == "More requests at once"]
    assert bool(first) is admits
    for change in first:
        [item] = change.settings
        assert (item.key, change.provided) == ("--max-num-seqs", "so many come at once")
        assert int(str(item.value)) > 8
        assert change.gain is not None
        assert change.gain.expected > math.log(1.5)
        assert "the most that the launch admits" in str(answer.to_json())


@pytest.mark.parametrize(
    ("turns", "settings", "provided"),
    [
        (16, {"--per_device_train_batch_size": 4, "--gradient_accumulation_steps": 4}, ""),
        (1, {"--per_device_train_batch_size": 4}, "a step may take 4 times the samples"),
        (3, {}, ""),  # a step would have other samples
    ],
)
def test_a_trainer_fills_the_memory_and_keeps_the_samples_of_a_step(
    shipped: Workspace, turns: int, settings: dict[str, int], provided: str
) -> None:
    told = {"per_device_train_batch_size": 1, "gradient_accumulation_steps": turns, "deepspeed": "ds_z3.json"}
    question = {
        "model": "llama-3-1-8b", "phase": "training", "hardware": "h100-sxm", "count": 8,
        "software": {"transformers": ""}, "shape": {"seq_len": 2048},
        "current": {**told, "gradient_checkpointing": True, "bf16": True},
    }  # fmt: skip
    changes = plan_of(shipped, question, 5).plan.changes
    found = next((one for one in changes if one.title.startswith("Micro-batches of")), None)
    assert ({} if found is None else {one.key: one.value for one in found.settings}) == settings
    assert found is None or found.provided == provided


@pytest.mark.parametrize(
    ("device", "kept"),
    [("h100-sxm", True), ("a100-pcie-40gb", False)],  # whose memory holds no more
)
def test_less_is_computed_again_where_the_memory_holds_it(
    shipped: Workspace, device: str, kept: bool
) -> None:
    question = {
        "model": "llama-3-70b", "phase": "training", "hardware": device, "count": 32,
        "software": {"megatron-lm": ""}, "shape": {"seq_len": 8192},
        "current": {
            "tensor_model_parallel_size": 8, "pipeline_model_parallel_size": 4, "bf16": True,
            "micro_batch_size": 1, "global_batch_size": 128, "recompute_granularity": "full",
        },
    }  # fmt: skip
    changes = plan_of(shipped, question, 5).plan.changes
    found = [one for one in changes if one.title.startswith("Recompute ")]
    assert bool(found) is kept
    for one in found:
        assert next((item.key, item.value) for item in one.settings) == ("--recompute-method", "block")
        assert one.gain is not None
        assert math.log(1.1) < one.gain.expected < math.log(4 / 3)  # at most the forward pass in four parts


def test_adapters_share_nothing_out_that_fits(shipped: Workspace) -> None:
    """Frozen weights have no states to share; FSDP would gather them for nothing."""
    question = {
        "model": "llama-3-8b", "phase": "training", "hardware": "a100-sxm4-80gb", "count": 4,
        "software": {"trl": ""}, "shape": {"seq_len": 2048}, "current": {"use_peft": True},
    }  # fmt: skip
    start = plan_of(shipped, question, 5).plan.start
    assert start.layout == ParallelLayout(dp=4)
    assert "--fsdp" not in {item.key for item in start.settings}


def test_a_mini_batch_of_rollouts_has_its_samples_whatever_the_micro_batch(shipped: Workspace) -> None:
    """No step "may take more samples": verl accumulates as many micro-batches as a mini-batch has."""
    name = "actor_rollout_ref.actor.ppo_micro_batch_size_per_gpu"
    question = {
        "model": "qwen2.5-7b", "phase": "training", "hardware": "h100-sxm", "count": 8,
        "software": {"verl": ""}, "shape": {"seq_len": 1536}, "current": {name: 1},
    }  # fmt: skip
    changes = plan_of(shipped, question, 50).plan.changes
    assert not [one for one in changes if "samples" in one.provided]


def plan_of(shipped: Workspace, told: dict[str, Any], k: int) -> Planned:
    problem, _ = shipped.problem(told)
    recommender, model = shipped.snapshot.recommender, shipped.ask.model_facts(problem)
    found = recommender.planner.plan(
        problem, k, model=model, rules=recommender.feasibility.of(problem, model, ())
    )
    assert found is not None
    return found


@pytest.fixture
def planned(shipped: Workspace) -> Planned:
    return plan_of(shipped, QUESTION, 5)


def test_a_faster_layout_has_its_number_as_a_change_and_none_as_an_alternative(planned: Planned) -> None:
    plan, priced = planned.plan, planned.starts.alternatives
    better = [one for one in priced if log_gain_over(plan.start, one) > 0]
    assert better, "the question has a faster alternative"
    shown = {item.layout: item for item in plan.alternatives}
    assert all(not shown[one.layout].expected for one in better)
    change = plan.changes[0]
    best = max(better, key=lambda one: log_gain_over(plan.start, one))
    assert str(best.layout) in change.title
    assert change.gain is not None
    assert change.gain.expected > 0


def test_the_change_makes_the_start_the_alternative(planned: Planned) -> None:
    plan, change = planned.plan, planned.plan.changes[0]
    other = next(one for one in planned.starts.alternatives if str(one.layout) in change.title)
    merged = {item.key: item.value for item in plan.start.settings}
    merged.update({item.key: item.value for item in change.settings})
    wanted = {item.key: item.value for item in other.settings}
    assert {key: merged[key] for key in wanted} == wanted


def test_a_layout_of_other_weights_is_no_change_of_layout(shipped: Workspace, planned: Planned) -> None:
    problem, _ = shipped.problem(QUESTION)
    others = tuple(replace(one, needs=("MODEL in int4",)) for one in planned.starts.alternatives)
    starts = replace(planned.starts, alternatives=others)
    assert not [one for one in layout_changes(problem, starts, "", None) if "Divide" in one.title]


def test_a_switch_without_a_flag_that_switches_it_off_is_taken_away() -> None:
    stated = PlanSetting(where=SettingPlace.FLAG, key="--sequence-parallel", value=True, origin=Origin.RECIPE)
    start, other = StartConfiguration(settings=(stated,)), StartConfiguration()
    [gone] = _difference(start, other, registry("megatron-lm").at(""))
    assert (gone.value, gone.removed) == (False, True)


def test_experts_that_all_recipes_of_the_model_spread_are_kept_spread(shipped: Workspace) -> None:
    told = {"model": "glm-5-1", "phase": "serving", "hardware": "ascend-910c", "count": 16}
    found = plan_of(shipped, told, 10)
    whole = [one for one in found.starts.alternatives if one.layout is not None and one.layout.ep == 1]
    titles = [change.title for change in found.plan.changes]
    assert not [one for one in whole if f"Divide it as {one.layout}" in titles]


def test_a_layout_that_pays_only_with_a_change_comes_with_it(shipped: Workspace) -> None:
    """Engines that wait for each other's prefills lose what they win where those are balanced."""
    told = {**QUESTION, "model": "deepseek-r1", "hardware": "ascend-910c", "count": 24}
    found = plan_of(shipped, told, 10)
    plan, starts = found.plan, found.starts
    titles = [one.title for one in plan.changes]
    [both] = [one for one in plan.changes if ", with: " in one.title]
    alone = plan.changes[titles.index(both.title.partition(", with: ")[2])]
    assert titles.index(alone.title) < titles.index(both.title)
    assert set(alone.settings) < set(both.settings)
    other = next(one for one in starts.alternatives if f"as {one.layout}, with" in both.title)
    assert log_gain_over(starts.first, other) < LEAST_LOG_GAIN
    assert other.layout is not None
    assert starts.price is not None
    priced = modelled_change(starts.divided[other.layout], alone.configuration)
    assert priced is not None
    assert alone.gain is not None
    assert both.gain is not None
    gained = math.log(priced.after.throughput / starts.price.throughput)
    assert both.gain.expected == pytest.approx(gained)
    assert gained >= alone.gain.expected + LEAST_LOG_GAIN
    problem, _ = shipped.problem(told)
    assert not [one for one in layout_changes(problem, starts, "", None) if ", with: " in one.title]
