"""Weights of trust, limits, and numbers that no instrument gives."""

import math
from dataclasses import replace
from typing import Any

import pytest

from kg.nouns.entities import (
    Baseline,
    Better,
    Case,
    Hardware,
    Kind,
    Limit,
    Measurement,
    Objective,
    Problem,
    Source,
    Status,
    Trust,
    Workload,
    WorkloadKind,
)  # fmt: skip
from kg.nouns.values import Settings


def test_distrust_costs_more_than_praise_gains() -> None:
    assert [trust.weight for trust in (Trust.LOW, Trust.MEDIUM, Trust.HIGH)] == [0.25, 1.0, 2.0]


@pytest.mark.parametrize(
    ("metric", "maximum", "unit", "text"),
    [
        ("tpot", 0.05, "s", "tpot <= 50 ms"),
        ("tpot", 2e-5, "s", "tpot <= 20 us"),
        ("ttft", 2.0, "s", "ttft <= 2 s"),
        ("peak_memory", 32e9, "B", "peak_memory <= 32 GB"),
        ("accuracy_loss", 0.005, "1", "accuracy_loss <= 0.5 %"),
    ],
)
def test_a_limit_reads_as_people_write_it(metric: str, maximum: float, unit: str, text: str) -> None:
    assert str(Limit(metric=metric, maximum=maximum, unit=unit)) == text


def test_what_broke_was_begun_and_what_was_forbidden_was_not() -> None:
    broke = {Status.FAILED, Status.TIMED_OUT, Status.OUT_OF_MEMORY}
    assert {status for status in Status if status.broke} == broke
    assert {status for status in Status if status.cannot_run} == broke | {Status.FORBIDDEN}


@pytest.mark.parametrize(
    "wrong",
    [
        {"value": math.inf},
        {"value": None},
        {"value": 1.0, "status": Status.FAILED},
        {"value": 1.0, "stdev": -1.0},
        {"value": 1.0, "stdev": math.inf},
        {"value": 1.0, "stdev": math.nan},
        {"value": 1.0, "repeats": 0},
    ],
)
def test_what_no_instrument_gives_is_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=r"not a measurement|a spread of|0 repeats"):
        Measurement(metric="latency", unit="s", **wrong)
    assert Measurement(metric="latency", unit="s", value=1.0, stdev=0.0, repeats=1).value == 1.0


@pytest.mark.parametrize(
    ("better", "value", "gain"),
    [("higher", 0.5, math.log(0.25)), ("lower", 0.5, math.log(4)), ("lower", 0.0, None)],
)
def test_a_gain_is_a_ratio_in_the_direction_of_its_metric(
    better: str, value: float, gain: float | None
) -> None:
    problem = Problem(
        workload=Workload(kind=WorkloadKind.KERNEL, operator="gemm"),
        hardware=Hardware(name="a100"),
        objective=Objective(metric="score", better=Better(better)),
    )
    one = Case(
        problem=problem,
        configuration=Settings(),
        measurement=Measurement(metric="score", unit="1", value=value),
        kind=Kind.MEASURED,
        source=Source(title="Ours"),
        baseline=Baseline(value=2.0),
    )
    assert one.log_gain == (None if gain is None else pytest.approx(gain))
    assert replace(one, baseline=None).log_gain is None
