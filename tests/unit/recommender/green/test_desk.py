"""Intervals are of our own forecast, at the horizon at which it was made."""

from datetime import timedelta

import numpy as np
import pytest

from recommender.green.desk import recent_errors
from recommender.green.history import DAY, HORIZON, Floats
from recommender.green.outlook import outlook
from recommender.green.published import PublishedForecast
from recommender.green.shelf import StoredRegion
from tests.unit.recommender.green.grids import START, grid, grid_values

VALUES = grid_values(45)
NOW = START + timedelta(days=45)
STORED = StoredRegion(series=grid(VALUES))


@pytest.mark.long
def test_a_late_series_is_as_unsure_as_its_age() -> None:
    """Hour for hour the interval is that of the forecast made when the series ended."""
    fresh = outlook(STORED.series, NOW)
    low, high, _ = recent_errors(STORED, fresh, NOW)
    late_h = 40
    later = NOW + timedelta(hours=late_h)
    late = outlook(STORED.series, later)
    late_low, late_high, _ = recent_errors(STORED, late, later)
    assert late_low == pytest.approx(low[2 * late_h :])
    assert late_high == pytest.approx(high[2 * late_h :])


def test_there_are_none_around_what_is_not_ours() -> None:
    times: Floats = NOW.timestamp() + 1800.0 * np.arange(DAY, dtype=np.float64)
    theirs = PublishedForecast(np.full(DAY, NOW.timestamp()), times, np.full(DAY, 200.0))
    mixed = outlook(STORED.series, NOW, published=theirs)
    low, high, score = recent_errors(STORED, mixed, NOW)
    assert np.isnan(low[:DAY]).all()
    assert np.isnan(high[:DAY]).all()
    assert not np.isnan(low[DAY:HORIZON]).any()
    assert score
    later = NOW + timedelta(days=5)
    low, _, score = recent_errors(STORED, outlook(STORED.series, later), later)
    assert (len(low), score) == (0, {})
