"""Plans: laws, and the reasons for running at once."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import numpy as np
import pytest

from kg.errors import InfeasibleError
from recommender.green.history import DAY
from recommender.green.plan import GreenJob
from recommender.green.planner import make_plan, outlook
from tests.unit.recommender.green.grids import START, grid, grid_values

VALUES = grid_values(60)
NOW = START + timedelta(days=50, hours=9)


def job(hours: float = 4, by: float = 24, *, can_split: bool = False) -> GreenJob:
    return GreenJob(duration_s=3600 * hours, deadline=NOW + timedelta(hours=by), can_split=can_split)


def test_it_waits_for_the_clean_hours_and_says_what_that_saves() -> None:
    made = make_plan(job(), outlook(grid(VALUES), NOW), NOW, region="XX")
    assert made.waits
    assert made.start >= NOW
    assert made.pieces[-1][1] <= made.job.deadline
    assert made.pieces[-1][1] - made.start == timedelta(hours=4)
    assert 0 < made.saving < 1
    assert made.saving_low < made.saving < made.saving_high
    assert made.planned_g_per_kwh is not None
    assert made.once_g_per_kwh is not None
    assert made.planned_g_per_kwh < made.once_g_per_kwh


def test_a_flat_grid_starts_now() -> None:
    made = make_plan(job(), outlook(grid(np.full(60 * DAY, 250.0)), NOW), NOW, region="XX")
    assert not made.waits
    assert made.saving == 0
    assert "no worthwhile shift" in made.reason


def test_twice_the_intensity_is_the_same_plan() -> None:
    one = make_plan(job(), outlook(grid(VALUES), NOW), NOW, region="XX")
    two = make_plan(job(), outlook(grid(2 * VALUES), NOW), NOW, region="XX")
    assert two.pieces == one.pieces
    assert two.saving == pytest.approx(one.saving)


def test_pieces_save_no_less_than_a_whole() -> None:
    seen = outlook(grid(VALUES), NOW)
    whole = make_plan(job(8, 48), seen, NOW, region="XX")
    split = make_plan(job(8, 48, can_split=True), seen, NOW, region="XX")
    assert (split.planned_g_per_kwh or 0) <= (whole.planned_g_per_kwh or 0)
    assert sum((end - begin for begin, end in split.pieces), timedelta()) == timedelta(hours=8)


def test_values_after_now_are_not_looked_at() -> None:
    poisoned = VALUES.copy()
    poisoned[50 * DAY + 18 :] = np.nan
    assert np.array_equal(outlook(grid(VALUES), NOW).g_per_kwh, outlook(grid(poisoned), NOW).g_per_kwh)


@pytest.mark.parametrize(
    ("series", "reason"),
    [
        (None, "no series"),
        (grid(VALUES[: DAY // 2], NOW - timedelta(hours=12)), "less than a day"),
        (grid(VALUES[: 10 * DAY]), "40 days ago"),
    ],
)
def test_without_knowledge_it_starts_at_once_and_says_why(series: Any, reason: str) -> None:
    made = make_plan(job(), outlook(series, NOW), NOW, region="XX")
    assert not made.waits
    assert reason in made.reason


def test_a_stale_series_gives_its_profile_alone() -> None:
    seen = outlook(grid(VALUES[: 46 * DAY]), NOW)
    assert "stale" in seen.notes[0]
    assert np.array_equal(seen.g_per_kwh[:DAY], seen.g_per_kwh[DAY : 2 * DAY])


def test_a_short_series_is_said() -> None:
    seen = outlook(grid(VALUES[: 3 * DAY], NOW - timedelta(days=3)), NOW)
    assert len(seen.g_per_kwh)
    assert "3.0 days of history" in seen.notes[0]


def test_a_deadline_before_the_end_of_the_job_names_both() -> None:
    with pytest.raises(InfeasibleError, match=r"8 h does not fit .* 4 h from now"):
        make_plan(job(8, 4), outlook(None, NOW), NOW, region="XX")
    with pytest.raises(InfeasibleError, match="has passed"):
        make_plan(job(1, -1), outlook(None, NOW), NOW, region="XX")


def test_a_deadline_beyond_the_forecast_is_met() -> None:
    made = make_plan(job(4, 24 * 30), outlook(grid(VALUES), NOW), NOW, region="XX")
    assert made.pieces[-1][1] <= NOW + timedelta(days=8)
