"""Prefill and decode apart on the devices of a question."""

from dataclasses import replace
from typing import Any

import pytest

from kg.nouns.entities import Problem
from recommender.ranking.deployments.disaggregation import (
    Disaggregation,
    beside,
    best_disaggregation,
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


def test_limits_are_kept(shipped: Workspace) -> None:
    found = apart(shipped, limits=["tpot<=20ms", "ttft<=500ms"])
    assert found.decode.tpot_s <= 0.020
    assert found.ttft_s <= 0.5
    assert found.throughput <= apart(shipped, **TPOT).throughput
    _, starts = begun(shipped)
    assert starts.question is not None
    impossible, _ = begun(shipped, limits=["tpot<=1us"])
    assert best_disaggregation(starts.question, "sglang", impossible.limits, None) is None


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


def test_a_told_load_is_the_one_under_way(shipped: Workspace) -> None:
    assert apart(shipped, traits={"concurrency": 16}).at_once == 16


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
