"""A device by its facts, and substitutes for missing ones."""

import math

import pytest

from kg.errors import InputError, MissingFactError
from recommender.cost_model.facts.device import FLOPS_PER_CYCLE, Device

ASCEND: dict[str, float | str] = {
    "core_design": "split: one cube core to two vector cores",
    "cube_cores": 20,
    "peak_fp16_flops": 3.2e14,
    "peak_int8_ops": 6.4e14,
    "memory_bytes": 6.4e10,
}


def without(*names: str, **more: float | str) -> Device:
    return Device("chip", {**{name: value for name, value in ASCEND.items() if name not in names}, **more})


def test_memory_is_what_was_measured_and_never_more_than_there_is() -> None:
    assert without().memory_bytes == pytest.approx(0.94 * 6.4e10)
    assert without(usable_memory_bytes=6.1e10).memory_bytes == 6.1e10
    assert without(measured_usable_memory_bytes=7e10).memory_bytes == 6.4e10
    assert math.isnan(without("memory_bytes").memory_capacity)
    gpu = Device("h20", {"memory_bytes": 1e11, "memory_type": "HBM3", "compute_units": 78})
    assert gpu.memory_bytes == pytest.approx(0.99e11)
    assert without(reserved_memory_bytes=2e9).reserved_bytes == 2e9
    assert gpu.reserved_bytes < without().reserved_bytes
    assert Device("l40s", {**gpu.facts, "memory_type": "GDDR6"}).memory_bytes == pytest.approx(0.94e11)


def test_an_unknown_cache_holds_nothing_and_an_unknown_clock_follows_from_the_peak() -> None:
    assert without().l2_bytes == 0.0
    assert without(l2_bytes=2e8).l2_bytes == 2e8
    assert without().clock == pytest.approx(3.2e14 / 20 / FLOPS_PER_CYCLE)
    assert without(clock_hz=1.5e9).clock == 1.5e9
    with pytest.raises(MissingFactError):
        _ = Device("gpu", {"compute_units": 100}).clock


def test_matrix_arrays_need_no_clock_and_no_count_of_cores() -> None:
    chip = Device("chip", {"core_design": "matrix array", "peak_bf16_flops": 1e15})
    assert chip.arrayed
    assert not chip.ascend
    assert (chip.clock, chip.cores) == (math.inf, 1.0)
    assert Device("chip", {**chip.facts, "compute_units": 8, "clock_hz": 1e9}).cores == 8
    with pytest.raises(MissingFactError, match="compute_units"):
        _ = Device("gpu", {"peak_bf16_flops": 1e15}).cores


def test_a_peak_is_stated_or_that_of_sixteen_bit_from_eight() -> None:
    assert without().peak("fp16") == 3.2e14
    assert without("peak_fp16_flops").peak("fp16") == 3.2e14
    with pytest.raises(InputError, match="no fp8 matrix unit") as refused:
        without().peak("fp8")
    assert "fp16, int8" in refused.value.hint
    with pytest.raises(MissingFactError):
        Device("gpu", {}).peak("fp16")


def test_sixteen_bits_that_are_slower_than_thirty_two_are_multiplied_in_these() -> None:
    pascal = Device(
        "p40", {"compute_capability": "6.1", "peak_fp16_flops": 1.8e11, "peak_fp32_flops": 1.2e13}
    )
    assert {pascal.peak(name) for name in ("fp16", "w4a16", "q4_k_m")} == {1.2e13}
    assert Device("a", {**pascal.facts, "peak_fp16_flops": 3e14}).peak("fp16") == 3e14


def test_weights_in_four_bits_are_unpacked_on_gpus_and_held_in_sixteen_bit_on_ascend() -> None:
    hopper = Device("gpu", {"peak_bf16_flops": 1e15, "peak_fp8_flops": 2e15})
    blackwell = Device("gpu", {"peak_bf16_flops": 1e15, "peak_fp4_flops": 4e15})
    assert hopper.computed_precision("mxfp4") == "w4a16"
    assert blackwell.computed_precision("mxfp4") == "mxfp4"
    assert without().computed_precision("mxfp4") == "fp16"
    ampere = Device("a10g", {"compute_capability": "8.6", "peak_bf16_flops": 7e13, "peak_fp16_flops": 7e13})
    turing = Device("t4", {"compute_capability": "7.5", "peak_fp16_flops": 6.5e13})
    assert [ampere.computed_precision(name) for name in ("fp8", "nvfp4")] == ["w8a16", "w4a16"]
    assert [turing.computed_precision(name) for name in ("fp8", "nvfp4")] == ["fp16", "fp16"]
    with pytest.raises(InputError, match="no bf16 matrix unit") as fault:
        Device("small", {"core_design": "joint", "peak_int8_ops": 1e14}).peak("bf16")
    assert "fp16" in str(fault.value.hint)
