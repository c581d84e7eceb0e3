"""Stalls and warm-up among the steps of a rank."""

import numpy as np
import pytest

from recommender.diagnosis.ledger.accounts import Account, RankLedger, RunLedger
from recommender.diagnosis.ledger.unusual_steps import unusual_steps

WORK, GAP = Account("computing", "MatMul", "computing"), Account("free", "gap", "host")


def run(*free_us: float) -> RunLedger:
    table = np.array([(1000.0 + number % 2, us) for number, us in enumerate(free_us)])
    names = tuple(map(str, range(len(free_us))))
    return RunLedger(
        ranks=(
            RankLedger(
                rank=3, name="3", stage=None, steps=names, step_us=table.sum(axis=1), accounts=(WORK, GAP),
                time_us=table,
            ),
        )
    )  # fmt: skip


def test_a_stall_in_some_steps_is_named_with_what_grew() -> None:
    [found] = unusual_steps(run(10, 12, 600, 11, 10, 590))
    assert found.steps == ("2", "5")
    assert (found.of, found.is_warm_up, found.rank) == (6, False, 3)
    assert found.account == GAP
    assert found.account_us == pytest.approx(600 + 590 - 2 * 10.5, rel=0.01)
    assert found.share == pytest.approx(found.excess_us / (6003 + 1233), rel=0.01)


def test_a_long_first_step_is_the_warm_up() -> None:
    [found] = unusual_steps(run(900, 10, 11, 12, 10))
    assert found.is_warm_up


@pytest.mark.parametrize("free", [(10, 12, 30, 11, 10), (10, 600)])
def test_ordinary_spread_and_too_few_steps_are_nothing(free: tuple[float, ...]) -> None:
    assert unusual_steps(run(*free)) == []


@pytest.mark.parametrize(
    ("free", "course", "steps"),
    [
        ([10, 400] * 5, "every 2nd", ("1", "3", "5", "7", "9")),
        ([10, 11, 12, 10, 500, 510, 505, 500], "since step 4", ("4", "5", "6", "7")),
        ([100 * number for number in range(10)], "growing", ("5", "6", "7", "8", "9")),
    ],
)
def test_a_course_over_time_is_told(free: list[float], course: str, steps: tuple[str, ...]) -> None:
    """The spread grows with such a fault, so that no step stands out by it."""
    [found] = unusual_steps(run(*free))
    assert (found.course, found.steps, found.account) == (course, steps, GAP)
