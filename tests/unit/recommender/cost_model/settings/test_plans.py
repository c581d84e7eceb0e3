"""Precision of layer groups, four-bit weights, pipelines in serving, networks at inference, layout."""

import math

import numpy as np
import pytest

from kg.errors import InputError
from recommender.cost_model.estimate import estimate
from recommender.cost_model.settings.plans import SERVING, columns, in_own_words
from recommender.cost_model.workloads.steps import Steps
from tests.unit.recommender.cost_model.machines import machine_of, model

A2 = machine_of("ascend-910b1", 8, "atlas-800t-a2")


def serve(*settings: dict[str, object], name: str = "llama-2-7b") -> Steps:
    return estimate(model=model(name), machine=A2, phase="serving", settings=settings)


def train(*settings: dict[str, object], name: str = "llama-2-7b") -> Steps:
    given = [{"seq_len": 4096, "gbs": 32, **one} for one in settings]
    return estimate(model=model(name), machine=A2, phase="training", settings=given)


def test_values_become_columns_whatever_holds_them() -> None:
    many = columns(
        [{"tp": 2, "graph": True}, {"tensor-parallel-size": np.int64(4), "graph": "off"}, {"tp": "8"}],
        SERVING,
    )
    assert list(many["tensor_parallel"]) == [2, 4, 8]
    assert list(many["graph"]) == [1, 0, 1]
    assert list(many["batch"]) == [1, 1, 1]
    with pytest.raises(InputError, match="tensor_parallel"):
        columns([{"tp": [2]}], SERVING)
    with pytest.raises(InputError, match="no setting named"):
        columns([{"tp": 2}, {"tq": 2}], SERVING)


@pytest.mark.parametrize(
    ("name", "values", "says"),
    [
        ("tensor_parallel", [0, 0], ""),  # it follows from the others
        ("tensor_parallel", [0, 2], ""),
        ("tensor_parallel", [0, 1.5], "a whole number of at least 1, not 0"),
        ("tensor_parallel", [1.5], "not 1.5"),
        ("prefix_hit", [1.1], "a share between 0 and 1"),
        ("chunk", [-1], "not below 0"),
        ("request_rate", [math.inf], "not below 0"),
    ],
)
def test_numbers_that_a_setting_cannot_have_are_refused(name: str, values: list[float], says: str) -> None:
    if not says:
        assert list(columns([{name: value} for value in values], SERVING)[name]) == values
        return
    with pytest.raises(InputError, match=f"{name}: .*{says}"):
        columns([{name: value} for value in values], SERVING)


@pytest.mark.parametrize("cards", ["geforce-rtx-4090", "geforce-rtx-3090"])
def test_a_token_of_a_file_of_few_bits_takes_what_its_bits_take(cards: str) -> None:
    one = {"batch": 1, "input_len": 512, "output_len": 128}
    kinds = ("q2_k", "q4_k_m", "q6_k", "q8_0", "bf16")
    steps = estimate(
        model=model("llama-2-7b"), machine=machine_of(cards, 1, ""), phase="serving", engine="llama.cpp",
        settings=[{**one, "precision": kind} for kind in kinds],
    )  # fmt: skip
    assert np.all(np.diff(steps.time_s) > 0)
    weights = steps.memory_bytes["weights"] / steps.memory_bytes["weights"][-1]
    assert np.allclose(weights, np.array([3.16, 4.89, 6.56, 8.5, 16]) / 16, atol=0.01)
    assert np.all(steps.time_s > weights * 13.4e9 / 1.01e12)  # no card of these reads faster


def test_a_group_alone_in_eight_bit_lies_between_all_and_none() -> None:
    none, attention, inner, everything = serve(
        {"tp": 8, "batch": 4}, {"tp": 8, "batch": 4, "precision_attention": "int8"},
        {"tp": 8, "batch": 4, "precision_mlp": "int8"},
        {"tp": 8, "batch": 4, "precision": "int8", "precision_head": "int8"},
    ).memory_bytes["weights"]  # fmt: skip
    sizes = model("llama-2-7b")
    table = 2 * sizes.vocabulary * sizes.hidden / 8  # of the tokens that come in, which stays in 16 bits
    assert everything - table == pytest.approx((none - table) / 2)
    assert everything < inner < attention < none


def test_the_head_of_a_quantised_model_stays_in_sixteen_bit_unless_told() -> None:
    whole, told = serve({"precision": "int8"}, {"precision": "int8", "precision_head": "int8"}).time_s
    assert told < whole
    both = {"tp": 8, "precision": "int8"}
    same = serve({**both, "precision_head": "bf16"}, both)
    assert same.time_s[0] == same.time_s[1]
    assert same.memory_bytes["weights"][0] == same.memory_bytes["weights"][1]


def test_an_eight_bit_head_changes_the_head_alone() -> None:
    plain, head = train({"tp": 2}, {"tp": 2, "precision_head": "int8"}).time_s
    everything = train({"tp": 2, "precision": "int8"}).time_s[0]
    assert everything < head < plain


def test_four_bit_weights_take_a_quarter_and_their_scales_and_no_longer_than_wide_ones() -> None:
    wide, narrow = serve({"dp": 8, "batch": 1}, {"dp": 8, "batch": 1, "precision": "w4a16"}).time_s
    assert narrow < wide
    sizes = model("llama-2-7b")
    tables = 2 * 2 * sizes.vocabulary * sizes.hidden
    weights = serve({"dp": 8}, {"dp": 8, "precision": "w4a16"}).memory_bytes["weights"] - tables
    assert weights[1] == pytest.approx(weights[0] * 4.16 / 16)


def test_four_bit_weights_do_not_make_a_saturated_prefill_faster_than_its_product() -> None:
    eight, four = serve(
        {"dp": 8, "input_len": 8192, "precision": "int8"}, {"dp": 8, "input_len": 8192, "precision": "w4a8"}
    ).extra["ttft_s"]
    assert four == pytest.approx(eight, rel=0.05)


def test_four_bit_weights_do_not_train() -> None:
    with pytest.raises(InputError, match="few bits"):
        train({"precision_mlp": "w4a8"})


def test_a_pipeline_of_stages_splits_weights_and_cache_and_costs_latency_to_none() -> None:
    steps = serve({"dp": 8, "batch": 32}, {"dp": 2, "pp": 4, "batch": 32})
    assert steps.memory_bytes["weights"][1] == pytest.approx(steps.memory_bytes["weights"][0] / 4)
    assert steps.memory_bytes["kv_cache"][1] == pytest.approx(steps.memory_bytes["kv_cache"][0] / 4)
    alone = serve({"dp": 8, "batch": 1}, {"dp": 2, "pp": 4, "batch": 1})
    assert alone.time_s[1] >= alone.time_s[0]
    assert alone.throughput[1] < alone.throughput[0]


def test_a_pipeline_has_no_more_stages_than_layers_and_divides_the_devices() -> None:
    with pytest.raises(InputError, match="no more stages than layers"):
        estimate(
            model=model("llama-2-7b"), machine=machine_of("ascend-910b1", 64, "atlas-800t-a2"),
            phase="serving", settings=[{"pp": 64, "tp": 1}],
        )  # fmt: skip
    with pytest.raises(InputError, match="pipeline x data must divide"):
        serve({"pp": 3})


@pytest.mark.parametrize(
    ("card", "name", "kind", "requests", "cached", "tokens_per_s"),
    [  # ggml-org/llama.cpp, pull requests 14262, 15131, 26284; issue 12 of dmatora/LLM-inference-speed-benchmarks
        ("geforce-rtx-3090", "llama-3-8b", "bf16", 1, 256, 58.06),
        ("geforce-rtx-3090", "llama-3-8b", "fp16", 8, 256, 423.6),
        ("geforce-rtx-3090", "llama-3-8b", "fp16", 16, 256, 764.2),
        ("geforce-rtx-4090", "llama-3-8b", "q4_0", 10, 256, 1216.6),
        ("radeon-rx-7900-xtx", "llama-3-8b", "q4_k_m", 1, 32, 105.8),
        ("radeon-rx-7900-xtx", "llama-3-8b", "q4_k_m", 1, 4128, 98.5),
    ],
)
def test_builds_of_llama_cpp_decode_as_modelled(
    card: str, name: str, kind: str, requests: int, cached: int, tokens_per_s: float
) -> None:
    one = {"batch": requests, "input_len": cached, "output_len": 1, "precision": kind}
    steps = estimate(
        model=model(name),
        machine=machine_of(card, 1, ""),
        phase="serving",
        settings=[one],
        engine="llama.cpp",
    )
    assert 0.8 < steps.time_s[0] * tokens_per_s / requests < 1.25


@pytest.mark.parametrize(
    ("key", "value", "own"),
    [
        ("gradient_checkpointing", "true", ("recompute", ["full"])),
        ("gradient_checkpointing", False, ("recompute", ["none"])),
        ("gradient_checkpointing", "maybe", ("gradient_checkpointing", ["maybe"])),
        ("fsdp", "full_shard auto_wrap", ("zero_stage", [3])),
        ("recompute", "full", ("recompute", ["full"])),
        ("tp", 8, ("tp", [8])),
        ("unheard", "x", ("unheard", ["x"])),
    ],
)
def test_a_program_spells_a_setting_in_its_own_words(
    key: str, value: object, own: tuple[str, list[object]]
) -> None:
    assert in_own_words(key, [value], "transformers") == own
