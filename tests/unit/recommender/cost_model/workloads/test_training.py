"""Training steps."""

import numpy as np
import pytest

from tests.unit.recommender.cost_model.machines import machine_of, train


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


def test_a_frozen_pass_is_half_a_backward_pass_and_a_pair_is_two_sequences() -> None:
    kinds = ("tokens", "pairs", "dpo", "kto")
    one, pair, dpo, kto = train(*({"objective_kind": kind} for kind in kinds)).throughput
    assert pair == pytest.approx(one, rel=0.05)  # of twice the tokens in twice the time
    assert dpo / pair == pytest.approx(3 / 4, rel=0.1)
    assert kto / one == pytest.approx(3 / 6, rel=0.1)


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
