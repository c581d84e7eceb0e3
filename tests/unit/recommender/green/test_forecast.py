"""Laws of the forecast."""

import numpy as np
import pytest

from recommender.green.coefficients import NeighbourRegion
from recommender.green.forecast import forecast_at, learn, padded, rolling
from recommender.green.history import DAY, IntensityHistory
from tests.unit.recommender.green.grids import START, grid_values

LOCAL = START.replace(tzinfo=None)
VALUES = grid_values(60)


def test_nothing_after_an_origin_moves_its_forecast() -> None:
    poisoned = VALUES.copy()
    poisoned[40 * DAY :] = np.nan
    t = np.array([40 * DAY])
    clean, dirty = IntensityHistory(VALUES, LOCAL), IntensityHistory(poisoned, LOCAL)
    coefficients = learn(clean, 40 * DAY)
    assert np.array_equal(learn(dirty, 40 * DAY).values, coefficients.values)
    assert np.array_equal(forecast_at(clean, t, coefficients), forecast_at(dirty, t, coefficients))


def test_rolling_forecasts_are_those_made_at_the_time() -> None:
    history = IntensityHistory(VALUES, LOCAL)
    [(t, ahead)] = list(rolling(history, 45 * DAY, 46 * DAY))
    assert t.tolist() == list(range(45 * DAY, 46 * DAY))
    again = forecast_at(history, t[:1], learn(history, 45 * DAY))
    assert np.allclose(ahead[:1], again)


def test_a_forecast_is_better_than_the_daily_profile() -> None:
    values = grid_values(200)
    history = IntensityHistory(values, LOCAL)
    t = np.arange(60 * DAY, 198 * DAY, 47)
    ahead = forecast_at(history, t, learn(history, 60 * DAY))
    truth = values[t[:, None] + np.arange(DAY)]
    profile = np.stack([history.daily(t, t + h, 28) for h in range(DAY)], axis=1)
    assert np.abs(ahead[:, :DAY] - truth).mean() < 0.9 * np.abs(profile - truth).mean()


@pytest.mark.long
def test_a_neighbour_teaches_and_its_weeks_around_the_target_do_not() -> None:
    history = IntensityHistory(VALUES, LOCAL)
    other_values = grid_values(90, seed=1)
    plain = next(iter(rolling(history, 45 * DAY, 46 * DAY)))[1]
    with_other = next(
        iter(
            rolling(history, 45 * DAY, 46 * DAY, [NeighbourRegion(IntensityHistory(other_values, LOCAL), 0)])
        )
    )[1]
    assert not np.allclose(plain, with_other)
    changed = other_values.copy()
    changed[40 * DAY : 50 * DAY] *= 3  # near the target: its rows are left out
    blocked = next(
        iter(rolling(history, 45 * DAY, 46 * DAY, [NeighbourRegion(IntensityHistory(changed, LOCAL), 0)]))
    )[1]
    far = np.abs(blocked / with_other - 1).max()
    assert far < 0.05


@pytest.mark.parametrize("days", [1, 3, 7, 8])
def test_a_short_series_is_continued_backwards_by_its_own_days(days: int) -> None:
    values, before = padded(VALUES[: days * DAY + 5])
    assert before % DAY == 0
    assert np.array_equal(values[before:], VALUES[: days * DAY + 5])
    ahead = forecast_at(
        IntensityHistory(values, LOCAL),
        np.array([len(values)]),
        learn(IntensityHistory(VALUES, LOCAL), 40 * DAY),
    )
    assert np.isfinite(ahead).all()


def test_less_than_a_day_is_refused() -> None:
    with pytest.raises(ValueError, match="less than a day"):
        padded(VALUES[:40])
