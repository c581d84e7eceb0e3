"""Deployments rated by the cost model."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from kg.errors import MissingFactError
from recommender.ranking.deployments.deployment import (
    DeploymentDomain,
    DeploymentQuestion,
    Work,
)
from recommender.ranking.deployments.deployments import Deployments

if TYPE_CHECKING:
    from recommender.ranking.deployments.deployment import RatedDeployment
    from recommender.workspace.workspace import Workspace

WORK = Work(device="h200", model="llama-3-3-70b", precision="fp8", input_len=1024.0, output_len=1024.0)
DOMAIN = DeploymentDomain(frameworks=("vllm",), counts=(1, 2, 4, 8), most_at_once=64.0)


def rated(shipped: Workspace, work: Work, **domain: object) -> list[RatedDeployment]:
    asked = DeploymentQuestion(work=work, domain=replace(DOMAIN, **domain))  # type: ignore[arg-type]
    return Deployments(shipped.hardware, shipped.snapshot.sizes_of).rate(asked)


def test_a_smaller_memory_holds_fewer_layouts(shipped: Workspace) -> None:
    small = Work(device="h100-pcie", model=WORK.model, precision="bfloat16", input_len=1.0, output_len=1.0)
    assert rated(shipped, small, counts=(1,)) == []
    assert rated(shipped, small, counts=(4,))


def test_a_format_that_the_device_lacks_is_widened_to_one_that_it_has(shipped: Workspace) -> None:
    assert rated(shipped, replace(WORK, device="tesla-v100-sxm2-32gb", model="qwen3-8b"), counts=(2,))


def test_a_fact_that_is_missing_is_named(shipped: Workspace) -> None:
    with pytest.raises(MissingFactError, match="no-such-model: hidden_size is not known"):
        rated(shipped, replace(WORK, model="no-such-model"))


def test_experts_are_spread_only_where_there_are_some(shipped: Workspace) -> None:
    assert {item.deployment.layout.ep for item in rated(shipped, WORK)} == {1}
    work = replace(WORK, device="ascend-910c", model="qwen3-30b-a3b", precision="bfloat16")
    mixed = {item.deployment.layout for item in rated(shipped, work, counts=(4,), most_at_once=16.0)}
    assert {(one.ep > 1, one.dp_attention) for one in mixed} == {(False, False), (True, False), (True, True)}
    assert {one.devices for one in mixed} == {4}


def test_every_replica_has_as_many_requests_as_another(shipped: Workspace) -> None:
    work = replace(WORK, device="ascend-910c", model="qwen3-30b-a3b", precision="bfloat16")
    few = [item.deployment for item in rated(shipped, work, counts=(2, 4, 8), most_at_once=7.0)]
    assert {item.layout.dp for item in few} == {1, 2, 4}  # seven requests are too few for eight replicas
    assert all(item.concurrency % item.layout.dp == 0 and 0 < item.concurrency <= 7 for item in few)


def test_tokens_and_requests_a_second_are_one(shipped: Workspace) -> None:
    for item in rated(shipped, WORK, counts=(4,)):
        assert math.isclose(item.requests_per_s * WORK.output_len, item.throughput)


def test_a_deployment_has_the_price_of_the_same_layout_in_a_plan(shipped: Workspace) -> None:
    raw = {"model": "qwen3-32b", "phase": "serving", "hardware": "ascend-910b3", "count": 8}
    problem, _ = shipped.problem(raw)
    start = shipped.recommend(problem).starts[0]
    decision = shipped.ask.decision(problem)
    assert decision is not None
    assert decision.question is not None
    asked = DeploymentQuestion(
        work=WORK, domain=replace(DOMAIN, counts=(8,), most_at_once=256.0), base=decision.question
    )
    found = Deployments(shipped.hardware, shipped.snapshot.sizes_of).rate(asked)
    same = [
        one for one in found if one.deployment.layout == start.layout and one.deployment.concurrency == 256
    ]
    assert [one.throughput for one in same] == [pytest.approx(start.expected[0].value, rel=1e-3)]
