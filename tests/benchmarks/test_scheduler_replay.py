"""Loads replayed: by hand where one request runs alone, else beside the engine's own scheduler."""

from itertools import cycle

import numpy as np
import pytest

from benchmarks.scheduler.load import Floats, LoopSettings
from benchmarks.scheduler.replay import replay
from tests.benchmarks.test_scheduler_engine import Asked, settings_of

ASKED = Asked(100, 20, gap=1.0)


def step_time(tokens: float, context: Floats, pairs: float) -> Floats:
    return 0.01 + 1e-4 * tokens + 1e-6 * context + 1e-7 * pairs


def serve(*asked: Asked, **changes: object) -> dict[str, float]:
    return replay(settings_of(measured=20, warm=4, **changes), cycle(asked or [ASKED]), step_time)


def test_one_user_waits_for_its_own_steps_alone() -> None:
    figures = serve(host_s=0.002)
    prefill = 0.002 + 0.01 + 0.01 + 1e-4 + 1e-7 * 5000
    decodes = [0.002 + 0.01 + 1e-4 + 1e-6 * context for context in range(101, 120)]
    assert figures["ttft_p50"] == pytest.approx(prefill)
    assert figures["tpot_p99"] == pytest.approx(np.mean(decodes))
    assert figures["throughput"] == pytest.approx(20 / (prefill + sum(decodes)))


def test_steps_taken_together_are_the_same_as_one_after_the_other(monkeypatch: pytest.MonkeyPatch) -> None:
    from benchmarks.scheduler.engine import LoopEngine

    loads = [
        {"users": 3, "async_scheduling": one, "engines": many, "lockstep": bound}
        for one in (False, True)
        for many, bound in ((1, False), (2, False), (2, True))
    ] + [{"users": 0, "async_scheduling": True}, {"users": 0}]
    asked = Asked(100, 60, gap=0.3)
    together = [serve(asked, **load) for load in loads]
    plan = LoopEngine.plan

    def one_step(engine: LoopEngine) -> object:
        planned = plan(engine)
        planned.steps = 1
        return planned

    monkeypatch.setattr(LoopEngine, "plan", one_step)
    for load, figures in zip(loads, together, strict=True):
        assert serve(asked, **load) == pytest.approx(figures), load


def test_a_rate_is_served_as_it_comes_and_the_host_hides_behind_steps() -> None:
    figures = serve(users=0, host_s=0.002)
    assert figures["throughput"] == pytest.approx(20, rel=0.05)
    hidden = serve(users=0, host_s=0.002, async_scheduling=True)
    assert hidden["tpot_p50"] == pytest.approx(figures["tpot_p50"] - 0.002, rel=0.01)


def test_engines_in_step_wait_for_the_longest() -> None:
    asked = [Asked(100, 20 + 7 * place) for place in range(5)]
    free, bound = (serve(*asked, users=8, engines=4, lockstep=one) for one in (False, True))
    assert bound["tpot_p50"] > 1.05 * free["tpot_p50"]
    assert free["throughput"] > 1.02 * bound["throughput"]


def test_blocks_that_run_out_cost_throughput() -> None:
    many, few = (serve(Asked(64, 200), users=8, blocks=blocks) for blocks in (1000, 60))
    assert not many["preemptions"]
    assert few["preemptions"] > 5
    assert few["throughput"] < 0.8 * many["throughput"]


def test_settings_are_said_by_name() -> None:
    assert settings_of(seats=3) == LoopSettings(users=1, warm=0, measured=1, seats=3, room=256, blocks=101)
