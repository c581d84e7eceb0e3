"""Prefill and decode apart on the devices of a question."""

from dataclasses import replace
from typing import Any

import pytest

from kg.nouns.entities import Problem
from recommender.ranking.deployments import disaggregation
from recommender.ranking.deployments.disaggregation import (
    DeploymentTerms,
    Disaggregation,
    beside,
    best_disaggregation,
    fastest_of_both,
    separates,
    separation_change,
)
from recommender.ranking.starts.starts import Starts
from recommender.workspace.workspace import Workspace

QUESTION: dict[str, Any] = {
    "model": "qwen3-32b", "phase": "serving", "hardware": "h100-sxm", "count": 8, "objective": "throughput",
    "shape": {"input_len": 4096, "output_len": 256}, "software": {"sglang": ""},
}  # fmt: skip
TPOT = {"limits": ["tpot<=20ms"]}


def begun(shipped: Workspace, **more: object) -> tuple[Problem, Starts]:
    problem, _ = shipped.problem({**QUESTION, **more})
    starts = shipped.ask.decision(problem)
    assert starts is not None
    return problem, starts


def apart(shipped: Workspace, **more: object) -> Disaggregation:
    found = beside(*begun(shipped, **more))
    assert found is not None
    return found


def terms(shipped: Workspace, **more: object) -> DeploymentTerms:
    found = DeploymentTerms.of(*begun(shipped, **more))
    assert found is not None
    return found


def test_no_more_devices_are_used_than_there_are_and_either_role_has_some(shipped: Workspace) -> None:
    for count in (2, 4, 6, 8):
        found = apart(shipped, count=count, model="qwen3-8b", **TPOT)
        assert found.devices <= count
        assert found.prefills >= 1
        assert found.decodes >= 1


def test_the_slower_role_sets_the_pace_and_little_holds(shipped: Workspace) -> None:
    found = apart(shipped, **TPOT)
    assert found.requests_per_s <= found.prefills * found.prefill.requests_per_s * (1 + 1e-9)
    answered_s = found.ttft_s + 256 * found.decode.tpot_s
    assert found.at_once == pytest.approx(found.requests_per_s * answered_s)
    assert found.throughput == pytest.approx(256 * found.requests_per_s)
    assert found.ttft_s >= found.prefill.ttft_s > found.transfer_s > 0


@pytest.mark.parametrize(
    ("most", "at_once", "sizes", "users"),
    [(6, None, [1, 2, 3, 4, 6], 256), (5, 3.0, [1, 2, 3, 4], 3), (1, 1e6, [1], 256)],
)
def test_an_instance_has_a_divisor_or_a_power_of_two(
    shipped: Workspace,
    monkeypatch: pytest.MonkeyPatch,
    most: int,
    at_once: float,
    sizes: list[int],
    users: float,
) -> None:
    asked: list[tuple[object, ...]] = []

    def rated(*told: object, **_: object) -> tuple[()]:
        asked.append(told)
        return ()

    monkeypatch.setattr(disaggregation, "rated_deployments", rated)
    list(replace(terms(shipped, count=6, model="qwen3-8b"), at_once=at_once).rated(most))
    assert asked[0][2:4] == (sizes, users)


def test_limits_are_kept(shipped: Workspace) -> None:
    found = apart(shipped, limits=["tpot<=20ms", "ttft<=500ms"])
    assert found.decode.tpot_s <= 0.020
    assert found.ttft_s <= 0.5
    assert found.throughput <= apart(shipped, **TPOT).throughput
    impossible = terms(shipped, limits=["tpot<=1us"])
    assert best_disaggregation(impossible) is None
    assert fastest_of_both(impossible) == 0


def test_a_limit_on_a_token_makes_it_the_first_change_and_no_limit_does_not(shipped: Workspace) -> None:
    problem, starts = begun(shipped, **TPOT)
    found = beside(problem, starts)
    assert found is not None
    change = separation_change(problem, starts, found, "1")
    assert change is not None
    assert change.gain is not None
    assert change.gain.expected > 0
    assert str(found) in change.title
    assert beside(*begun(shipped)) is None  # more requests than those that decode hold


def test_what_another_layout_wins_is_no_gain_of_the_separation(shipped: Workspace) -> None:
    ascend = {"model": "qwen3-235b-a22b", "hardware": "ascend-910c", "count": 16, "software": {}}
    for users in (8, 64):
        problem, starts = begun(shipped, **ascend, traits={"concurrency": users})
        found, held = beside(problem, starts), DeploymentTerms.of(problem, starts)
        assert found is not None
        assert held is not None
        assert starts.price is not None
        before = fastest_of_both(held)
        assert before > 1.1 * starts.price.throughput  # recipes chose the start
        change = separation_change(problem, starts, found, "1")
        if users == 8:  # others that do both are as fast
            assert change is None
            continue
        assert change is not None
        assert change.gain is not None
        assert change.gain.factor == pytest.approx(found.throughput / before)


def test_engines_that_do_both_reach_what_the_start_does(shipped: Workspace) -> None:
    for more in (TPOT, {"traits": {"concurrency": 16}}, {}):
        _, starts = begun(shipped, **more)
        assert starts.price is not None
        assert fastest_of_both(terms(shipped, **more)) >= starts.price.throughput * (1 - 1e-9)


def test_memory_is_as_little_as_the_start_may_fill(shipped: Workspace) -> None:
    held = apart(shipped, limits=["tpot<=20ms", "peak_memory<=40GB"])
    steps = held.prefill.step, held.decode.step
    assert max(step.memory_bytes for step in steps) <= 40e9
    assert max(step.memory_bytes for step in (apart(shipped, **TPOT).prefill.step,)) > 40e9
    assert terms(shipped, current={"--mem-fraction-static": 0.5}).usable == 0.5


def test_what_is_not_served_in_one_piece_or_cannot_be_parted_has_none(shipped: Workspace) -> None:
    assert beside(*begun(shipped, traits={"disaggregated": False})) is None
    assert beside(*begun(shipped, phase="decode")) is None
    assert beside(*begun(shipped, objective="tpot")) is None
    assert beside(*begun(shipped, limits=["ttft_p99<=2s"])) is None  # its tail is not modelled
    problem, starts = begun(shipped)
    assert starts.question is not None
    assert separates("sglang", starts.question)
    assert not separates("llama.cpp", starts.question)
    machine = replace(starts.question.machine, network=replace(starts.question.machine.network, facts={}))
    assert not separates("sglang", replace(starts.question, machine=machine))
    assert beside(problem, replace(starts, price=None)) is None
