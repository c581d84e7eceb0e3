"""Launches by the host: kernels, pieces and whole steps."""

from dataclasses import replace

import pytest

from recommender.cost_model.anchors import UNANCHORED
from recommender.cost_model.estimate import estimate
from recommender.cost_model.facts.physics import PHYSICS
from recommender.cost_model.operators.kinds import shipped
from recommender.cost_model.workloads.steps import Steps
from tests.unit.recommender.cost_model.machines import machine_of, model

BASE: dict[str, object] = {"tp": 2, "batch": 4, "input_len": 512, "async_scheduling": 1}


def serve(*settings: dict[str, object], name: str = "qwen3-30b-a3b", device: str = "ascend-910b3") -> Steps:
    return estimate(
        model=model(name),
        machine=machine_of(device, 2, "atlas-800t-a2" if device.startswith("ascend") else ""),
        phase="serving",
        settings=[{**BASE, **one} for one in settings],
        operators=replace(shipped(), anchors=UNANCHORED),
    )


def test_a_block_in_pieces_and_kernel_by_kernel_takes_what_the_host_takes() -> None:
    times_us = serve({}, {"graph": 0.5}, {"graph": 0}).time_s * 1e6
    whole, pieces, eager = (times_us - PHYSICS["between_us"]) / 48
    assert whole < 0.7 * pieces
    assert pieces == pytest.approx(PHYSICS["piece_us"])
    # 832 us measured for such a block (vllm-project/vllm-ascend, issue 9404)
    assert pieces == pytest.approx(832, rel=0.1)
    assert eager == pytest.approx(20 * PHYSICS["host_us"])


def test_a_step_beyond_the_largest_captured_one_is_launched_kernel_by_kernel() -> None:
    whole, eager, at, beyond = serve({}, {"graph": 0}, {"captured_rows": 4}, {"captured_rows": 2}).time_s
    assert at == whole
    assert beyond == eager
    drafted, over = serve({"speculative_tokens": 1}, {"speculative_tokens": 1, "captured_rows": 4}).time_s
    assert over > drafted + 1e-3  # eight rows
    counted: dict[str, object] = {"speculative_tokens": 1, "captured_requests": 4}
    assert serve(counted).time_s[0] == drafted
    assert serve({**counted, "captured_requests": 3}).time_s[0] == over


def test_a_prefill_is_launched_kernel_by_kernel_on_ascend() -> None:
    short, long = serve({"input_len": 16}, {"input_len": 32}).extra["prefill_s"]
    assert short == long == pytest.approx(48 * 20 * PHYSICS["host_us"] / 1e6)
    gpu, longer = serve({"input_len": 16}, {"input_len": 8192}, device="h100-sxm").extra["prefill_s"]
    assert gpu < short / 5
    assert longer > gpu


def test_requests_that_come_together_are_prefilled_and_launched_together() -> None:
    base: dict[str, object] = {"batch": 64, "input_len": 128, "output_len": 512}
    many, few, alone = serve(base, {**base, "chunk": 256}, {**base, "batch": 1}).extra["prefill_throughput"]
    assert few == pytest.approx(2 * alone, rel=0.1)  # a step has room for two
    assert many > 1.5 * few
    # on a GPU no host holds it up: only what finishes in one step comes together
    long, short = serve(
        {**base, "batch": 256}, {**base, "batch": 256, "output_len": 8}, device="h100-sxm"
    ).extra["prefill_throughput"]
    assert short > 1.2 * long


def test_a_prefill_that_no_gpu_has_captured_is_launched_for_each_prompt_of_its_own_length() -> None:
    eager: dict[str, object] = {"batch": 16, "output_len": 256, "prefill_graph": 0}
    found = serve(
        {**eager, "input_len": 16}, {**eager, "input_len": 64}, {**eager, "length_spread": 1}, {**eager},
        device="h100-sxm",
    )  # fmt: skip
    short, longer, _, _ = found.extra["prefill_s"]
    assert short == longer == pytest.approx(48 * 22 * PHYSICS["gpu_host_us"] / 1e6, rel=0.1)
    _, _, apart, together = found.extra["tpot_s"]
    assert apart > together + 15 / 256 * short / 2


def test_a_captured_draft_costs_its_device_time_alone() -> None:
    base: dict[str, object] = {"speculative_tokens": 2}
    draft: dict[str, object] = {**base, "draft_graph": 1}
    launched, captured, eager = serve(base, draft, {**draft, "graph": 0}).split_s["compute"]
    assert launched - captured > 2e-3
    assert eager == pytest.approx(launched, rel=0.05)
