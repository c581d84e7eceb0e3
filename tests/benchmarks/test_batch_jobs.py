"""The batch workload is the paper's: its counts, its lengths, its deadlines."""

import numpy as np

from benchmarks.green.batch_jobs import JOBS, YEAR_START, batch_jobs

JOBS_DRAWN = batch_jobs(np.random.default_rng(0))


def test_all_jobs_are_submitted_on_workdays_in_office_hours() -> None:
    assert len(JOBS_DRAWN) == JOBS == 3387
    for job in JOBS_DRAWN:
        day, slot = divmod(job.arrival, 48)
        assert (YEAR_START.weekday() + day) % 7 < 5
        assert 18 <= slot < 34
        assert 8 <= job.length < 180


def test_deadlines_are_where_the_paper_has_them() -> None:
    for job in JOBS_DRAWN:
        end = job.arrival + job.length
        assert end <= job.next_workday <= end + 4 * 48
        assert end <= job.semi_weekly
        day, slot = divmod(job.semi_weekly, 48)
        assert ((YEAR_START.weekday() + day) % 7, slot) in {(0, 18), (3, 18)}
