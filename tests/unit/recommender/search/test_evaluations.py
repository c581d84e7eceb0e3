"""Evaluations say how well their mean is known."""

import math

import pytest
from scipy import stats

from kg.nouns.values import Settings
from recommender.search.evaluations import Evaluation, half_width


@pytest.mark.parametrize("n", [2, 3, 5, 10])
def test_few_repeats_say_little(n: int) -> None:
    assert half_width(1.0, n) == pytest.approx(stats.t.ppf(0.95, n - 1) / math.sqrt(n), rel=2e-3)


def test_an_evaluation_of_one_run_has_no_interval() -> None:
    once = Evaluation(configuration=Settings(), values=(2.0,), stdev=(0.1,))
    often = Evaluation(configuration=Settings(), values=(2.0,), stdev=(0.1,), repeats=3)
    assert once.half_width is None
    assert often.half_width == half_width(0.1, 3)
