"""Aims of a question: its metric and its limits."""

import pytest

from ingest.questions.aims import KnownOperator, limits_of, objective_of
from kg.errors import InputError, UnknownEntityError
from kg.nouns.entities import Better, WorkloadKind

OPERATOR = KnownOperator(name="toy", kind=WorkloadKind.KERNEL, metric="kernel_time", better=Better.LOWER)


@pytest.mark.parametrize(
    ("name", "kind", "default", "metric"),
    [
        (None, WorkloadKind.SERVING, None, "throughput"),
        (None, WorkloadKind.OPERATOR, None, "latency"),
        (None, WorkloadKind.KERNEL, OPERATOR, "kernel_time"),
        ("decode speed per request", WorkloadKind.SERVING, None, "tpot"),
    ],
)
def test_the_metric_that_decides(
    name: str | None, kind: WorkloadKind, default: KnownOperator | None, metric: str
) -> None:
    assert objective_of(name, kind, default).metric == metric


def test_an_unknown_metric_is_refused_with_what_may_be_meant() -> None:
    with pytest.raises(UnknownEntityError) as fault:
        objective_of("throughputt", WorkloadKind.SERVING, None)
    assert "throughput" in fault.value.hint


def test_a_bound_is_no_objective() -> None:
    with pytest.raises(InputError, match="a bound is a limit"):
        objective_of("tpot<=50ms", WorkloadKind.SERVING, None)


def test_limits_contradict_each_other_or_stand_by_name() -> None:
    limits = limits_of(["tpot<=50ms", "peak_memory<=32GB"], None)
    assert [limit.metric for limit in limits] == sorted(limit.metric for limit in limits)
    with pytest.raises(InputError, match="contradict"):
        limits_of(["tpot<=50ms", "tpot<=20ms"], None)
    with pytest.raises(InputError, match="expected a list"):
        limits_of("tpot<=50ms", None)
