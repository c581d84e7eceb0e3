"""Gains as normal distributions."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kg.nouns.gain import Gain, joined_gain


def test_an_opinion_beside_none_stays() -> None:
    one = Gain.around(0.1, 0.2)
    assert joined_gain(one, None) == one == joined_gain(None, one)
    assert joined_gain(None, None) is None


def test_the_wider_opinion_counts_less() -> None:
    gain = joined_gain(Gain.around(0.0, 0.1), Gain.around(0.5, 0.2))
    assert gain is not None
    assert gain.expected == pytest.approx(0.1)


@given(st.floats(-2, 2), st.floats(0.01, 1), st.floats(0, 1))
def test_what_acts_on_a_part_of_the_time_gains_at_most_that_part(
    log: float, spread: float, share: float
) -> None:
    gain = Gain.around(log, spread)
    part = gain.of_part(share)
    assert part.low <= part.expected <= part.high
    assert abs(part.expected) <= abs(log) + 1e-9
    if share < 1:
        assert part.high <= -math.log(1 - share) + 1e-9
    assert gain.of_part(1.0).expected == pytest.approx(log)
    assert gain.of_part(0.0).high == 0.0
