"""Metrics: which gains stand for each other."""

import pytest

from kg.nouns.entities import Better, Objective, WorkloadKind
from kg.terms.metrics import MetricWords, canonical_metric, metric_of_words, metrics_of_same_gain, priced_as


@pytest.mark.parametrize(
    ("kind", "one", "other", "same"),
    [
        (WorkloadKind.TRAINING, "throughput", "step_time", True),
        (WorkloadKind.SERVING, "throughput", "run_time", True),
        (WorkloadKind.SERVING, "tpot", "decode_throughput", True),
        (WorkloadKind.SERVING, "throughput", "ttft", False),
        (WorkloadKind.SERVING, "throughput", "tpot", False),
        (WorkloadKind.SERVING, "ttft", "prefill_time", False),
        (WorkloadKind.SERVING, "tpot", "peak_memory", False),
    ],
)
def test_a_gain_of_one_metric_is_no_gain_of_another_but_by_arithmetic(
    kind: WorkloadKind, one: str, other: str, same: bool
) -> None:
    assert (other in metrics_of_same_gain(one, kind)) is same
    assert (one in metrics_of_same_gain(other, kind)) is same


@pytest.mark.parametrize(
    ("kind", "metric", "result"),
    [
        (WorkloadKind.TRAINING, "step_time", "throughput"),
        (WorkloadKind.SERVING, "output_throughput", "throughput"),
        (WorkloadKind.SERVING, "tpot", "tpot"),
        (WorkloadKind.SERVING, "tpot_p99", "tpot"),
        (WorkloadKind.SERVING, "time_to_first_token", "ttft"),
        (WorkloadKind.SERVING, "peak_memory", ""),
        (WorkloadKind.OPERATOR, "run_time", ""),
    ],
)
def test_an_objective_is_held_against_what_of_a_step_it_measures(
    kind: WorkloadKind, metric: str, result: str
) -> None:
    assert priced_as(Objective(metric=metric, better=Better.LOWER), kind) == result


@pytest.mark.parametrize(
    ("text", "metric", "inverse"),
    [
        ("decode speed per request", "tpot", True),
        ("output speed per user (tokens/s)", "tpot", True),
        ("tokens/s/user", "tpot", True),
        ("TPOT wall clock", "tpot", False),
        ("inter-token latency", "tpot", False),
        ("time to the first token", "ttft", False),
        ("TTFT mean", "ttft", False),
    ],
)
def test_words_of_one_request_name_its_metric_or_the_inverse(text: str, metric: str, inverse: bool) -> None:
    assert metric_of_words(text) == MetricWords(metric, inverse)


@pytest.mark.parametrize("text", ["throughput", "decode throughput", "output throughput", "step time", ""])
def test_other_words_are_not_of_one_request(text: str) -> None:
    assert metric_of_words(text) is None


@pytest.mark.parametrize(
    ("name", "metric"),
    [
        ("latency_p95", "latency_p95"),
        ("p99 latency", "latency_p99"),
        ("e2e_latency_p90", "latency_p90"),
        ("P99-TTFT", "ttft_p99"),
        ("p95_itl", "tpot_p95"),
        ("p95", "p95"),
    ],
)
def test_a_share_of_the_requests_stands_before_or_behind_its_time(name: str, metric: str) -> None:
    assert canonical_metric(name, WorkloadKind.SERVING) == metric
