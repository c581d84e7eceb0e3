"""Failures: an arm that fails more is told from one that does not, and equal arms are not."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from recommender.experiment.comparison import ArmFailures
from recommender.experiment.verdict import Verdict

ROUNDS = st.lists(st.tuples(st.booleans(), st.booleans()), max_size=60)


@pytest.mark.parametrize(("alpha", "rounds"), [(0.05, 7), (0.01, 10)])
def test_a_treatment_that_always_fails_is_found_out(alpha: float, rounds: int) -> None:
    assert ArmFailures.of([(True, False)] * rounds, alpha).verdict is Verdict.WORSE
    assert ArmFailures.of([(True, False)] * 5, alpha).verdict is Verdict.UNDECIDED
    assert ArmFailures.of([(False, True)] * rounds, alpha).verdict is Verdict.BETTER


def test_equal_arms_that_fail_are_not_accused() -> None:
    """1,000 tests of 200 rounds, watched: the standard error of 5 % is 0.7 points."""
    rng = np.random.default_rng(1)
    accused = 0
    for _ in range(1000):
        rounds = rng.random((200, 2)) < 0.3
        accused += ArmFailures.of(map(tuple, rounds.tolist()), 0.05).verdict is not Verdict.UNDECIDED
    assert accused <= 71


@given(ROUNDS)
def test_rounds_in_which_both_or_none_fail_say_nothing(rounds: list[tuple[bool, bool]]) -> None:
    telling = [item for item in rounds if item[0] != item[1]]
    one, other = ArmFailures.of(rounds, 0.05), ArmFailures.of(telling, 0.05)
    assert (one.p, one.verdict) == (other.p, other.verdict)
    assert one.both == rounds.count((True, True))
    flipped = ArmFailures.of([(b, a) for a, b in rounds], 0.05)
    assert (flipped.p, flipped.treatment) == (one.p, one.control)
