"""Scales and numbers of charts."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recommender.report.scales import Scale, between, hours, number, percent, quantity, times

FINITE = st.floats(min_value=-1e12, max_value=1e12, allow_nan=False, allow_subnormal=False)


@given(st.lists(FINITE, max_size=20), st.booleans())
def test_places_stay_in_the_scale_and_ticks_are_few(values: list[float], is_log: bool) -> None:
    scale = Scale.over(values, 10, 110, is_log=is_log)
    assert scale.low < scale.high
    for value in (*values, math.inf, -math.inf, math.nan):
        if not is_log or value > 0 or math.isnan(value):
            assert 10 <= scale(value) <= 110
    ticks = scale.ticks()
    assert len(ticks) <= 13
    assert ticks == sorted(set(ticks))


def test_hours_are_full_across_a_clock_change() -> None:
    found = hours(1_774_600_000, 1_774_600_000 + 7 * 86_400)
    assert all(at % 3600 == 0 for at in found)
    assert 5 <= len(found) <= 9
    assert found[-1] > found[-2] > 1_774_600_000 + 7 * 86_400 - 2 * (found[1] - found[0])


@pytest.mark.parametrize(
    ("value", "text"),
    [(0, "0"), (1234.5678, "1,235"), (0.00012346, "0.0001235"), (-3, "−3"), (1e12, "1.000e12"), (None, ""), (math.nan, "–"),
     (math.inf, "–"), (True, "True"), ("text", "text")],
)  # fmt: skip
def test_numbers_are_short(value: object, text: str) -> None:
    assert number(value) == text


@pytest.mark.parametrize(
    ("value", "unit", "text"),
    [(0.0123, "s", "12.3 ms"), (3.2e9, "B", "3.2 GB"), (0.005, "1", "0.5 %"), (14.2, "kWh", "14.2 kWh"), (0.0, "s", "0 s"),
     (5, None, "5"), (math.nan, "s", "–")],
)  # fmt: skip
def test_quantities_carry_their_unit(value: float, unit: str | None, text: str) -> None:
    assert quantity(value, unit).replace("\u00a0", " ") == text


def test_shares_and_factors() -> None:
    assert percent(0.314).replace("\u00a0", " ") == "31 %"
    assert percent(-1e-9).replace("\u00a0", " ") == "0 %"
    assert times(1.2345) == "1.23x"
    assert percent(None) == times(None) == ""
    assert between(0.01, 0.02, "s").replace("\u00a0", " ") == "10 ms – 20 ms"
    assert between(1, 2, "tokens/s").replace("\u00a0", " ") == "1 – 2 tokens/s"
