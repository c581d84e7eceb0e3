"""Layouts that fit, and their prices."""

import math
import time
from dataclasses import replace
from functools import cache

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kg.nouns.entities import Limit
from kg.nouns.layout import ParallelLayout
from recommender.cost_model.estimate import estimate_question
from recommender.cost_model.facts.device import Device
from recommender.cost_model.layout_domain import LARGEST
from recommender.cost_model.machine import Machine
from recommender.cost_model.operators.network import Network
from recommender.cost_model.priced_step import PricedStep
from recommender.cost_model.question import Question
from recommender.ranking.change import LEAST_LOG_GAIN
from recommender.ranking.layout_question import LayoutQuestion
from recommender.ranking.starts.layout_options import (
    IN_VAIN,
    USUAL_TPOT_S,
    layout_options,
    narrower_fit,
    on_fewer_devices,
    priced_options,
    replayed,
    roomier,
    smallest_fit,
)
from tests.quiet_machine import cpu_seconds
from tests.unit.recommender.cost_model.machines import machine_of, model

LENGTHS: dict[str, dict[str, object]] = {
    "serving": {"input_len": 1024, "output_len": 256},
    "training": {"seq_len": 4096},
}
CASES = [("qwen3-8b", "serving"), ("qwen3-8b", "training"), ("qwen3-30b-a3b", "serving")]
LINKS = frozenset(
    {
        "link_bandwidth_bytes_per_s",
        "link_bandwidth_total_bytes_per_s",
        "reference_link_bandwidth_bytes_per_s",
        "measured_link_read_bytes_per_s",
        "network_bandwidth_bytes_per_s",
        "measured_network_bandwidth_bytes_per_s",
    }
)


def machine(count: int = 8, *, memory: float = 1.0, links: float = 1.0) -> Machine:
    """Servers of eight, with memory and links scaled."""
    made = machine_of("ascend-910b3", count, "atlas-800t-a2")
    scaled = {
        name: value * memory if name.endswith("memory_bytes") and not isinstance(value, str) else value
        for name, value in made.device.facts.items()
    }
    slower = {
        name: value * links if name in LINKS and not isinstance(value, str) else value
        for name, value in made.network.facts.items()
    }
    return replace(
        made,
        device=Device(made.device.id, scaled),
        network=Network(made.network.id, slower, made.network.per_node),
    )


def question(
    name: str = "qwen3-8b", phase: str = "serving", at: Machine | None = None, **more: object
) -> LayoutQuestion:
    held = {**LENGTHS[phase], **more}
    return LayoutQuestion(
        question=Question(model=model(name), machine=at or machine(), phase=phase, settings=held),
        objective="throughput",
    )


@cache
def options(
    name: str, phase: str, count: int = 8, memory: float = 1.0, links: float = 1.0
) -> tuple[PricedStep, ...]:
    return tuple(layout_options(question(name, phase, machine(count, memory=memory, links=links))))


@settings(deadline=None, max_examples=12)
@given(case=st.sampled_from(CASES), links=st.sampled_from([0.1, 0.3, 0.9]), count=st.sampled_from([8, 16]))
def test_slower_links_never_make_a_layout_faster(case: tuple[str, str], links: float, count: int) -> None:
    usual = {one.layout: one.log_merit for one in options(*case, count)}
    for one in options(*case, count, links=links):
        fast = usual[one.layout]
        assert one.log_merit is not None
        assert fast is not None
        assert one.log_merit <= fast + 1e-9


def test_the_best_layout_comes_first_and_what_keeps_the_limits_before_it() -> None:
    free = layout_options(question())
    merits = [one.log_merit or 0.0 for one in free]
    assert merits == sorted(merits, reverse=True)
    assert all(merits)
    assert all(one.within_limits for one in free)
    shortest = min(one.results["tpot_s"] for one in free)
    assert shortest < free[0].results["tpot_s"]
    limit = Limit(metric="tpot", maximum=free[0].results["tpot_s"] * 0.9, unit="s")
    limited = layout_options(replace(question(), limits=(limit,)))
    assert limited[0].within_limits
    assert limited[0].results["tpot_s"] <= limit.maximum
    order = [one.within_limits for one in limited]
    assert order == sorted(order, reverse=True)


def test_a_limit_on_the_memory_is_one() -> None:
    free = layout_options(question())
    maximum = min(one.memory_bytes for one in free) * 1.01
    limit = Limit(metric="peak_memory", maximum=maximum, unit="B")
    limited = layout_options(replace(question(), limits=(limit,)))
    assert limited
    assert all(one.memory_bytes <= maximum for one in limited)


def test_sizes_that_run_now_hold() -> None:
    found = layout_options(replace(question(), degrees={"tensor_parallel": 2}))
    assert {one.layout.tp for one in found} == {2}
    assert {one.layout for one in found} > {
        one.layout for one in layout_options(question()) if one.layout.tp == 2
    }  # and stages, which the widest tensor split alone has else
    assert layout_options(replace(question(), degrees={"tensor_parallel": 3})) == []


def test_replicas_of_vllm_share_their_experts() -> None:
    asked = question("qwen3-30b-a3b")
    of_vllm = replace(asked, question=replace(asked.question, engine="vllm-ascend"))
    assert any(one.layout.dp > 1 and one.layout.ep == 1 for one in layout_options(asked))
    shared = layout_options(of_vllm)
    assert {one.layout.ep for one in shared if one.layout.dp > 1} == {8}
    assert {one.layout.ep for one in shared if one.layout.dp == 1} == {1, 8}
    runs = replace(of_vllm, degrees={"data_parallel": 2, "tensor_parallel": 4, "expert_parallel": 1})
    assert [one.layout.ep for one in layout_options(runs)] == [1]


def batch_of(step: PricedStep) -> float:
    return float(str(step.settings["batch"]))


def test_no_more_requests_than_bring_something_and_a_token_may_wait_for() -> None:
    asked = question("qwen3-8b", "serving", machine(1))
    [chosen] = layout_options(asked)
    tried = list(priced_options(asked))
    kept = [one for one in tried if one.results["tpot_s"] <= USUAL_TPOT_S]
    best = max(one.results["throughput"] for one in kept)
    assert chosen.results["throughput"] >= best * math.exp(-LEAST_LOG_GAIN)
    fewer = [one for one in kept if batch_of(one) < batch_of(chosen)]
    assert fewer
    assert all(one.results["throughput"] < best * math.exp(-LEAST_LOG_GAIN) for one in fewer)
    slow = replace(asked, limits=(Limit(metric="tpot", maximum=0.5, unit="s"),))
    [slower] = layout_options(slow)
    assert batch_of(slower) >= batch_of(chosen)


def test_what_answers_with_a_vector_lets_in_what_fits() -> None:
    [chosen] = layout_options(question("qwen3-8b", "serving", machine(1), output_len=1))
    [writing] = layout_options(question("qwen3-8b", "serving", machine(1), output_len=256))
    assert batch_of(chosen) > batch_of(writing)


def test_no_more_sequences_than_come_at_once() -> None:
    for one in layout_options(replace(question(), concurrency=12)):
        batch = one.settings["batch"]
        assert isinstance(batch, float)
        assert batch <= math.ceil(12 / one.layout.dp)


@pytest.mark.parametrize("engines", [1.0, 2.0])
def test_other_layouts_are_compared_at_no_more_than_the_launch_admits(engines: float) -> None:
    runs = replace(question(), most_of_engine=64.0, engines=engines)
    for one in layout_options(runs):
        assert batch_of(one) <= math.ceil(64.0 * engines / one.layout.dp)
    unknown = [one for one in layout_options(replace(question(), most_of_engine=64.0)) if one.layout.dp > 1]
    assert any(batch_of(one) * one.layout.dp > 64.0 for one in unknown)  # else it is of each engine


def test_a_framework_that_does_not_split_replicates() -> None:
    assert [one.layout.dp for one in layout_options(replace(question(), splits=False))] == [8]
    assert layout_options(replace(question("qwen3-32b"), splits=False)) == []


def test_of_one_layout_the_training_that_surely_fits_comes_before_a_faster_one_that_may_not() -> None:
    query = replace(question(phase="training", global_batch=24), shards=({}, {"zero_stage": 3.0}))
    best: dict[ParallelLayout, PricedStep] = {one.layout: one for one in layout_options(query)}
    for other in priced_options(query):
        first = best[other.layout]
        worths = [
            one.log_merit - IN_VAIN * (1 - one.chance_to_fit) for one in (first, other) if one.log_merit
        ]
        assert worths[0] >= worths[1] - 1e-12


def test_a_stated_batch_of_training_is_kept() -> None:
    found = layout_options(question(phase="training", global_batch=24))
    assert found
    for one in found:
        assert one.settings["global_batch"] == 24
        micro = one.settings["micro_batch"]
        assert isinstance(micro, int | float)
        assert 24 % (micro * one.layout.dp) == 0


@pytest.mark.parametrize("phase", ["serving", "training"])
def test_a_network_is_copied_to_every_device_with_the_batch_that_fits(phase: str) -> None:
    at = machine(8)
    network = Question(model=model("resnet-50"), machine=at, phase=phase, settings={"precision": "fp16"})
    (option,) = layout_options(LayoutQuestion(question=network, objective="throughput"))
    assert (option.layout.dp, option.layout.devices) == (8, 8)
    assert option.unit == "samples/s"
    assert option.memory_bytes <= at.device.memory_capacity
    name = "micro_batch" if phase == "training" else "batch"
    priced = estimate_question(
        network, [{**option.settings, name: option.settings[name], "data_parallel": 8}]
    )
    assert priced.throughput[0] == pytest.approx(option.results["throughput"])


@pytest.mark.parametrize(("stated", "batches"), [(64, {1, 2, 4, 8}), (24, {1, 3}), (None, None)])
def test_a_network_takes_a_stated_batch_in_whole_turns(stated: int | None, batches: set[int] | None) -> None:
    held: dict[str, object] = {"precision": "fp16"} | ({"global_batch": stated} if stated else {})
    network = Question(model=model("resnet-50"), machine=machine(8), phase="training", settings=held)
    found = layout_options(LayoutQuestion(question=network, objective="throughput"))
    assert found
    for one in found:
        micro, whole = one.settings["micro_batch"], one.settings["global_batch"]
        assert isinstance(micro, int | float)
        assert whole == (stated or micro * 8)
        assert batches is None or micro in batches


def test_the_smallest_fit_is_on_the_fewest_devices() -> None:
    asked = question("qwen3-32b", at=machine(1))
    assert layout_options(asked) == []
    smallest = smallest_fit(asked)
    assert smallest is not None
    count = smallest.layout.devices
    assert count > 1
    assert layout_options(question("qwen3-32b", at=machine(count)))
    assert not layout_options(question("qwen3-32b", at=machine(count // 2)))
    assert smallest_fit(question("qwen3-32b", at=machine(LARGEST))) is None


def test_the_narrower_fit_is_the_widest_format_that_fits() -> None:
    alone = question("qwen3-32b", at=machine(1))
    found = narrower_fit(alone)
    assert found is not None
    assert (found[0], found[1].layout.devices) == ("int8", 1)
    smaller = narrower_fit(question("qwen3-32b", at=machine(1, memory=0.5)))
    assert smaller is not None
    assert smaller[0] == "w4a8"
    assert narrower_fit(question("qwen3-32b", at=machine(1, memory=0.1))) is None
    assert narrower_fit(question("qwen3-32b", "training", at=machine(1))) is None


def test_no_engine_is_left_without_a_request_where_all_can_have_one() -> None:
    question = Question(
        model=model("qwen3-8b"), machine=machine(4), phase="serving", settings=LENGTHS["serving"]
    )
    for at_once in (1, 2, 3):
        asked = LayoutQuestion(question=question, objective="throughput", concurrency=at_once)
        found = layout_options(asked)
        assert found
        assert max(option.layout.dp for option in found) <= at_once


@pytest.mark.parametrize(("name", "count"), [("qwen3-8b", 999_983), ("qwen3-30b-a3b", 720_720)])
def test_degrees_are_those_that_the_model_splits_into(name: str, count: int) -> None:
    begun = time.process_time()
    asked = question(name, at=machine(count, memory=10.0))
    found = layout_options(asked)
    assert found
    for option in found:
        assert option.layout.devices == count
        assert asked.question.model.heads % option.layout.tp == 0
    assert time.process_time() - begun < cpu_seconds(5)


@pytest.mark.parametrize(("phase", "some"), [("serving", True), ("training", False)])
def test_a_server_without_a_fact_of_networks_prices_what_needs_none(phase: str, some: bool) -> None:
    place = machine_of("instinct-mi300x", 16, "")
    question = Question(
        model=model("llama-3-70b"), machine=place, phase=phase, settings=LENGTHS[phase], engine="vllm"
    )
    options = layout_options(LayoutQuestion(question=question, objective="throughput"))
    priced = {str(one.layout) for one in options if one.log_merit is not None}
    assert ("DP 16" in priced, len(priced) < len(options)) == (some, True)
    assert some or not priced


@pytest.mark.parametrize("maximum", [0.05, 0.3, 0.5, 1.0, 3.0])
@pytest.mark.parametrize("count", [2, 8])
def test_what_is_chosen_under_a_limit_keeps_it_by_itself_or_no_smaller_load_does(
    count: int, maximum: float
) -> None:
    limit = Limit(metric="ttft_p99", maximum=maximum, unit="s")
    asked = replace(question("qwen3-30b-a3b", at=machine(count)), limits=(limit,))
    first = layout_options(asked)[0]
    one = replace(first, settings={**first.settings, "batch": 1.0})
    chosen, smallest = replayed(asked, [first, one])
    assert not chosen.beyond_limits if not first.beyond_limits else smallest.beyond_limits


def test_more_requests_than_the_launch_admits_are_offered_where_more_come() -> None:
    runs = replace(question(), most_of_engine=4.0, concurrency=256.0, is_load_told=True)
    held = next(one for one in layout_options(runs) if batch_of(one) == runs.most_of(one.layout.dp))
    found = roomier(runs, held)
    assert found is not None
    assert found.layout == held.layout
    assert batch_of(found) > 4.0
    enough = replace(runs, concurrency=4.0 * held.layout.dp)
    assert roomier(enough, held) is None
    assert roomier(replace(runs, most_of_engine=None), held) is None


def test_where_not_all_devices_can_be_used_the_most_that_can_are() -> None:
    found = on_fewer_devices(question("qwen3-32b", at=machine(11)))
    assert found is not None
    assert found.question.machine.count == 10
    assert layout_options(found)
    assert on_fewer_devices(question("qwen3-32b", at=machine(3, memory=0.25))) is None
