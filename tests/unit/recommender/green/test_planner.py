"""Plans: laws, and the reasons for running at once."""

from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

import numpy as np
import pytest

from kg.errors import InfeasibleError
from recommender.green.history import DAY, Floats
from recommender.green.outlook import GridOutlook, outlook
from recommender.green.plan import GreenJob
from recommender.green.planner import make_plan
from recommender.green.promises import promise_record
from recommender.green.published import PublishedForecast
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


CLEAN = timedelta(hours=20)
"""Hour of the day from which it is clean for half an hour, and for two hours."""


def seen(now: datetime, hours: float = 0.5, clean: float = 50.0) -> GridOutlook:
    """Half hours of 400 g/kWh but for the clean ones at 20 o'clock, from the slot of ``now`` on."""
    first = now.replace(minute=now.minute // 30 * 30, second=0)
    slots = [first + timedelta(minutes=30 * slot) for slot in range(96)]
    is_clean = [
        CLEAN <= timedelta(hours=slot.hour, minutes=slot.minute) < CLEAN + timedelta(hours=hours)
        for slot in slots
    ]
    return GridOutlook(g_per_kwh=np.where(is_clean, clean, 400.0), variation=0.2, basis="made up")


@pytest.mark.parametrize("minute", [0, 1, 15, 29, 30, 59])
@pytest.mark.parametrize("can_split", [False, True])
def test_a_plan_takes_the_clean_half_hour_whole_at_any_minute(minute: int, can_split: bool) -> None:
    now = START + timedelta(hours=10, minutes=minute, seconds=7 if minute else 0)
    wanted = GreenJob(duration_s=1800, deadline=now + timedelta(hours=16), can_split=can_split)
    made = make_plan(wanted, seen(now), now, region="XX")
    assert made.pieces == ((START + CLEAN, START + CLEAN + timedelta(minutes=30)),)
    assert made.planned_g_per_kwh == pytest.approx(50)
    assert made.once_g_per_kwh == pytest.approx(400)


def test_at_once_is_priced_by_the_slots_that_it_shares() -> None:
    now = START + CLEAN + timedelta(minutes=20)
    wanted = GreenJob(duration_s=1800, deadline=now + timedelta(hours=4))
    made = make_plan(wanted, seen(now), now, region="XX")
    assert made.once_g_per_kwh == pytest.approx((10 * 50 + 20 * 400) / 30)


def test_work_that_a_restart_costs_again_is_in_the_plan() -> None:
    """Clean now for one hour and at 20 o'clock for two: the second piece is longer by the restart."""
    now = START + timedelta(hours=10)
    price = np.full(96, 400.0)
    price[:2] = price[20:24] = 50.0
    price[24:26] = 300.0
    outlook_ = GridOutlook(g_per_kwh=price, variation=0.2, basis="made up")
    wanted = GreenJob(
        duration_s=3 * 3600,
        deadline=now + timedelta(hours=24),
        can_split=True,
        least_run_s=3600,
        restart_s=1200,
    )
    made = make_plan(wanted, outlook_, now, region="XX")
    lasts = [end - begin for begin, end in made.pieces]
    assert lasts == [timedelta(hours=1), timedelta(hours=2, minutes=20)]
    assert made.pieces[-1][1] <= wanted.deadline


def test_a_restart_needs_room_before_the_deadline() -> None:
    now = START + timedelta(hours=10)
    price = np.full(96, 400.0)
    price[:2] = price[20:22] = 50.0
    outlook_ = GridOutlook(g_per_kwh=price, variation=0.2, basis="made up")
    tight = GreenJob(duration_s=2 * 3600, deadline=now + timedelta(hours=11), can_split=True, restart_s=1200)
    made = make_plan(tight, outlook_, now, region="XX")
    assert made.pieces[-1][1] <= tight.deadline


def test_a_running_job_pauses_only_for_more_than_its_restart() -> None:
    now = START + timedelta(hours=10)
    price = np.full(96, 100.0)
    price[2:] = 95.0
    outlook_ = GridOutlook(g_per_kwh=price, variation=0.01, basis="made up")
    wanted = GreenJob(duration_s=3600, deadline=now + timedelta(hours=20), can_split=True, restart_s=1800)
    assert make_plan(wanted, outlook_, now, region="XX").waits
    assert not make_plan(wanted, outlook_, now, region="XX", is_running=True).waits


def test_a_plan_made_once_promises_what_such_plans_keep() -> None:
    expected = outlook(grid(VALUES), NOW)
    once = make_plan(job(8, 48), expected, NOW, region="XX")
    again = make_plan(job(8, 48), expected, NOW, region="XX", will_replan=True)
    assert once.pieces == again.pieces
    record = {
        will: promise_record(can_split=False, will_replan=will, length=16, slack=80) for will in (False, True)
    }
    assert once.saving / again.saving == pytest.approx(record[False].kept / record[True].kept)


def test_a_fresh_published_forecast_counts_where_there_is_no_history() -> None:
    times: Floats = NOW.timestamp() + 1800.0 * np.arange(
        1.0, 41.0, dtype=np.float64
    )  # the first slot is left out
    theirs = PublishedForecast(np.full(40, NOW.timestamp()), times, np.linspace(400, 10, 40))
    for series in (None, grid(VALUES[:20], NOW - timedelta(hours=10)), grid(VALUES[: 10 * DAY])):
        found = outlook(series, NOW, published=theirs)
        assert found.g_per_kwh[1:].tolist() == theirs.g_per_kwh.tolist()
        assert found.g_per_kwh[0] == found.g_per_kwh[1]
        assert found.variation > 0
        assert not found.is_modelled.any()
    stale = outlook(grid(VALUES[: 46 * DAY]), NOW, published=theirs)
    assert stale.g_per_kwh[1:41].tolist() == theirs.g_per_kwh.tolist()


def test_it_waits_with_no_greater_chance_to_end_dirtier_than_the_job_takes() -> None:
    wanted, seen = job(8, 48), outlook(grid(VALUES), NOW)
    chance = make_plan(wanted, seen, NOW, region="XX").chance_dirtier
    assert 0 < chance < 0.5
    assert make_plan(replace(wanted, caution=chance), seen, NOW, region="XX").waits
    careful = make_plan(replace(wanted, caution=chance - 0.01), seen, NOW, region="XX")
    assert not careful.waits
    assert f"a chance of {chance:.0%} to end dirtier" in careful.reason
