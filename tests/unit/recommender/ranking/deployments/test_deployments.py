"""Deployments rated by the cost model."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from kg.errors import MissingFactError
from kg.nouns.layout import ParallelLayout
from recommender.ranking.deployments.deployment import (
    Deployment,
    DeploymentDomain,
    DeploymentQuestion,
    Work,
)
from recommender.ranking.deployments.deployment_prices import DeploymentPricer
from recommender.ranking.deployments.deployments import Deployments, candidates

if TYPE_CHECKING:
    from recommender.workspace.workspace import Workspace

WORK = Work(device="h200", model="llama-3-3-70b", precision="fp8", input_len=1024.0, output_len=1024.0)
DOMAIN = DeploymentDomain(frameworks=("vllm",), counts=(1, 2, 4, 8), most_at_once=64.0)
QUESTION = DeploymentQuestion(work=WORK, domain=DOMAIN)


def test_a_smaller_memory_holds_fewer_layouts(shipped: Workspace) -> None:
    pricer = DeploymentPricer(shipped.hardware, shipped.snapshot.sizes_of, lambda question: question)
    one = Deployment(framework="vllm", layout=ParallelLayout(tp=1), concurrency=4)
    small = Work(device="h100-pcie", model=WORK.model, precision="bfloat16", input_len=1.0, output_len=1.0)
    assert pricer.prices(small, [one]) == [None]


def test_a_format_that_the_device_lacks_is_widened_to_one_that_it_has(shipped: Workspace) -> None:
    pricer = DeploymentPricer(shipped.hardware, shipped.snapshot.sizes_of, lambda question: question)
    for device, stated, computed in (
        ("ascend-910b3", "fp8", "bf16"),
        ("ascend-310p3", "bfloat16", "fp16"),
        ("h200", "fp4", "w4a16"),
        ("h200", "fp8", "fp8"),
    ):
        assert pricer.precision(replace(WORK, device=device, precision=stated)) == computed
    one = Deployment(framework="vllm", layout=ParallelLayout(tp=2), concurrency=4)
    (price,) = pricer.prices(replace(WORK, device="tesla-v100-sxm2-32gb", model="qwen3-8b"), [one])
    assert price is not None


def test_a_fact_that_is_missing_is_named(shipped: Workspace) -> None:
    pricer = DeploymentPricer(shipped.hardware, shipped.snapshot.sizes_of, lambda question: question)
    one = Deployment(framework="vllm", layout=ParallelLayout(tp=2), concurrency=4)
    with pytest.raises(MissingFactError, match="no-such-model: hidden_size is not known"):
        pricer.prices(replace(WORK, model="no-such-model"), [one])
    with pytest.raises(MissingFactError, match="ascend-310p3: peak_fp16_flops"):
        pricer.prices(replace(WORK, device="ascend-310p3", model="qwen3-8b"), [one])


def test_an_engine_is_priced_as_it_was_measured(shipped: Workspace) -> None:
    """One base for layouts of a plan and deployments of a rate: the anchored estimate of the engine."""
    about = shipped.snapshot.near_runs.about
    pricer = DeploymentPricer(shipped.hardware, shipped.snapshot.sizes_of, about)
    work = replace(WORK, device="ascend-910c", model="qwen3-32b", precision="bfloat16")
    one = Deployment(framework="vllm-ascend", version="0.20.2rc1", layout=ParallelLayout(tp=4), concurrency=8)
    measured, other = pricer.prices(work, [one, replace(one, framework="vllm", version="")])
    assert measured is not None
    assert other is not None
    assert measured.spread < other.spread
    settings = {"tp": 4, "batch": 8, "input_len": 1024, "output_len": 1024, "precision": "bf16"}
    stated = shipped.ask.estimate(
        {"model": work.model, "hardware": work.device, "count": 4, "software": {"vllm-ascend": "0.20.2rc1"}},
        phase="serving",
        settings=settings,
    )
    assert stated.records[0]["tpot_s"] == pytest.approx(measured.tpot_s)


def test_candidates_spread_experts_only_where_there_are_some() -> None:
    plain = list(candidates(QUESTION))
    assert {item.layout.ep for item in plain} == {1}
    assert {item.concurrency for item in plain} == {1, 2, 4, 8, 16, 32, 64}
    mixed = list(candidates(replace(QUESTION, has_experts=True)))
    assert {(item.layout.ep > 1, item.layout.dp_attention) for item in mixed} == {
        (False, False),
        (True, False),
        (True, True),
    }
    assert all(item.layout.devices in DOMAIN.counts for item in mixed)


def test_every_replica_has_as_many_requests_as_another() -> None:
    few = replace(QUESTION, domain=replace(DOMAIN, most_at_once=7.0), has_experts=True)
    loads = {(item.layout.dp, item.concurrency) for item in candidates(few)}
    assert {dp for dp, _ in loads} == {1, 2, 4}  # seven requests are too few for eight replicas
    assert all(load % dp == 0 and 0 < load <= 7 for dp, load in loads)


def test_requests_in_flight_are_those_of_littles_law(shipped: Workspace) -> None:
    work = replace(WORK, device="ascend-910c", model="qwen3-30b-a3b", precision="bfloat16")
    domain = replace(DOMAIN, counts=(4,), most_at_once=16.0)
    rated = Deployments(shipped.hardware, shipped.snapshot.sizes_of).rate(
        replace(QUESTION, work=work, domain=domain, has_experts=True)
    )
    assert {item.deployment.layout.dp for item in rated} == {1, 4}
    for item in rated:
        assert math.isclose(item.requests_per_s * work.output_len, item.throughput)
        assert item.deployment.concurrency == pytest.approx(item.requests_per_s * item.latency_s)
