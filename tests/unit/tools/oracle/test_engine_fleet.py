"""Engines on the simulated clock."""

import io
import json
import sys

import pytest

from tests.unit.tools.oracle.loads import GreedyEngine, load_of
from tools.oracle.engine_fleet import FIGURES, EngineFleet, answer_loads, quantile
from tools.oracle.serving_load import ServingLoad


def serve(load: ServingLoad) -> dict[str, float]:
    return EngineFleet(load, [GreedyEngine() for _ in range(load.engines)]).serve()


def test_one_user_waits_for_its_own_steps_alone() -> None:
    figures = serve(load_of())
    assert tuple(figures) == FIGURES
    prefill, decode = 0.01 + 100 * 1e-4 + 0.002, 0.01 + 1e-4 + 0.002
    assert figures["ttft_p50_s"] == pytest.approx(prefill)
    assert figures["ttft_p99_s"] == pytest.approx(prefill)
    assert figures["tpot_p50_s"] == pytest.approx(decode)
    assert figures["tpot_p99_s"] == pytest.approx(decode)
    assert figures["output_tokens_per_s"] == pytest.approx(20 / (prefill + 19 * decode), rel=0.01)


def test_the_host_hides_behind_the_step_before() -> None:
    waits, hides = (serve(load_of(users=4, async_scheduling=one)) for one in (0, 1))
    assert hides["tpot_p50_s"] < waits["tpot_p50_s"] - 0.001
    slow = serve(load_of(async_scheduling=1, host_s=0.05))
    assert slow["tpot_p50_s"] == pytest.approx(0.05, rel=0.05)  # then the host is the step


def test_requests_come_at_their_rate() -> None:
    figures = serve(load_of(users=0, rate=2.0, requests=60))
    assert figures["output_tokens_per_s"] == pytest.approx(2.0 * 20, rel=0.05)


def test_engines_share_the_users_and_those_in_step_wait_for_the_longest() -> None:
    loads = [load_of(kind=kind, users=8, engines=4, spread=0.5) for kind in ("engines", "lockstep")]
    free, bound = (serve(load) for load in loads)
    alone = serve(load_of(users=2, spread=0.5))
    assert free["output_tokens_per_s"] == pytest.approx(4 * alone["output_tokens_per_s"], rel=0.1)
    assert free["tpot_p50_s"] < 0.95 * bound["tpot_p50_s"]  # a prefill of one holds up all
    assert not free["dummy_steps"]


@pytest.mark.parametrize("async_scheduling", [0, 1])
def test_engines_without_work_run_along_and_all_of_them_rest_and_wake(async_scheduling: int) -> None:
    load = load_of(
        kind="lockstep", users=0, rate=0.5, engines=4, requests=30, async_scheduling=async_scheduling
    )
    figures = serve(load)
    assert figures["dummy_steps"] > figures["steps"]
    assert figures["ttft_p50_s"] == pytest.approx(0.022, rel=0.6)


def test_each_load_is_answered_on_a_line_and_one_that_fails_costs_no_other(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    loads = [load_of(), load_of(engines=0), load_of(users=4)]
    monkeypatch.setattr("sys.stdin", io.StringIO("".join(f"{json.dumps(one.to_row())}\n" for one in loads)))
    monkeypatch.setattr("sys.stdout", sys.stdout)  # which it leaves turned
    answer_loads(lambda _: lambda load: [GreedyEngine() for _ in range(load.engines)])
    first, failed, last = map(json.loads, capsys.readouterr().out.splitlines())
    assert (first, last) == (serve(loads[0]), serve(loads[2]))
    assert set(failed) == {"error"}


def test_a_quantile_lies_between_its_neighbours() -> None:
    assert quantile([1.0, 2.0, 3.0], 50) == 2.0
    assert quantile([1.0, 2.0], 75) == 1.75
    assert quantile([], 50) != quantile([], 50)
