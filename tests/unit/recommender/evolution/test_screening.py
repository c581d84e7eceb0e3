"""Hypotheses held against the cost model."""

import pytest

from recommender.evolution.screening import Screening


@pytest.mark.parametrize(
    ("gain", "fits", "is_dropped"),
    [
        (-0.019, True, False),  # less than two estimates of one step differ by
        (-0.021, True, True),
        (0.5, True, False),
        (0.5, False, True),
        (None, None, False),
        (-0.3, None, True),
    ],
)
def test_what_loses_two_per_cent_or_does_not_fit_is_not_worth_a_test(
    gain: float | None, fits: bool | None, is_dropped: bool
) -> None:
    assert Screening(gain=gain, fits=fits).is_dropped is is_dropped
