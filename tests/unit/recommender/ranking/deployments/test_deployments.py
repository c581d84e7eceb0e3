"""Deployments rated by the cost model and by measured ones."""

from __future__ import annotations

import math
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

import pytest

from kg.nouns.entities import Limit
from recommender.ranking.deployments.deployment import Deployment, DeploymentDomain
from recommender.ranking.deployments.deployment_prices import DeploymentPricer
from recommender.ranking.deployments.deployments import (
    DeploymentQuestion,
    Deployments,
    candidates,
    implied_time_s,
)
from recommender.ranking.deployments.served_cases import ServedCase, Work
from recommender.ranking.start import ParallelLayout

if TYPE_CHECKING:
    from recommender.workspace import Workspace

WORK = Work(device="h200", model="llama-3-3-70b", precision="fp8", input_len=1024.0, output_len=1024.0)
DOMAIN = DeploymentDomain(frameworks=("vllm",), counts=(1, 2, 4, 8), most_at_once=64.0)


def question(tpot_ms: float | None, work: Work = WORK) -> DeploymentQuestion:
    limits = () if tpot_ms is None else (Limit(metric="tpot", maximum=tpot_ms / 1e3, unit="s"),)
    return DeploymentQuestion(work=work, domain=DOMAIN, limits=limits)


def cases(shipped: Workspace, factor: dict[int, float], device: str = "h200") -> list[ServedCase]:
    """Measurements that are the modelled time times a factor by tensor split."""
    pricer = DeploymentPricer(shipped.hardware, shipped.snapshot.sizes_of)
    work = replace(WORK, device=device)
    made = []
    for tensor, times in factor.items():
        for load in (4.0, 16.0, 64.0):
            one = Deployment(framework="vllm", layout=ParallelLayout(tp=tensor), concurrency=load)
            (price,) = pricer.prices([(work, one)])
            assert price is not None
            request_s = price.ttft_s + 1024 * sum(price.parts_s) * times
            made.append(
                ServedCase(work=work, deployment=one, rate=price.in_flight * 2048 / request_s / tensor)
            )
    return made


def _given(measured: list[ServedCase], _: Work | None) -> list[ServedCase]:
    return measured


def test_a_rate_gives_back_the_time_that_made_it(shipped: Workspace) -> None:
    pricer = DeploymentPricer(shipped.hardware, shipped.snapshot.sizes_of)
    for case in cases(shipped, {2: 0.7, 8: 1.4}):
        (price,) = pricer.prices([(case.work, case.deployment)])
        assert price is not None
        times = 0.7 if case.deployment.layout.tp == 2 else 1.4
        assert implied_time_s(case, price) == pytest.approx(sum(price.parts_s) * times)


def test_measured_layouts_decide_also_on_a_device_beside(shipped: Workspace) -> None:
    tree, sizes = shipped.hardware, shipped.snapshot.sizes_of
    for better, worse in ((2, 8), (8, 2)):
        measured = cases(shipped, {better: 0.3, 4: 1.0, worse: 2.5})
        rater = Deployments(tree, sizes, partial(_given, measured))
        beside = replace(WORK, device="b200")
        for work in (WORK, beside):
            tensors = [item.deployment.layout.tp for item in rater.rate(question(30, work))]
            assert tensors.index(better) < tensors.index(worse)


def test_measured_rows_make_surer_than_none(shipped: Workspace) -> None:
    tree, sizes = shipped.hardware, shipped.snapshot.sizes_of
    alone = Deployments(tree, sizes, lambda _: []).rate(question(50))
    known = Deployments(tree, sizes, lambda _: cases(shipped, {1: 0.6, 2: 0.6, 4: 0.6, 8: 0.6})).rate(
        question(50)
    )
    assert max(item.spread for item in known) < min(item.spread for item in alone)
    assert all(item.near == 0 for item in alone)
    assert all(item.near == 3 for item in known)


def test_a_tighter_limit_never_raises_what_is_reached(shipped: Workspace) -> None:
    rater = Deployments(shipped.hardware, shipped.snapshot.sizes_of, lambda _: [])
    reached = [max(item.value for item in rater.rate(question(limit))) for limit in (None, 50, 30, 20, 10)]
    assert reached == sorted(reached, reverse=True)


def test_a_smaller_memory_holds_fewer_layouts(shipped: Workspace) -> None:
    pricer = DeploymentPricer(shipped.hardware, shipped.snapshot.sizes_of)
    one = Deployment(framework="vllm", layout=ParallelLayout(tp=1), concurrency=4)
    small = Work(device="h100-pcie", model=WORK.model, precision="bfloat16", input_len=1.0, output_len=1.0)
    assert pricer.prices([(small, one)]) == [None]
    assert pricer.prices([(replace(WORK, model="no-such-model"), one)]) == [None]


def test_candidates_spread_experts_only_where_there_are_some() -> None:
    plain = list(candidates(question(None)))
    assert {item.layout.ep for item in plain} == {1}
    assert {item.concurrency for item in plain} == {1, 2, 4, 8, 16, 32, 64}
    mixed = list(candidates(DeploymentQuestion(work=WORK, domain=DOMAIN, has_experts=True)))
    assert {(item.layout.ep > 1, item.layout.dp_attention) for item in mixed} == {
        (False, False),
        (True, False),
        (True, True),
    }
    assert all(item.layout.devices in DOMAIN.counts for item in mixed)


def test_chances_are_those_of_a_log_normal_time(shipped: Workspace) -> None:
    rater = Deployments(shipped.hardware, shipped.snapshot.sizes_of, lambda _: [])
    for item in rater.rate_all(question(20)):
        assert (item.chance >= 0.5) == (item.tpot_s <= 0.020)
        assert math.isclose(item.requests_per_s * 1024, item.throughput)


def test_an_impossible_measurement_changes_nothing(shipped: Workspace) -> None:
    tree, sizes = shipped.hardware, shipped.snapshot.sizes_of
    sound = cases(shipped, {1: 0.6, 2: 0.6, 4: 0.6, 8: 0.6})
    poison = [replace(case, rate=case.rate * 1e6) for case in sound]
    first = Deployments(tree, sizes, partial(_given, sound)).rate(question(30))
    assert Deployments(tree, sizes, partial(_given, [*sound, *poison])).rate(question(30)) == first
