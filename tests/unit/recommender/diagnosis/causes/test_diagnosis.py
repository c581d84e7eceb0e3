"""The confidence that a cause is the reason grows with its part of what all repairs save."""

import pytest

from recommender.diagnosis.diagnosis import MOST, confidence_of, parts


def test_parts_add_up() -> None:
    assert parts([300.0, 100.0]) == (0.75, 0.25)
    assert parts([0.0, 0.0]) == (0.0, 0.0)
    assert parts([]) == ()


def test_one_cause_is_nearly_sure_and_three_alike_are_not() -> None:
    assert confidence_of(1.0) == MOST
    assert confidence_of(0.5) == pytest.approx(0.5)
    assert confidence_of(1 / 3) < 0.2
    values = [confidence_of(part / 20) for part in range(21)]
    assert values == sorted(values)


def test_no_two_are_both_likely() -> None:
    for part in (0.5, 0.6, 0.7, 0.8, 0.9):
        assert confidence_of(part) + confidence_of(1 - part) <= 1 + 1e-12
