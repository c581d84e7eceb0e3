"""Evaluations, by configuration."""

import pytest

from kg.errors import InputError
from kg.nouns.entities import Better, Limit, Objective, Status
from kg.nouns.values import Settings
from recommender.search.engine.tally import Tally
from recommender.search.evaluations import Evaluation, cost_of, value_of

RATE = Objective(metric="throughput", better=Better.HIGHER)
MEMORY = Limit(metric="memory", maximum=5.0, unit="B")


def told(row: int, *values: float | None, repeats: int = 1) -> Evaluation:
    return Evaluation(configuration=Settings({"n": row}), values=values, repeats=repeats)


def test_a_limit_that_is_broken_or_unknown_is_not_kept() -> None:
    tally = Tally(objectives=(RATE,), limits=(MEMORY,))
    for row, memory in enumerate((6.0, None, 5.0)):
        tally.add(told(row, 10.0 - row, memory), row)
    assert tally.incumbent is not None
    assert tally.incumbent.configuration["n"] == 2


def test_repeats_are_averaged_by_their_number() -> None:
    tally = Tally(objectives=(RATE,), limits=())
    tally.add(told(0, 1.0, repeats=3), 0)
    tally.add(told(0, 16.0), 0)
    assert tally.incumbent is not None
    assert tally.incumbent.values[0] == pytest.approx(2.0)
    assert tally.incumbent.repeats == 4
    assert tally.idle == 0


def test_what_failed_once_is_not_the_best() -> None:
    tally = Tally(objectives=(RATE,), limits=())
    tally.add(told(0, 9.0), 0)
    tally.add(told(1, 3.0), 1)
    failed = Evaluation(configuration=Settings({"n": 0}), values=(None,), status=Status.FAILED)
    tally.add(failed, 0)
    assert tally.incumbent is not None
    assert tally.incumbent.values == (3.0,)
    assert tally.finalists(5) == [1]


def test_finalists_are_the_best_that_keep_the_limits_least_measured_first() -> None:
    tally = Tally(objectives=(RATE,), limits=(MEMORY,))
    for row, (rate, memory, repeats) in enumerate(
        ((9.0, 4.0, 3), (8.0, 4.0, 1), (7.0, 4.0, 1), (10.0, 6.0, 1), (1.0, 4.0, 1))
    ):
        tally.add(told(row, rate, memory, repeats=repeats), row)
    assert tally.finalists(3) == [1, 2, 0]


def test_costs_go_there_and_back() -> None:
    assert value_of(cost_of(3.0, RATE), RATE) == pytest.approx(3.0)
    assert cost_of(4.0, RATE) < cost_of(3.0, RATE)


@pytest.mark.parametrize(
    "wrong",
    [
        {"values": (float("nan"),)},
        {"values": (None,)},
        {"values": (1.0,), "status": Status.FAILED},
        {"values": (1.0,), "repeats": 0},
    ],
)
def test_what_is_no_evaluation_is_refused(wrong: dict[str, object]) -> None:
    with pytest.raises(InputError):
        Evaluation(configuration=Settings({}), **wrong)  # type: ignore[arg-type]


def test_of_those_measured_again_one_is_the_best_not_one_that_ran_once() -> None:
    tally = Tally(objectives=(RATE,), limits=())
    for row, rate in enumerate((10.0, 9.0, 8.0)):
        tally.add(told(row, rate), row)
    tally.add(told(0, 6.0), 0)
    assert tally.incumbent is not None
    assert tally.incumbent.configuration["n"] == 1  # one alone was measured again
    tally.add(told(1, 6.0), 1)
    assert tally.incumbent.configuration["n"] == 0
