"""Outcomes of waits: what they kept by the series that came later, and what that does to a promise."""

from datetime import timedelta
from pathlib import Path

import numpy as np
import pytest

from recommender.green.history import DAY
from recommender.green.outlook import GridOutlook
from recommender.green.plan import GreenJob
from recommender.green.planner import make_plan
from recommender.green.waiting.outcome import WaitOutcome, WaitRecord, record_of
from tests.unit.recommender.green.grids import START, grid

HALF = timedelta(minutes=30)
VALUES = np.array([400.0, 400, 100, 100, 200, 200] + [300.0] * DAY)


def outcome(*spans: tuple[float, float], promised: float = 0.5) -> WaitOutcome:
    return WaitOutcome(
        region="XX",
        arrived=START + HALF / 2,
        spans=tuple((START + begin * HALF, START + end * HALF) for begin, end in spans),
        promised=promised,
    )


def test_what_was_kept_is_that_of_the_hours_it_ran_in() -> None:
    assert outcome((2, 3)).saving(grid(VALUES)) == pytest.approx(0.75)
    assert outcome((2, 2.5), (4, 4.5)).saving(grid(VALUES)) == pytest.approx(1 - 150 / 400)
    assert outcome((50, 60)).saving(grid(VALUES)) is None  # not come yet
    assert outcome((2, 3)).saving(grid(VALUES, START + timedelta(hours=1))) is None
    assert outcome((2, 3)).saving(grid(0 * VALUES)) is None


def test_the_log_outlives_damage_and_knows_its_region(tmp_path: Path) -> None:
    path = tmp_path / "outcomes.jsonl"
    assert record_of(path, grid(VALUES)).factor == 1
    outcome((2, 3)).append_to(path)
    with path.open("a", encoding="utf-8") as stream:
        stream.write("{\n[]\n")
    outcome((0, 1), promised=0.1).append_to(path)
    found = record_of(path, grid(VALUES))
    assert found.jobs == 2
    assert [found.promised, found.kept] == pytest.approx([0.3, 0.375])
    assert str(found) == "2 waits: 30.0% promised, 37.5% kept on average"


def test_a_grid_that_keeps_half_comes_to_promise_half() -> None:
    few, many = (WaitRecord(jobs=jobs, promised=0.2, kept=0.1) for jobs in (2, 10_000))
    assert 0.9 < few.factor < 1
    assert many.factor == pytest.approx(0.5, abs=0.01)
    assert WaitRecord(jobs=10_000, promised=0.2, kept=-1).factor == pytest.approx(0, abs=0.01)
    price = np.concatenate([np.full(20, 400.0), np.full(40, 100.0)])
    seen = GridOutlook(g_per_kwh=price, variation=0.2, basis="made up")
    job = GreenJob(duration_s=7200, deadline=START + timedelta(hours=24))
    whole = make_plan(job, seen, START, region="XX")
    half = make_plan(job, seen, START, region="XX", kept_here=many.factor)
    assert half.saving == pytest.approx(whole.saving * many.factor)
