"""What the times of steps make of a load."""

import numpy as np
import pytest

from recommender.cost_model.facts.device import Device
from recommender.cost_model.settings.plans import SERVING, columns
from recommender.cost_model.workloads.serving_flow import StepTimes, is_apart, serving_flow, step_plan

BASE: dict[str, object] = {"batch": 1, "input_len": 1000, "output_len": 100, "chunk": 250}


def flow(
    decode_s: float = 0.01, prefill_s: float = 0.2, in_step: float = 1.0, **changes: object
) -> dict[str, float]:
    """Figures of a load whose steps take what is said."""
    s = columns([BASE | changes], SERVING)
    one = np.ones(1)
    times = StepTimes(
        decode_s=decode_s * one, alone_s=prefill_s * one, passes_s=prefill_s * one, transfer_s=0 * one
    )
    output, extra = serving_flow(s, step_plan(s, Device("given", {})), times, in_step)
    return {"throughput": float(output[0])} | {name: float(values[0]) for name, values in extra.items()}


def test_one_sequence_takes_its_prefill_and_its_steps() -> None:
    alone = flow()
    assert alone["ttft_s"] == alone["ttft_p99_s"] == 0.2
    assert alone["tpot_s"] == alone["tpot_p99_s"] == 0.01
    assert alone["throughput"] == pytest.approx(100 / (0.2 + 100 * 0.01))


def test_prefills_of_others_stall_what_decodes_unless_they_run_elsewhere() -> None:
    mixed, apart = (flow(batch=8, separation=one) for one in ("mixed", "separate"))
    assert mixed["tpot_s"] == pytest.approx(0.01 + 7 * 0.2 / 100)
    assert apart["tpot_s"] == 0.01 == apart["tpot_p99_s"]
    assert mixed["tpot_p99_s"] > mixed["tpot_s"]
    assert not is_apart(columns([BASE], SERVING))[0]


def test_a_prefill_holds_up_all_engines_that_step_together() -> None:
    alone, four, many = (flow(batch=8, in_step=engines) for engines in (1.0, 4.0, 1e6))
    # four passes of 50 ms for each request, of which seven others and three engines of eight come at random
    some = 1 - (1 - 7 * 4 / 100) * (1 - 8 * 4 / 100) ** 3
    assert four["tpot_s"] == pytest.approx(0.01 + some * 0.05)
    assert alone["tpot_s"] < four["tpot_s"] < many["tpot_s"] == pytest.approx(0.01 + 0.05)
    assert alone["throughput"] > four["throughput"] > many["throughput"]


def test_no_more_is_answered_than_is_in_flight() -> None:
    full, few = flow(batch=8), flow(batch=8, concurrency=2)
    assert few["throughput"] == pytest.approx(100 * 2 / (few["prefill_s"] + 100 * few["tpot_s"]))
    assert few["throughput"] < full["throughput"]


def test_requests_that_come_faster_wait_longer_and_without_end_beyond_what_can_be_answered() -> None:
    turn = 0.2 + 100 * 0.01
    slow, fast, more = (flow(request_rate=share / turn) for share in (0.2, 0.8, 1.1))
    assert 0.2 < slow["ttft_s"] < fast["ttft_s"] < fast["ttft_p99_s"] < float("inf")
    assert fast["load"] == pytest.approx(0.8)
    assert more["ttft_s"] == float("inf")


def test_the_plan_says_what_the_steps_hold() -> None:
    s = columns(
        [BASE | {"prefix_hit": 0.2, "speculative_tokens": 2, "acceptance": 0.5, "batch": 200}], SERVING
    )
    plan = step_plan(s, Device("given", {}))
    assert plan.tokens[0] == pytest.approx(1 + 0.5 + 0.25)
    assert plan.steps[0] == pytest.approx(100 / 1.75)
    assert (plan.fresh[0], plan.chunk[0], plan.count[0]) == (800, 250, 4)
    assert plan.together[0] == 1  # a chunk has room for no second one
    short = step_plan(columns([BASE | {"input_len": 50, "batch": 400}], SERVING), Device("given", {}))
    assert short.together[0] == 4
