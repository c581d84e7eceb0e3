"""The layouts of a model on devices, for any number of devices."""

import time
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from recommender.cost_model.layout_domain import (
    LayoutDomain,
    divisors,
    expert_block,
    fewer_devices,
    fullest,
    more_devices,
    with_count,
)
from recommender.cost_model.question import Question
from tests.quiet_machine import cpu_seconds
from tests.unit.recommender.cost_model.machines import machine_of, model


def domain(
    name: str, count: int, phase: str = "serving", engine: str = "vllm", **degrees: int
) -> LayoutDomain:
    lengths: dict[str, object] = {"seq_len": 4096} if phase == "training" else {"input_len": 1024}
    question = Question(
        model=model(name),
        machine=machine_of("ascend-910b3", 8, "atlas-800t-a2"),
        phase=phase,
        settings=lengths,
        engine=engine,
    )
    return LayoutDomain(question=with_count(question, count), degrees=degrees)


@given(count=st.integers(1, 4096), name=st.sampled_from(["qwen3-8b", "qwen3-30b-a3b"]))
@settings(max_examples=50, deadline=None)
@pytest.mark.parametrize("phase", ["serving", "training"])
def test_every_layout_uses_all_devices_and_splits_what_divides(name: str, count: int, phase: str) -> None:
    layouts = list(domain(name, count, phase).layouts())
    assert layouts
    assert len(set(layouts)) == len(layouts)
    for layout in layouts:
        assert layout.devices == count
        assert model(name).heads % layout.tp == 0
        assert (layout.tp * layout.dp * layout.cp) % layout.ep == 0


@pytest.mark.parametrize("count", [10**9, 10**17 + 3, 10**18])
def test_any_number_of_devices_ends_soon(count: int) -> None:
    begun = time.process_time()
    assert list(domain("qwen3-30b-a3b", count).layouts())
    assert fewer_devices(count)[0] == count - 1
    assert divisors(count)[-1] == count
    assert time.process_time() - begun < cpu_seconds(2)


def test_degrees_that_hold_leave_the_others_open() -> None:
    found = list(domain("qwen3-8b", 8, tensor_parallel=4).layouts())
    assert {layout.tp for layout in found} == {4}
    assert {(layout.pp, layout.dp) for layout in found} == {(1, 2), (2, 1)}
    assert {
        layout.ep for layout in domain("qwen3-30b-a3b", 8, engine="sglang", expert_parallel=2).layouts()
    } == {2}


@pytest.mark.parametrize(
    ("degrees", "why"),
    [
        (
            {"tensor_parallel": 3},
            "tensor parallel 3 does not divide the 32 heads of qwen3-30b-a3b: 1, 2, 4, 8, 16 and 32 do",
        ),
        ({"pipeline_parallel": 64}, "64 stages are more than the 48 blocks of qwen3-30b-a3b"),
        ({"tensor_parallel": 4, "data_parallel": 4}, "its parallel sizes take 16 devices, of 8"),
        ({"tensor_parallel": 4, "data_parallel": 1}, ""),
    ],
)
def test_sizes_that_no_layout_has_are_named_with_what_divides(degrees: dict[str, int], why: str) -> None:
    asked = replace(domain("qwen3-30b-a3b", 8), degrees=degrees)
    assert asked.why_none() == why
    assert not why or not list(asked.layouts())


def test_engines_of_their_own_spread_their_experts_inside_each() -> None:
    apart = replace(domain("qwen3-30b-a3b", 8, engine="sglang", tensor_parallel=2), is_separate=True)
    assert {layout.ep for layout in apart.layouts()} == {1, 2}


def test_an_engine_that_copies_attention_whole_or_not_at_all_has_nothing_between() -> None:
    found = {(one.tp, one.dp) for one in domain("qwen3-30b-a3b", 8, engine="tensorrt-llm").layouts()}
    assert found == {(1, 8), (8, 1)}


def test_experts_spread_over_devices_that_do_not_divide_them_where_the_engine_can() -> None:
    degrees = {layout.ep for layout in domain("qwen3-30b-a3b", 24).layouts()}
    assert 24 in degrees
    assert 24 not in {layout.ep for layout in domain("qwen3-30b-a3b", 24, engine="mindie").layouts()}
    layout = next(one for one in domain("qwen3-30b-a3b", 24).layouts() if one.ep == 24)
    held = fullest(model("qwen3-30b-a3b"), layout)
    assert held.experts == 144
    assert held.layers == model("qwen3-30b-a3b").layers


def test_numbers_of_devices_are_tried_in_order() -> None:
    assert more_devices(8)[:4] == [16, 24, 32, 48]
    assert fewer_devices(10)[:3] == [9, 8, 7]
    assert divisors(12) == [1, 2, 3, 4, 6, 12]


def test_a_server_that_shares_out_layers_has_stages_and_copies_alone() -> None:
    found = [*domain("qwen3-30b-a3b", 6, engine="llama.cpp").layouts()]
    assert {(one.tp, one.ep) for one in found} == {(1, 1)}
    assert {one.pp for one in found} == {1, 2, 3, 6}


@pytest.mark.parametrize(
    ("engine", "told", "spread"),
    [
        ("vllm", {}, {8, 16}),  # over all, or inside servers of eight that are launched alone
        ("vllm", {"data_parallel": 16}, {16}),
        ("sglang", {}, {1, 16}),
    ],
)
def test_replicas_of_vllm_share_experts_inside_a_server_or_over_all(
    engine: str, told: dict[str, int], spread: set[int]
) -> None:
    found = replace(domain("qwen3-30b-a3b", 16, engine=engine), degrees=told)
    assert {one.ep for one in found.layouts() if one.tp == 1} == spread


def test_no_layout_divides_a_block_of_scales() -> None:
    whole = domain("qwen3-30b-a3b", 8)
    blocked = replace(whole, block=128)
    assert {(one.tp, one.dp, one.ep) for one in whole.layouts()} > set(
        kept := {(one.tp, one.dp, one.ep) for one in blocked.layouts()}
    )
    assert all(768 * ep / (tp * dp) % 128 == 0 for tp, dp, ep in kept)
    assert any(ep == 8 for _, _, ep in kept)
    held = replace(blocked, degrees={"tensor_parallel": 4, "data_parallel": 1, "expert_parallel": 1})
    held = replace(held, question=with_count(held.question, 4))
    assert not list(held.layouts())
    assert "768 columns of an expert" in held.why_none()


def test_blocks_are_those_of_the_publisher() -> None:
    assert expert_block(("qwen3-30b-a3b",), "Qwen/Qwen3-30B-A3B-FP8") == 128
    assert expert_block({"moe-decoder", "qwen3-30b-a3b"}) == 128
    assert expert_block(("qwen3-30b-a3b",), "RedHatAI/Qwen3-30B-A3B-FP8-dynamic") == 0
    assert expert_block(("qwen3-30b-a3b",), "Qwen/Qwen3-30B-A3B") == 0
    assert expert_block(("qwen3-32b",), "Qwen/Qwen3-32B-FP8") == 0
