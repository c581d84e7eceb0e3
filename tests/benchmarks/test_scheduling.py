"""The cost model's serving load beside a scheduler's table."""

import math

import numpy as np
import pytest

from benchmarks.cost_models.scheduling import (
    GOALS,
    accepted_share,
    closed_form,
    errors_of,
    summary,
)
from tests.unit.tools.oracle.loads import GreedyEngine, load_of
from tools.oracle.engine_fleet import EngineFleet
from tools.oracle.scheduling import TABLE, read_table


def test_one_user_is_composed_as_the_engine_serves_it() -> None:
    load = load_of(context_s=1e-6, async_scheduling=1, host_s=1e-6)
    said = closed_form([load])
    true = EngineFleet(load_of(async_scheduling=1, host_s=1e-6), [GreedyEngine()]).serve()
    context = 110 * 1e-6  # of which the engine above knows nothing
    assert said["tpot_p50"][0] == pytest.approx(true["tpot_p50_s"] + context, rel=1e-3)
    assert said["ttft_p50"][0] == pytest.approx(true["ttft_p50_s"] + 100e-6, rel=1e-3)


def test_a_rate_above_what_can_be_answered_is_infinitely_wrong_in_its_wait_alone() -> None:
    load = load_of(users=0, rate=1e4)
    rows = [(load, dict.fromkeys((column for column, _ in GOALS.values()), 1.0))]
    errors = errors_of(closed_form([load]), rows)
    assert math.isinf(errors["ttft_p50"][0])
    assert math.isfinite(errors["throughput"][0])


def test_the_summary_has_medians_and_shares_within_the_goal() -> None:
    errors = {name: np.array([0.01, 0.05, math.nan, 0.5]) for name in GOALS}
    found = summary(errors, np.array([True, True, True, False]))
    assert found["throughput"] == {"median": 3.0, "p90": 4.6, "within_goal": 0.5}
    assert found["tpot_p99"]["within_goal"] == 1.0


def test_accepted_drafts_are_shares_of_all_that_are_drafted() -> None:
    assert accepted_share((0.8, 0.5)) == pytest.approx((0.8 + 0.4) / 2)
    assert accepted_share(()) == 0.0


@pytest.mark.parametrize(("kinds", "most"), [
    ({"plain", "chunked", "prefix", "drafts"}, (0.05, 0.12, 0.08)), ({"engines", "lockstep"}, (0.08, 0.14, 0.08)),
    ({"preempting"}, (0.25, 0.15, 0.15)),
])  # fmt: skip
def test_loads_are_near_what_the_scheduler_makes_of_them(kinds: set[str], most: tuple[float, ...]) -> None:
    """Answers replay users who wait, requests at a rate, engines in step and full caches."""
    rows = [row for row in read_table(TABLE)[::2] if row[0].kind in kinds]
    errors = errors_of(closed_form([one for one, _ in rows]), rows)
    for name, limit in zip(("ttft_p50", "ttft_p99", "tpot_p99"), most, strict=True):
        assert np.nanmedian(errors[name]) < limit, name
    assert np.nanmedian(errors["throughput"]) < 0.1
