"""The entry of the cost model."""

from dataclasses import replace

import pytest

from kg.errors import InputError, MissingFactError
from recommender.cost_model.estimate import estimate, sweep
from tests.unit.recommender.cost_model.machines import A2, machine_of, model, train


def test_a_batch_of_configurations_costs_what_each_costs_alone() -> None:
    settings: list[dict[str, object]] = [
        {"tp": 8},
        {"tp": 2, "recompute": "selective"},
        {"zero": 1, "precision": "fp16"},
    ]
    together = train(*settings).time_s
    assert together == pytest.approx([train(one).time_s[0] for one in settings], rel=1e-5)


def test_a_vision_transformer_needs_no_sequence_length() -> None:
    steps = estimate(
        model=model("vit-b-16"), machine=machine_of(*A2), phase="training", settings=[{"mbs": 32, "gbs": 256}]
    )
    assert steps.time_s[0] > 0


def test_a_gpu_is_driven_by_its_facts() -> None:
    steps = train({"tp": 1}, place=("a100-sxm4-80gb", 1, ""))
    assert 0.1 < steps.extra["cube_use"][0] < 1


def test_matrix_arrays_are_priced_with_the_interval_of_what_nobody_measured() -> None:
    known, array = (train({}, place=(name, 1, "")) for name in ("a100-sxm4-80gb", "gaudi-3"))
    assert array.time_s[0] < known.time_s[0]
    assert array.spread > known.spread


def test_missing_facts_are_refused_by_name() -> None:
    with pytest.raises(MissingFactError, match="peak_fp16_flops") as told:
        train({}, place=("ascend-310p1", 1, ""))
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


def test_experts_that_do_not_divide_are_as_many_as_the_fullest_device_holds_where_the_engine_spreads_them() -> (
    None
):
    uneven: dict[str, object] = {"data_parallel": 6, "expert_parallel": 6, "tensor_parallel": 1, "batch": 8}
    mixture, place = model("deepseek-v2-lite"), machine_of("h100-sxm", 6, "")
    said = estimate(model=mixture, machine=place, phase="serving", settings=[uneven], engine="vllm")
    more = replace(mixture, experts=66.0)
    assert (
        said.time_s
        == estimate(model=more, machine=place, phase="serving", settings=[uneven], engine="vllm").time_s
    )
    with pytest.raises(InputError, match="must divide the experts"):
        estimate(model=mixture, machine=place, phase="serving", settings=[uneven], engine="tensorrt-llm")
