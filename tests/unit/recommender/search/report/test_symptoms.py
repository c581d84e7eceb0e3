"""Diagnoses of a search from its history: each planted, and silence on a healthy one."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kg.nouns.entities import Better, Objective, Status
from kg.nouns.values import Settings
from recommender.search.evaluations import Evaluation
from recommender.search.report.history import History
from recommender.search.report.symptoms import (
    NOT_CONVERGING,
    OUT_OF_MEMORY,
    REGRESSION,
    TOO_LONG,
    check,
)

TIME = Objective(metric="kernel_time", better=Better.LOWER, unit="s")


def ran(value: float, took: float | None = 1.0, **settings: Any) -> Evaluation:
    return Evaluation(configuration=Settings(settings), values=(value,), cost_s=took)


def _set(item: Evaluation) -> dict[str, Any]:
    return dict(item.configuration.to_json())


def failed(reason: str, status: Status = Status.FAILED, **settings: object) -> Evaluation:
    return Evaluation(
        configuration=Settings(settings), values=(None,), status=status, reason=reason, cost_s=1.0
    )


def of(evaluations: Sequence[Evaluation]) -> History:
    return History(objective=TIME, evaluations=tuple(evaluations))


def names(evaluations: Sequence[Evaluation]) -> list[str]:
    return [item.name for item in check(of(evaluations)).symptoms]


def healthy() -> list[Evaluation]:
    """A descent to 1 with proposals round it, then the best again."""
    tried = [ran(1 + 3 * math.exp(-k / 3), a=k % 4, b=k) for k in range(14)]
    near = [ran(1.01 + 0.01 * (k % 5), a=k % 4, b=-1 - k) for k in range(8)]
    return [*tried, *near, ran(tried[-1].values[0] or 0, **_set(tried[-1]))]


def test_what_cannot_be_told_is_said() -> None:
    untold = check(of([ran(2.0, None, a=1), ran(1.0, None, a=2)])).undetermined
    assert [text.partition(":")[0] for text in untold] == ["regression", "convergence", "time"]


@pytest.mark.parametrize(
    "reason",
    [
        "CUDA out of memory. Tried to allocate 2.00 GiB",
        "RESOURCE_EXHAUSTED: hbm",
        "NPU OOM",
        "malloc: memory allocation failed",
    ],
)
def test_memory_names_the_parameter_and_the_bound(reason: str) -> None:
    evaluations = [
        failed(reason, batch=size, tile=tile) if size >= 32 else ran(2.0 - size / 32, batch=size, tile=tile)
        for size in (4, 8, 16, 32, 64)
        for tile in (1, 2, 3)
    ]
    [symptom] = check(of(evaluations)).symptoms
    assert symptom.name == OUT_OF_MEMORY
    assert "batch from 32 on" in symptom.cause
    assert "batch < 32" in symptom.remedy
    assert len(symptom.evaluations) == 6
    same = [failed(reason, tile=tile % 2) for tile in range(6)] + [
        ran(1.0, tile=tile % 2) for tile in range(6)
    ]
    assert check(of(same)).symptoms[0].cause.find("from") < 0  # half of the pairs on either side tell nothing


def test_a_status_is_enough_and_other_failures_are_no_memory() -> None:
    base = healthy()
    killed = [failed("killed", Status.OUT_OF_MEMORY, a=k, b=99) for k in range(4)]
    broken = [failed("compile error", a=k, b=98) for k in range(4)]
    assert names([*killed, *base]) == [OUT_OF_MEMORY]
    assert names([*broken, *base]) == []


def test_chance_does_not_converge() -> None:
    rng = np.random.default_rng(5)
    evaluations = []
    for _ in range(40):
        x, y, z = rng.integers(0, 6, 3).tolist()
        evaluations.append(ran(float(1 + x + y + z + 0.01 * rng.random()), x=x, y=y, z=z))
    assert NOT_CONVERGING in names(evaluations)


def test_a_search_cut_off_goes_on() -> None:
    evaluations = [ran(30.0 if k == 15 else 10.0 - 0.4 * k, a=k) for k in range(20)]
    [symptom] = check(of(evaluations)).symptoms
    assert symptom.name == NOT_CONVERGING
    assert "still gained" in symptom.cause
    assert symptom.evaluations == (10, 11, 12, 13, 14, 16, 17, 18, 19)
    assert symptom.cause.endswith(f"{6.4 / 2.4 - 1:.0%}")


def test_proposals_that_learned_something_are_like_the_best_and_chance_is_not() -> None:
    """Late proposals far above the best; alike in all but one setting, and then in none."""
    rng = np.random.default_rng(3)

    def search(*, alike: bool) -> list[Evaluation]:
        first = [ran(5 + float(rng.random()), a=k * 15.0, b=285 - k * 15.0) for k in range(20)]
        best = ran(1.0, a=300.0, b=300.0)
        places = [
            (300.0 + k, 300.0) if alike else tuple(rng.uniform(0, 150, 2).tolist()) for k in range(1, 21)
        ]
        late = [ran(4 + float(rng.random()), a=a, b=b) for a, b in places]
        return [*first[:8], best, *first[8:], *late]

    assert NOT_CONVERGING not in names(search(alike=True))
    assert NOT_CONVERGING in names(search(alike=False))


def test_noise_is_named() -> None:
    evaluations = [
        Evaluation(configuration=Settings({"a": k}), values=(1 + 0.02 * (k % 7),), stdev=(0.3,), repeats=5)
        for k in range(20)
    ]
    [symptom] = check(of(evaluations)).symptoms
    assert "varies by" in symptom.cause


def test_a_best_that_does_not_hold() -> None:
    base = healthy()[:-1]
    lucky = [*base[:15], ran(0.97, a=3, b=9), *base[15:], ran(1.04, a=3, b=9)]
    assert names(lucky) == [REGRESSION]


def test_a_machine_that_slows_down() -> None:
    base = healthy()[:-1]
    again = [ran(1.2 * (item.values[0] or 0), **_set(item)) for item in base[:4]]
    [symptom] = check(of([*base, *again])).symptoms
    assert symptom.name == REGRESSION
    assert "4 of 4" in symptom.cause


def test_going_on_and_slow_ones_take_too_long() -> None:
    base = healthy()
    assert names([*base, *(ran(1.05, a=k, b=100 + k) for k in range(40))]) == [TOO_LONG]
    slow = [ran(item.values[0] or 0, 100.0 if k == 3 else 1.0, **_set(item)) for k, item in enumerate(base)]
    [symptom] = check(of(slow)).symptoms
    assert symptom.name == TOO_LONG
    assert "timeout_s" in symptom.remedy
    assert symptom.evaluations == (3,)


def test_nothing_that_ran_is_no_crash() -> None:
    assert names([failed("out of memory", a=k) for k in range(3)]) == [OUT_OF_MEMORY]
    assert check(of([])).symptoms == ()


rows = st.lists(
    st.one_of(
        st.builds(lambda v, a: ran(v, a=a), st.floats(0.1, 10), st.integers(0, 5)),
        st.builds(lambda a: failed("out of memory", a=a), st.integers(0, 5)),
    ),
    max_size=40,
)


@given(rows, st.floats(1e-6, 1e6))
def test_the_unit_of_the_objective_changes_no_diagnosis(evaluations: list[Evaluation], factor: float) -> None:
    scaled = [
        Evaluation(
            configuration=item.configuration, values=(factor * (item.values[0] or 0),), cost_s=item.cost_s
        )
        if item.ok
        else item
        for item in evaluations
    ]
    assert names(scaled) == names(evaluations)
