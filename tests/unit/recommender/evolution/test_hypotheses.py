"""The value of a test: laws and limits."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kg.nouns.gain import NORMAL_90, Gain
from recommender.evolution.hypotheses import value_of_information

means = st.floats(-1, 1)
widths = st.floats(0.01, 1)


def gain(mean: float, deviation: float) -> Gain:
    reach = NORMAL_90 * deviation
    return Gain(expected=mean, low=mean - reach, high=mean + reach)


@given(means, widths, widths, means)
def test_a_test_is_worth_more_the_less_is_known_and_never_less_than_nothing(
    mean: float, narrow: float, wide: float, best: float
) -> None:
    less, more = sorted((narrow, wide))
    values = [value_of_information(gain(mean, deviation), best) for deviation in (less, more)]
    assert 0 <= values[0] <= values[1] + 1e-12
    assert values[1] <= more  # at most what the better half of the bell holds


def test_what_a_test_is_worth_is_what_drawing_says() -> None:
    draws = np.random.default_rng(0).normal(0.1, 0.2, 400_000)
    assert value_of_information(gain(0.1, 0.2), 0.15) == pytest.approx(
        float(np.maximum(draws, 0.15).mean()) - 0.15, abs=0.001
    )
    assert value_of_information(gain(0.1, 0.0), 0.15) == 0
