"""Planning anew: with the perfect forecast it is the perfect plan."""

import numpy as np
import pytest

from recommender.green.backtest import ForecastTable, backtest, simulate
from recommender.green.history import DAY, HORIZON, IntensityHistory
from tests.unit.recommender.green.grids import START, grid, grid_values

VALUES = grid_values(40)
FIRST = 20 * DAY


@pytest.fixture(scope="module")
def perfect() -> ForecastTable:
    windows = np.lib.stride_tricks.sliding_window_view(VALUES, HORIZON)
    return ForecastTable(FIRST, windows[FIRST:].astype(np.float64))


@pytest.fixture(scope="module")
def ours() -> ForecastTable:
    return ForecastTable.rolling(IntensityHistory(VALUES, START.replace(tzinfo=None)), FIRST, 30 * DAY)


@pytest.mark.parametrize("can_split", [False, True])
def test_replanned_with_the_perfect_forecast_is_perfect(perfect: ForecastTable, can_split: bool) -> None:
    for arrival in range(FIRST, FIRST + 3 * DAY, 17):
        run = simulate(VALUES, perfect, arrival, 9, arrival + 60, can_split=can_split)
        assert run.saving(run.replanned) == pytest.approx(1 - run.perfect / run.at_once)
        assert run.saving(run.once) == pytest.approx(run.saving(run.replanned))
        assert run.promised == pytest.approx(run.saving(run.once))


@pytest.mark.parametrize("can_split", [False, True])
def test_no_plan_beats_the_perfect_one(ours: ForecastTable, can_split: bool) -> None:
    for arrival in range(FIRST, FIRST + 8 * DAY, 13):
        run = simulate(VALUES, ours, arrival, 12, arrival + 60, can_split=can_split)
        best = 1 - run.perfect / run.at_once
        assert run.saving(run.once) <= best + 1e-12
        assert run.saving(run.replanned) <= best + 1e-12


def test_pieces_and_later_deadlines_save_no_less_with_the_perfect_forecast(perfect: ForecastTable) -> None:
    for arrival in range(FIRST, FIRST + 3 * DAY, 17):
        whole = simulate(VALUES, perfect, arrival, 9, arrival + 60, can_split=False)
        split = simulate(VALUES, perfect, arrival, 9, arrival + 60, can_split=True)
        later = simulate(VALUES, perfect, arrival, 9, arrival + 90, can_split=False)
        assert split.perfect <= whole.perfect
        assert later.perfect <= whole.perfect


def test_a_backtest_lies_between_its_bounds(ours: ForecastTable) -> None:
    series = grid(VALUES[: 30 * DAY])
    found = backtest(series, ours, 8, 48, can_split=False)
    assert found.jobs > 20
    assert 0 < found.replanned <= found.perfect
    assert found.floor <= found.perfect
    assert 0 <= found.dirtier <= 100
    assert 0 < found.share_of_perfect <= 100


def test_only_promises_are_held_or_broken() -> None:
    flat = np.full(30 * DAY, 300.0)
    table = ForecastTable(FIRST, np.full((10 * DAY, HORIZON), 300.0))
    found = backtest(grid(flat), table, 8, 48, can_split=False)
    assert (found.held, found.shifted, found.promised, found.promised_once) == (None, 0, 0, 0)
    assert found.to_json()["saved_percent"]


@pytest.mark.long
@pytest.mark.filterwarnings("error")
def test_hours_without_emissions_break_nothing() -> None:
    """Nights of zero: a job that would emit nothing at once counts, and no share of nothing is taken."""
    values = VALUES[: 30 * DAY].copy()
    values[np.arange(len(values)) % DAY < 20] = 0.0
    made = ForecastTable.rolling(IntensityHistory(values, START.replace(tzinfo=None)), FIRST, 25 * DAY)
    for can_split in (False, True):
        found = backtest(grid(values[: 25 * DAY]), made, 8, 48, can_split=can_split)
        assert 0 <= found.replanned <= found.perfect <= 100
    nothing = ForecastTable.rolling(
        IntensityHistory(np.zeros(30 * DAY), START.replace(tzinfo=None)), FIRST, FIRST + 4 * DAY
    )
    dead = backtest(grid(np.zeros(24 * DAY)), nothing, 8, 48, can_split=True)
    assert (dead.perfect, dead.replanned, dead.dirtier) == (0, 0, 0)
