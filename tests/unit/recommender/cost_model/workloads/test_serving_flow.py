"""The flow of a load, from the times of steps."""

import numpy as np
import pytest

from recommender.cost_model.facts.device import Device
from recommender.cost_model.settings.plans import SERVING, columns
from recommender.cost_model.workloads.serving_flow import StepTimes, is_apart, serving_flow, step_plan

BASE: dict[str, object] = {"batch": 1, "input_len": 1000, "output_len": 100, "chunk": 250}


def flow(
    decode_s: float = 0.01,
    prefill_s: float = 0.2,
    in_step: float = 1.0,
    base_s: float = 0.0,
    **changes: object,
) -> dict[str, float]:
    """Figures of a load whose steps take what is said."""
    s = columns([BASE | changes], SERVING)
    one = np.ones(1)
    times = StepTimes(
        decode_s=decode_s * one,
        alone_s=prefill_s * one,
        passes_s=prefill_s * one,
        transfer_s=0 * one,
        base_s=base_s,
    )
    output, extra = serving_flow(s, step_plan(s, Device("given", {})), times, in_step)
    return {"throughput": float(output[0])} | {name: float(values[0]) for name, values in extra.items()}


def test_one_sequence_takes_its_prefill_and_its_steps() -> None:
    alone = flow()
    assert alone["ttft_s"] == pytest.approx(0.2)
    assert alone["ttft_p99_s"] == pytest.approx(0.2)
    assert alone["tpot_s"] == pytest.approx(alone["tpot_p99_s"]) == 0.01
    assert alone["throughput"] == pytest.approx(100 / (0.2 + 100 * 0.01))


def test_prefills_of_others_stall_what_decodes_unless_they_run_elsewhere() -> None:
    mixed, apart = (flow(batch=8, separation=one) for one in ("mixed", "separate"))
    assert mixed["tpot_s"] == pytest.approx(0.01 + 7 * 0.2 / 100)
    assert apart["tpot_s"] == 0.01 == apart["tpot_p99_s"]
    assert mixed["tpot_p99_s"] > mixed["tpot_s"]
    assert not is_apart(columns([BASE], SERVING))[0]


def test_a_prefill_holds_up_all_engines_that_step_together() -> None:
    """Users of a burst prefill together; all others hold each other up, whether their lengths differ or not."""
    alone, burst = (flow(batch=8, in_step=engines, burst=1) for engines in (1.0, 4.0))
    assert burst["throughput"] == pytest.approx(alone["throughput"], rel=0.1)
    for spread in (0.0, 0.8):
        two, many = (flow(batch=8, in_step=engines, length_spread=spread) for engines in (2.0, 32.0))
        assert alone["tpot_s"] < two["tpot_s"] < many["tpot_s"] < 0.01 + 0.2
        assert alone["throughput"] > two["throughput"] > many["throughput"]


def test_two_wide_deployments_beside_each_other_have_one_price() -> None:
    """Both are replayed, else one would be compared with the closed form of the other."""
    s = columns([BASE | {"batch": 32, "data_parallel": 64}] * 2, SERVING)
    step_s, prefill_s = np.full(2, 0.01), np.full(2, 0.2)
    times = StepTimes(decode_s=step_s, alone_s=prefill_s, passes_s=prefill_s, transfer_s=0 * step_s)
    output, _ = serving_flow(s, step_plan(s, Device("given", {})), times, np.full(2, 64.0))
    assert output[0] == output[1]


def test_the_more_engines_step_together_the_more_prefills_hold_each_up() -> None:
    """Of 32 engines with a user each, every one waits for 31 prefills an answer: not as one of groups of 8."""
    eight, all_ = (flow(in_step=wide, data_parallel=32) for wide in (8.0, 32.0))
    assert all_["throughput"] < 0.7 * eight["throughput"]


def test_stages_wait_for_the_prefills_of_each_other() -> None:
    """Two stages answer less than two engines of half of the requests each, and more than one engine of them."""
    for spread in (0.0, 0.5):
        one, two = (flow(batch=8, data_parallel=engines, length_spread=spread) for engines in (1, 2))
        stages = flow(batch=16, pipeline_parallel=2, length_spread=spread)
        assert one["throughput"] < stages["throughput"] < two["throughput"]
        assert stages["tpot_s"] > two["tpot_s"]
    assert flow(pipeline_parallel=2)["ttft_s"] == pytest.approx(0.2 * 5 / 8)  # four chunks in two stages


def test_drafts_shorten_answers_of_engines_in_step_as_of_one() -> None:
    """Requests that draft meet no more prefills than those that do not."""
    for engines in (1.0, 8.0):
        plain, drafts = (
            flow(batch=16, in_step=engines, speculative_tokens=drafted, acceptance=0.8) for drafted in (0, 1)
        )
        assert drafts["throughput"] > 1.05 * plain["throughput"]


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
    assert plan.tokens[0] == pytest.approx(1 + 2 * 0.5)
    assert plan.steps[0] == pytest.approx(100 / 2)
    assert (plan.fresh[0], plan.chunk[0], plan.count[0]) == (800, 250, 4)
    assert plan.together[0] == 1  # a chunk has room for no second one
    short = step_plan(columns([BASE | {"input_len": 50, "batch": 400}], SERVING), Device("given", {}))
    assert short.together[0] == 4


def test_users_beyond_the_seats_wait_for_one_of_them() -> None:
    seated, queued = (flow(batch=8, concurrency=users) for users in (8, 24))
    turn = 24 / queued["throughput"] * 100
    assert queued["throughput"] == pytest.approx(seated["throughput"], rel=0.05)
    assert queued["ttft_s"] == pytest.approx(turn - 100 * queued["tpot_s"], rel=0.15)  # a median
    assert queued["ttft_s"] > 2 * seated["ttft_s"]


def test_what_prefill_and_decode_pay_once_stalls_nobody() -> None:
    apart, together = (flow(batch=8, base_s=0.01, mixed_steps=mixed) for mixed in (0, 1))
    assert together["tpot_s"] == pytest.approx(0.01 + 7 * 4 * (0.05 - 0.01) / 100)
    assert together["throughput"] > apart["throughput"]
    assert flow(base_s=0.01, mixed_steps=1) == flow(base_s=0.01)


def test_fewer_run_where_they_come_slowly_and_their_steps_are_shorter() -> None:
    slow, fast = (flow(batch=64, decode_s=0.05, base_s=0.01, request_rate=rate) for rate in (0.1, 3.0))
    assert slow["tpot_s"] < fast["tpot_s"] < 0.07
    assert slow["tpot_s"] == pytest.approx(0.01 + 0.04 / 64, rel=0.1)
