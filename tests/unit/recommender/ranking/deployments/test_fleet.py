"""Fleets: as many instances as a rate needs."""

import math
from statistics import NormalDist

import pytest

from kg.nouns.entities import Limit
from kg.nouns.layout import ParallelLayout
from recommender.cost_model.priced_step import PricedStep
from recommender.cost_model.workloads.queue import waiting_s
from recommender.ranking.deployments.deployment import Deployment, RatedDeployment
from recommender.ranking.deployments.fleet import Fleet, fewest


def rated(replicas: int = 1, spread: float = 0.5) -> RatedDeployment:
    """Ten requests a second, each 0.2 s and 100 tokens of 20 ms."""
    layout = ParallelLayout(tp=8, dp=replicas, dp_attention=replicas > 1, ep=8)
    return RatedDeployment(
        deployment=Deployment(framework="vllm", layout=layout, concurrency=22), throughput=1000.0,
        requests_per_s=10.0, tpot_s=0.02, ttft_s=0.2, latency_s=2.2,
        step=PricedStep(
            layout=layout, spread=spread, results={"tpot_p90_s": 0.03, "tpot_p95_s": 0.035, "tpot_p99_s": 0.04},
        ),
    )  # fmt: skip


def limit(metric: str, seconds: float) -> Limit:
    return Limit(metric=metric, maximum=seconds, unit="s")


@pytest.mark.parametrize("chance", [0.5, 0.9])
def test_the_error_of_the_throughput_is_room_that_a_rate_needs(chance: float) -> None:
    fleet = fewest(rated(), 95.0, (), chance)
    assert fleet is not None
    assert fleet.chance(()) >= chance
    assert Fleet(rated=rated(), instances=fleet.instances - 1, rate_per_s=95.0).chance(()) < chance
    assert fleet.instances == math.ceil(9.5 * math.exp(NormalDist().inv_cdf(chance) * 0.5))


def test_a_limit_that_waiting_breaks_needs_more_and_one_that_is_never_kept_has_none() -> None:
    plain, tail = (fewest(rated(), 50.0, limits, 0.5) for limits in ((), (limit("ttft_p99", 0.3),)))
    assert plain is not None
    assert tail is not None
    assert tail.instances > plain.instances
    assert tail.times()["ttft_p99"] <= 0.3
    assert fewest(rated(), 50.0, (limit("ttft_p99", 0.1),), 0.5) is None
    assert Fleet(rated=rated()).chance((limit("ttft_p99", 0.1),)) < 0.5


def test_a_request_waits_for_one_replica_and_they_share_the_load() -> None:
    one, four = (Fleet(rated=rated(replicas), rate_per_s=8.0) for replicas in (1, 4))
    assert one.load() == four.load() == pytest.approx(0.8)
    turn, slots = 4 / 10.0, 22 / 4
    assert four.times()["ttft"] == pytest.approx(0.2 + float(waiting_s(0.8, turn, slots, 0.2)))
    assert Fleet(rated=rated()).times()["ttft"] == pytest.approx(0.2)


def test_a_time_within_its_limit_is_as_likely_as_a_log_normal_error_says() -> None:
    fleet = Fleet(rated=rated())
    assert fleet.chance((limit("tpot", 0.02),)) == pytest.approx(0.5, abs=1e-4)
    expected = NormalDist().cdf(math.log(1.5) / 0.5)
    assert fleet.chance((limit("tpot", 0.03), limit("latency", 9.0))) == pytest.approx(expected, abs=1e-4)


@pytest.mark.parametrize("time", ["ttft", "tpot"])
def test_a_stricter_share_of_the_requests_allows_less(time: str) -> None:
    busy = Fleet(rated=rated(), instances=1, rate_per_s=9.9)
    times = busy.times()
    assert times[time] <= times[f"{time}_p90"] < times[f"{time}_p95"] < times[f"{time}_p99"]
    assert busy.keeps([limit(f"{time}_p90", times[f"{time}_p95"])])
    assert not busy.keeps([limit(f"{time}_p99", times[f"{time}_p95"])])


def test_a_request_that_is_slow_is_slow_to_its_first_token_and_in_each() -> None:
    times = Fleet(rated=rated(), rate_per_s=8.0).times()
    assert times["latency_p99"] == pytest.approx(times["ttft_p99"] + 100 * times["tpot_p99"])
    assert times["latency"] < times["latency_p90"] < times["latency_p99"]
