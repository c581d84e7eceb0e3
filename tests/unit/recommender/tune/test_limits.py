"""Limits on latencies: read, kept, and decided early without harm."""

import random

import pytest

from kg.errors import InputError
from recommender.tune.limits import ALPHA, LatencyLimit, are_kept, shares, verdict
from recommender.tune.load import RequestRecord


def record(ttft: float, *, tokens: int = 11, tpot: float = 0.01, error: str = "") -> RequestRecord:
    return RequestRecord(
        due=1.0, sent=1.0, first=1.0 + ttft, last=1.0 + ttft + 10 * tpot, tokens=tokens, error=error
    )


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("ttft_p99<=2s", ("ttft", 0.99, 2.0)),
        ("tpot_p90 <= 50ms", ("tpot", 0.9, 0.05)),
        ("e2e_p99.9<=10s", ("e2e", 0.999, 10.0)),
        ("e2e_latency_p50<=1s", ("e2e", 0.5, 1.0)),
        ("ttft<=1s", ("ttft", 0.9, 1.0)),
    ],
)
def test_a_limit_is_a_latency_a_share_and_a_bound(text: str, found: tuple[str, float, float]) -> None:
    limit = LatencyLimit.parse(text)
    assert (limit.metric, round(limit.share, 9), limit.bound_s) == found


@pytest.mark.parametrize("text", ["peak_memory<=32GB", "ttft_p0<=1s", "ttft_p90<=3", "fast", "power_p90<=3s"])
def test_what_is_no_latency_is_refused(text: str) -> None:
    with pytest.raises(InputError):
        LatencyLimit.parse(text)


def test_a_request_that_failed_keeps_no_limit() -> None:
    limits = [LatencyLimit.parse("ttft_p50<=1s"), LatencyLimit.parse("tpot_p50<=20ms")]
    records = [record(0.5), record(0.5, tpot=0.05), record(0.5, error="refused"), record(2.0)]
    assert shares(records, limits) == [0.5, 0.5]
    assert are_kept(records, limits)
    assert not are_kept(records, [LatencyLimit.parse("ttft_p75<=1s")])
    assert not are_kept([], limits)


def test_few_requests_decide_what_is_clear_and_nothing_else() -> None:
    limit = [LatencyLimit.parse("ttft_p90<=1s")]
    assert verdict([record(5.0)] * 4, limit) is False
    assert verdict([record(0.1)] * 10, limit) is None
    assert verdict([record(0.1)] * 80, limit) is True
    assert verdict([], limit) is None


def test_a_probe_that_is_ended_early_is_wrong_less_often_than_it_says() -> None:
    """At the very share that is asked for, any verdict is a wrong one: it comes in at most alpha of the probes."""
    rng, limit = random.Random(7), [LatencyLimit.parse("ttft_p90<=1s")]
    wrong = 0
    for _ in range(300):
        records: list[RequestRecord] = []
        for _ in range(120):
            records.append(record(0.1 if rng.random() < 0.9 else 2.0))
            if verdict(records, limit) is not None:
                wrong += 1
                break
    assert wrong <= ALPHA * 300 * 1.4
