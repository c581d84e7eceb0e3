"""Changes of settings as the cost model prices them, and the layout that it assumes."""

import math
from dataclasses import replace

import pytest

from recommender.cost_model.change import (
    GAIN_SPREAD,
    modelled_change,
    modelled_gain,
)
from recommender.cost_model.priced_step import price
from recommender.cost_model.question import Question
from tests.unit.recommender.cost_model.machines import machine_of, model


def question(count: int = 8, name: str = "qwen3-8b", **settings: object) -> Question:
    return Question(
        model=model(name),
        machine=machine_of("ascend-910b3", count, "atlas-800t-a2"),
        phase="serving",
        settings={"input_len": 1024, "output_len": 128, **settings},
    )


def test_a_change_has_the_price_of_both_sides() -> None:
    asked = question(tensor_parallel=8, data_parallel=1, batch=16)
    change = modelled_change(asked, {"tensor_parallel_size": 4, "data_parallel_size": 2})
    assert change is not None
    assert change.settings["tensor_parallel"] == (8, 4)
    assert change.before.throughput == pytest.approx(price(asked)[0].throughput)
    assert change.log_gain == pytest.approx(math.log(change.after.throughput / change.before.throughput))
    assert change.log_gain_in("tpot") == pytest.approx(
        math.log((change.before.result("tpot_s") or 0) / (change.after.result("tpot_s") or 1))
    )
    assert change.log_memory == pytest.approx(
        math.log(change.after.memory_bytes / change.before.memory_bytes)
    )
    assert change.log_energy is None  # nobody stated the powers of this device
    assert modelled_change(asked, {"tensor_parallel_size": 8}) is None
    assert modelled_change(asked, {"own_knob": 1}) is None


def test_energy_is_power_over_what_is_made() -> None:
    asked = Question(
        model=model("qwen3-8b"),
        machine=machine_of("ascend-910b1", 8, "atlas-800t-a2"),
        phase="serving",
        settings={"input_len": 1024, "output_len": 128, "tensor_parallel": 8, "batch": 1},
    )
    change = modelled_change(asked, {"max_num_seqs": 16})
    assert change is not None
    one = change.before
    assert one.power_w is not None
    assert one.energy_per_unit_j == pytest.approx(one.power_w * 8 / one.throughput)
    assert change.log_energy is not None
    assert change.log_energy < -1


def test_a_larger_modelled_gain_is_less_sure() -> None:
    none, large = modelled_gain(0.0), modelled_gain(1.0)
    assert (none.high - none.low) == pytest.approx(2 * 1.645 * GAIN_SPREAD[0], rel=1e-3)
    assert (large.high - large.low) == pytest.approx(2 * 1.645 * math.hypot(*GAIN_SPREAD), rel=1e-3)


@pytest.mark.parametrize(
    ("engine", "version", "gain"),
    [
        ("vllm-ascend", "0.23.0", None),
        ("vllm-ascend", "0.18.0", 0.05),
        ("vllm-ascend", "0.8.5", 0.5),
        ("mindie", "", None),
    ],
)
def test_a_graph_gains_over_what_the_release_captures(engine: str, version: str, gain: float | None) -> None:
    asked = replace(question(tensor_parallel=8, batch=4), engine=engine, version=version)
    change = modelled_change(asked, {"cudagraph_mode": "FULL_DECODE_ONLY"})
    assert (change is None) == (gain is None)
    if change is not None and gain is not None:
        assert change.log_gain > gain
    eager = modelled_change(asked, {"enforce_eager": True})
    assert (eager is None) == (version == "0.8.5")  # it has no graphs


def test_more_sequences_may_bring_the_step_into_a_graph() -> None:
    asked = replace(
        question(tensor_parallel=8, batch=12, captured_rows=8), engine="vllm-ascend", version="0.23.0"
    )
    change = modelled_change(asked, {"max_num_seqs": 16})
    assert change is not None
    assert change.settings["captured_rows"] == (8, 16)
    assert change.after.results["step_time_s"] < change.before.results["step_time_s"] / 2


def test_copies_of_a_training_take_the_devices_that_a_changed_layout_leaves() -> None:
    asked = Question(
        model=model("qwen3-8b"),
        machine=machine_of("ascend-910b3", 8, "atlas-800t-a2"),
        phase="training",
        settings={"seq_len": 4096, "tensor_parallel": 4, "data_parallel": 2, "micro_batch": 1},
    )
    change = modelled_change(asked, {"tensor_model_parallel_size": 2})
    assert change is not None
    assert change.settings["data_parallel"] == (2, 4)
    assert change.before.throughput > 0


def test_what_a_program_does_anyway_is_no_change_of_it() -> None:
    asked = Question(
        model=model("qwen3-8b"),
        machine=machine_of("ascend-910b1", 8, "atlas-800t-a2"),
        phase="training",
        settings={"seq_len": 4096, "data_parallel": 8, "zero_stage": 3},
        engine="ms-swift",
    )
    assert modelled_change(asked, {"attn_impl": "flash_attn"}) is None
    slower = modelled_change(asked, {"attn_impl": "eager"})
    assert slower is not None
    assert slower.log_gain < 0
    kept = modelled_change(asked, {"gradient_checkpointing": False})
    assert kept is not None
    assert kept.log_gain > 0
