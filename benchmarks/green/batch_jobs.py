"""The batch workload of Let's Wait Awhile (Wiesner et al., Middleware 2021, arXiv 2110.13234): 3,387 jobs of a year.

Drawn as the paper's simulator draws them (generator of numpy; its own seed is 0, its year 2020): submitted on workdays from 9 to 17 h,
4 to 90 h long in steps of 30 minutes. A job has to be done when its user comes back: on the next workday at
9 h where it would end outside working hours, or at the next delivery on Monday or Thursday at 9 h.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta

import numpy as np

JOBS = 3387
SLOT = timedelta(minutes=30)


@dataclass(frozen=True, slots=True)
class BatchJob:
    """A job: slots count from the start of the year."""

    arrival: int
    length: int
    next_workday: int
    semi_weekly: int


def _next_workday(end: datetime) -> datetime:
    nine = end.replace(hour=9, minute=0)
    hour = end.hour + end.minute / 60
    if end.weekday() == 5:
        return nine + timedelta(days=2)
    if end.weekday() == 6 or hour > 17:
        return nine + timedelta(days=1)
    return nine if hour < 9 else end


def _semi_weekly(end: datetime) -> datetime:
    nine = end.replace(hour=9, minute=0)
    for days in range(8):
        delivery = nine + timedelta(days=days)
        if delivery.weekday() in {0, 3} and delivery >= end:
            return delivery
    raise AssertionError("a week has a Monday")


def batch_jobs(rng: np.random.Generator, year: int = 2020, count: int = JOBS) -> list[BatchJob]:
    """The jobs in order of submission."""
    begun, over = datetime(year, 1, 1), datetime(year + 1, 1, 1)
    days = [begun + timedelta(days=number) for number in range((over - begun).days)]
    workdays = [day for day in days if day.weekday() < 5]
    submitted = rng.multinomial(JOBS, [1 / len(workdays)] * len(workdays))
    arrivals = [
        day + timedelta(minutes=int(minute))
        for day, several in zip(workdays, submitted, strict=True)
        for minute in np.sort(rng.choice(range(540, 1020, 30), size=several))
    ]
    lengths = rng.choice(range(240, 5400, 30), size=JOBS)
    jobs = []
    for arrival, minutes in list(zip(arrivals, lengths, strict=True))[:: max(1, JOBS // count)]:
        end = arrival + timedelta(minutes=int(minutes))
        slots = [(moment - begun) // SLOT for moment in (arrival, _next_workday(end), _semi_weekly(end))]
        jobs.append(BatchJob(slots[0], int(minutes) // 30, slots[1], slots[2]))
    return jobs
