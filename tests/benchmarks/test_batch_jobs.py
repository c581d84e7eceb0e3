"""The batch workload is the paper's, in any year: its counts, its lengths, its deadlines."""

from datetime import UTC, datetime

import numpy as np
import pytest

from benchmarks.green.batch_jobs import JOBS, BatchJob, batch_jobs
from benchmarks.green.green_backtest import slots_of, whole_years
from recommender.green.history import DAY
from recommender.green.series import IntensitySeries


@pytest.fixture(scope="module", params=[2020, 2023])
def drawn(request: pytest.FixtureRequest) -> tuple[int, list[BatchJob]]:
    """The weekday of the year's first day, and the jobs."""
    year = int(request.param)
    return datetime(year, 1, 1).weekday(), batch_jobs(np.random.default_rng(0), year)


def test_all_jobs_are_submitted_on_workdays_in_office_hours(drawn: tuple[int, list[BatchJob]]) -> None:
    first, jobs = drawn
    assert len(jobs) == JOBS == 3387
    for job in jobs:
        day, slot = divmod(job.arrival, 48)
        assert (first + day) % 7 < 5
        assert 18 <= slot < 34
        assert 8 <= job.length < 180


def test_deadlines_are_where_the_paper_has_them(drawn: tuple[int, list[BatchJob]]) -> None:
    first, jobs = drawn
    for job in jobs:
        end = job.arrival + job.length
        assert end <= job.next_workday <= end + 4 * 48
        assert end <= job.semi_weekly
        day, slot = divmod(job.semi_weekly, 48)
        assert ((first + day) % 7, slot) in {(0, 18), (3, 18)}


@pytest.mark.parametrize(
    ("start", "days", "years"),
    [
        (datetime(2019, 12, 20), 12 + 366, [2020]),  # a leap year to its last slot
        (datetime(2019, 12, 20), 12 + 365, []),
        (datetime(2020, 1, 1), 366 + 365, [2021]),  # nothing before the first
        (datetime(2020, 6, 1), 3 * 365, [2021, 2022]),
    ],
)
def test_each_whole_year_of_a_series_is_a_run(start: datetime, days: int, years: list[int]) -> None:
    values = np.ones(days * DAY)
    series = IntensitySeries(
        region="XX", start=start.replace(tzinfo=UTC), values=values, is_filled=values < 0, kind="average"
    )
    assert whole_years(series) == years
    for year in years:
        first, over = slots_of(series, year)
        assert over - first == (datetime(year + 1, 1, 1) - datetime(year, 1, 1)).days * DAY
