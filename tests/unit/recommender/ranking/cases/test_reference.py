"""Medians, with an even and an odd number of values."""

import statistics

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from recommender.ranking.cases.reference import median


@given(st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=9))
def test_the_median_is_that_of_the_library(values: list[float]) -> None:
    assert median(np.array(values)) == pytest.approx(statistics.median(values))
