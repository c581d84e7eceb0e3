"""Values between two known ones."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recommender.evolution.proposing import value_between


@pytest.mark.parametrize(
    ("low", "high", "middle"),
    [
        (8.0, 64.0, 16), (16.0, 64.0, 32), (16.0, 32.0, None), (1.0, 3.0, 2), (2.0, 3.0, None),
        (3.0, 48.0, 12), (0.0, 10.0, 5), (0.25, 1.0, 0.5), (5.0, 5.0, None), (-1.0, 1.0, 0),
    ],
)  # fmt: skip
def test_a_value_between_two(low: float, high: float, middle: float | None) -> None:
    assert value_between(low, high) == middle


@given(st.integers(1, 10_000), st.integers(1, 10_000))
def test_what_lies_between_lies_between(one: int, other: int) -> None:
    low, high = sorted((one, other))
    middle = value_between(float(low), float(high))
    assert middle is None or low < middle < high
