from __future__ import annotations

import numpy as np
import pytest

from kg.errors import InputError, MissingFactError
from recommender.cost_model.estimate import as_records, estimate, sweep
from recommender.cost_model.workloads.steps import PARTS, Steps, ceiling, without

from tests.unit.recommender.cost_model.machines import machine_of, model  # isort: skip
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

A2 = ("ascend-910b1", 8, "atlas-800t-a2")
A3 = ("ascend-910c", 16, "atlas-800i-a3")


def train(
    *settings: Mapping[str, object],
    name: str = "llama-2-7b",
    place: tuple[str, int, str] = A2,
) -> Steps:
    base = {"seq_len": 4096, "gbs": 32}
    return estimate(
        model=model(name),
        machine=machine_of(*place),
        phase="training",
        settings=[{**base, **one} for one in settings],
    )


def serve(
    *settings: Mapping[str, object], name: str = "qwen3-32b", place: tuple[str, int, str] = A3
) -> Steps:
    return estimate(model=model(name), machine=machine_of(*place), phase="serving", settings=list(settings))


def test_the_split_adds_up() -> None:
    for steps in (
        train({"tp": 8}, {"tp": 2, "pp": 2}, {"zero": 3, "recompute": "full"}),
        serve({"tp": 16}, {"tp": 8, "dp": 2}),
    ):
        assert set(steps.split_s) == set(PARTS)
        assert sum(steps.split_s.values()) == pytest.approx(steps.time_s)
        assert all(np.all(part >= 0) for part in steps.split_s.values())


def test_a_batch_of_configurations_costs_what_each_costs_alone() -> None:
    settings: list[dict[str, object]] = [
        {"tp": 8},
        {"tp": 2, "recompute": "selective"},
        {"zero": 1, "precision": "fp16"},
    ]
    together = train(*settings).time_s
    assert together == pytest.approx([train(one).time_s[0] for one in settings], rel=1e-5)


def test_llama_on_eight_devices_is_near_what_is_published() -> None:
    """Llama-class 7B models reach 2700 to 3600 tokens a second and device on an Atlas 800T A2."""
    steps = train({"tp": 2, "zero": 1}, {"tp": 1, "zero": 1, "recompute": "full"})
    assert np.all((steps.throughput / 8 > 1500) & (steps.throughput / 8 < 6500))


def test_two_devices_of_an_a2_see_one_link() -> None:
    """TP 2 moves a byte slower than TP 8, so its exposed communication is not smaller."""
    steps = train({"tp": 2, "dp": 4}, {"tp": 8, "dp": 1})
    per_micro_batch = steps.split_s["communication_exposed"] / steps.extra["micro_batches"]
    assert per_micro_batch[0] > per_micro_batch[1]


def test_a_pipeline_has_its_bubble_and_interleaving_shrinks_it() -> None:
    steps = train({"pp": 4}, {"pp": 4, "virtual_stages": 2}, {"pp": 1})
    plain, interleaved, none = steps.split_s["bubble"]
    assert plain > 0
    assert interleaved == pytest.approx(plain / 2, rel=0.15)
    assert none == 0


def test_zero_stages_save_memory_step_by_step() -> None:
    totals = train(*({"zero": stage} for stage in range(4))).memory_total
    assert np.all(np.diff(totals) < 0)


def test_recomputation_trades_time_for_memory() -> None:
    steps = train({"recompute": "none"}, {"recompute": "full"})
    assert steps.time_s[1] > steps.time_s[0]
    assert steps.memory_bytes["activations"][1] < steps.memory_bytes["activations"][0]


def test_fusing_and_overlapping_never_slow_a_step() -> None:
    slow = train({"fused_ops": 0}, {"flash_attention": 0}, {"fused_optimizer": 0}, {"overlap_gradients": 0})
    assert np.all(slow.time_s > train({}).time_s)


def test_an_unfused_activation_is_free_only_where_units_share_a_core() -> None:
    joint = {**machine_of("ascend-910a", 1).device.facts}
    assert str(joint["core_design"]).startswith("joint")
    assert machine_of("ascend-910a", 1).device.joint
    assert not machine_of("ascend-910b1", 1).device.joint


def test_experts_exchange_tokens_when_spread() -> None:
    steps = train({"ep": 1, "tp": 8}, {"ep": 8, "tp": 1, "dp": 8}, name="mixtral-8x7b")
    assert np.all(steps.split_s["communication_exposed"] > 0)
    assert np.all(steps.time_s > 0)


def test_an_uneven_router_waits() -> None:
    even, uneven = train({"ep": 8}, {"ep": 8, "expert_imbalance": 1.5}, name="mixtral-8x7b").time_s
    assert uneven > even
    assert train({"ep": 8, "expert_imbalance": 1.5}, name="mixtral-8x7b").split_s["synchronisation"][0] > 0


def test_slow_data_loading_shows() -> None:
    steps = train({}, {"samples_per_s_loaded": 1})
    assert steps.split_s["data_loading"][0] == 0
    assert steps.time_s[1] == pytest.approx(32.0)


def test_a_convolutional_network_is_near_what_is_published() -> None:
    """ResNet-152 on one Ascend 910: 624 and 698 images a second are published."""
    machine = machine_of("ascend-910a", 1, "atlas-800-9000")
    steps = estimate(
        model=model("resnet-152"),
        machine=machine,
        phase="training",
        settings=[{"mbs": 64, "precision": "fp16"}],
    )
    assert 400 < steps.throughput[0] < 1100
    assert as_records(steps, [{}])[0]["fits"] is None  # its memory is not known


def test_a_vision_transformer_needs_no_sequence_length() -> None:
    steps = estimate(
        model=model("vit-b-16"), machine=machine_of(*A2), phase="training", settings=[{"mbs": 32, "gbs": 256}]
    )
    assert steps.time_s[0] > 0


def test_a_gpu_is_driven_by_its_facts() -> None:
    steps = train({"tp": 1}, place=("a100-sxm4-80gb", 1, ""))
    assert 0.1 < steps.extra["cube_use"][0] < 1


def test_decode_streams_weights_and_grows_with_the_batch() -> None:
    steps = serve(*({"tp": 8, "dp": 2, "batch": b, "input_len": 2048} for b in (1, 16, 64)))
    assert np.all(np.diff(steps.time_s) > 0)
    assert np.all(np.diff(steps.throughput) > 0)
    weights = 2 * model("qwen3-32b").parameters / 8
    assert steps.time_s[0] > weights / 1.6e12


def test_serving_options_move_what_they_should() -> None:
    base: dict[str, object] = {"tp": 16, "batch": 16, "input_len": 8192}
    plain, quantised, speculative, prefix, host, apart = (
        serve({**base, **one})
        for one in (
            {},
            {"precision": "int8"},
            {"speculative_tokens": 3},
            {"prefix_hit": 0.5},
            {"kv_host_share": 0.5},
            {"separation": "separate"},
        )
    )
    assert quantised.memory_bytes["weights"][0] < plain.memory_bytes["weights"][0]
    assert speculative.extra["tpot_s"][0] < plain.extra["tpot_s"][0]
    assert prefix.extra["ttft_s"][0] < plain.extra["ttft_s"][0]
    assert host.memory_bytes["kv_cache"][0] < plain.memory_bytes["kv_cache"][0]
    assert host.time_s[0] > plain.time_s[0]
    assert apart.extra["kv_transfer_s"][0] > 0
    assert apart.extra["tpot_s"][0] < plain.extra["tpot_s"][0]


def test_engines_that_prefill_do_not_decode() -> None:
    base: dict[str, object] = {"dp": 4, "batch": 16, "input_len": 8192, "output_len": 64}
    mixed, elsewhere, one, two, three = serve(
        base,
        {**base, "separation": "separate"},
        *({**base, "separation": "separate", "prefill_engines": n} for n in (1, 2, 3)),
    ).throughput
    assert max(one, two, three) < elsewhere  # prefill done elsewhere is free of cost here
    assert one < two < three  # a long prompt and a short answer: prefill sets the pace
    assert mixed < elsewhere
    for wrong in ({"prefill_engines": 1}, {"separation": "separate", "prefill_engines": 4}):
        with pytest.raises(InputError, match="engine"):
            serve({**base, **wrong})


def test_load_lengthens_the_tail() -> None:
    steps = serve(*({"tp": 16, "batch": 32, "request_rate": rate} for rate in (0.1, 1.0, 1e6)))
    p99 = steps.extra["ttft_p99_s"]
    assert p99[1] >= p99[0]
    assert np.isinf(p99[2])
    assert as_records(steps, [{}, {}, {}])[2]["ttft_p99_s"] is None


def test_a_latent_cache_is_small() -> None:
    latent, grouped = model("deepseek-v3"), model("qwen3-32b")
    assert latent.kv_width < grouped.kv_width


def test_energy_is_an_estimate_between_idle_and_full_or_unknown() -> None:
    steps = train({"tp": 2})
    assert steps.power_w is not None
    assert 91 <= steps.power_w[0] <= 365
    assert serve({"tp": 16}).power_w is None  # the idle power of a die of the 910C is not known


def test_no_gain_exceeds_its_ceiling() -> None:
    steps = train({"tp": 8}, {"pp": 4}, {"zero": 3})
    for part in PARTS:
        share = steps.split_s[part] / steps.time_s
        assert np.all(without(steps, part) <= ceiling(share) * (1 + 1e-9))


REFUSED = [
    ({"tp": 3}, "divide the number of devices"),
    ({"tp": 2, "dp": 8}, "must be the number of devices"),
    ({"pp": 8, "virtual_stages": 3}, "divide the layers"),
    ({"gbs": 7}, "divide the global batch"),
    ({"virtual_stages": 2}, "interleaving"),
    ({"zero": 4}, "stages 0 to 3"),
    ({"zero": 3, "pp": 2}, "pipeline of 1"),
    ({"ep": 2}, "needs a model with experts"),
    ({"seq_len": 0}, "sequence length"),
    ({"cp": 8, "seq_len": 4100}, "divide the sequence"),
    ({"micro_batch": 0}, "micro_batch"),
    ({"micro_batch": -1}, "micro_batch"),
    ({"tp": 1.5}, "whole number"),
    ({"precision": "fp8"}, "fp8"),
    ({"precision": "int3"}, "int3"),
    ({"recompute": "some"}, "none of"),
    ({"nosuch": 1}, "nosuch"),
    ({"seq_len": "long"}, "not a number"),
]


@pytest.mark.parametrize(("setting", "rule"), REFUSED)
def test_impossible_layouts_are_refused_by_the_rule(setting: dict[str, object], rule: str) -> None:
    with pytest.raises(InputError, match=rule) as told:
        train(setting)
    assert told.value.exit_code == 2


@pytest.mark.parametrize(
    ("setting", "rule"),
    [
        ({"tp": 3}, "number of devices"),
        ({"tp": 16, "ep": 3}, "experts"),
        ({"tp": 16, "prefix_hit": 1.0}, "prefix"),
        ({"tp": 16, "acceptance": 2}, "share between"),
        ({"tp": 16, "batch": 0}, "batch"),
    ],
)
def test_impossible_serving_is_refused(setting: dict[str, object], rule: str) -> None:
    with pytest.raises(InputError, match=rule):
        serve(setting)


def test_missing_facts_are_refused_by_name() -> None:
    with pytest.raises(MissingFactError, match="peak_bf16_flops") as told:
        train({}, place=("ascend-310p3", 1, ""))
    assert told.value.exit_code == 3
    with pytest.raises(MissingFactError, match="link_bandwidth"):
        train({"tp": 8}, place=("ascend-910b1", 8, ""))
    with pytest.raises(MissingFactError, match="hidden_size"):
        model("clip")


def test_an_unknown_phase_and_no_configuration_are_refused() -> None:
    with pytest.raises(InputError, match="phase"):
        estimate(model=model("llama-2-7b"), machine=machine_of(*A2), phase="tuning", settings=[{}])
    with pytest.raises(InputError, match="no configuration"):
        train()


def test_a_sweep_is_every_combination() -> None:
    found = sweep({"seq_len": 1}, {"tp": [1, 2], "pp": [1, 2, 4]})
    assert len(found) == 6
    assert {"seq_len": 1, "tp": 2, "pp": 4} in found
