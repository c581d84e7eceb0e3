from dataclasses import replace

import numpy as np
import pytest

from kg.errors import InputError, MissingFactError
from recommender.cost_model.facts.device import Device, precision
from recommender.cost_model.operators.kinds import (
    KINDS,
    _distinct,
    load,
    reference_device,
    save,
    shipped,
)
from recommender.cost_model.operators.residual import Residual

DEVICE = reference_device()
NONE = Residual(None, None, 0.0)


def us(stem: str, *rows: tuple[float, ...]) -> list[float]:
    return [float(t) for t in shipped()[stem].times_us(DEVICE, np.array(rows, dtype=np.float64))]


def test_every_kind_ships_with_source_date_and_error() -> None:
    assert set(shipped().kinds) == set(KINDS)
    for kind in shipped().kinds.values():
        assert kind.header["source"]
        assert kind.header["date"]
        assert 0 < float(str(kind.header["left_out_mape_percent"])) < 30
        assert kind.spread > 0


def test_a_saturated_product_reaches_what_was_measured() -> None:
    """327 TFLOP/s were measured on this part; the formula's peak is 354."""
    (time,) = us("matmul_bf16", (8192, 8192, 4096))
    assert 290 < 2 * 8192 * 8192 * 4096 / time / 1e6 < 354


def test_a_long_stream_stays_below_the_memory_bandwidth() -> None:
    (time,) = us("matmul_bf16", (1, 12288, 12288))
    assert 0.9e12 < 2 * 12288**2 / time * 1e6 < 1.6e12


def test_the_int8_product_contains_its_quantisation() -> None:
    small_bf16, small_int8 = us("matmul_bf16", (1, 256, 256))[0], us("matmul_w8a8", (1, 256, 256))[0]
    assert small_int8 > 2 * small_bf16
    assert us("matmul_w8a8", (8192, 8192, 4096))[0] < us("matmul_bf16", (8192, 8192, 4096))[0]


def test_a_row_alone_costs_what_it_costs_among_others() -> None:
    rows = [(16.0, 4096.0, 4096.0), (1.0, 512.0, 7168.0), (16.0, 4096.0, 4096.0)]
    together = us("matmul_bf16", *rows)
    assert together == pytest.approx([us("matmul_bf16", row)[0] for row in rows], rel=1e-5)


def test_a_call_asked_before_is_not_computed_again_and_another_device_is_another_call() -> None:
    asked: list[str] = []

    def analytic(device: Device, x: np.ndarray, _: object) -> tuple[np.ndarray, np.ndarray]:
        asked.append(device.id)
        return x[:, 0].copy(), x

    kind = shipped()["matmul_bf16"]
    counted = replace(kind, kind=replace(kind.kind, analytic=analytic), residual=NONE, known={})
    slow = Device(DEVICE.id, {**DEVICE.facts, "clock_hz": 1.0})
    for device in (DEVICE, DEVICE, slow):
        first = counted.times_us(device, np.array([[2.0, 3, 4], [5, 6, 7]]))
        assert first.tolist() == [2, 5]
        first *= 0  # what is given away is the caller's
    assert len(asked) == 2


@pytest.mark.parametrize("bad", [(0, 1, 1), (-4, 256, 256), (1, 256, float("nan"))])
def test_sizes_below_one_are_refused(bad: tuple[float, ...]) -> None:
    with pytest.raises(InputError, match="at least 1"):
        us("matmul_bf16", bad)


def test_attention_refuses_heads_that_do_not_divide() -> None:
    with pytest.raises(InputError, match="divide"):
        us("attention_decode", (1, 128, 10, 4, 128))


def test_moe_refuses_more_choices_than_experts() -> None:
    with pytest.raises(InputError, match="more experts"):
        us("moe_bf16", (1, 256, 256, 4, 8, 1, 4))


def test_a_wrong_number_of_columns_names_the_right_ones() -> None:
    with pytest.raises(InputError, match="m, n, k"):
        us("matmul_bf16", (1, 2))


def test_an_unknown_operator_is_refused_by_name() -> None:
    with pytest.raises(InputError, match="nosuch"):
        shipped()["nosuch"]


def test_a_missing_fact_is_named() -> None:
    bare = Device("bare", {"cube_cores": 20, "clock_hz": 1.5e9, "peak_bf16_flops": 1e14})
    with pytest.raises(MissingFactError, match="memory_bandwidth_bytes_per_s"):
        shipped()["matmul_bf16"].times_us(bare, np.array([[1.0, 256, 256]]))


def test_fp8_on_the_910b_is_refused() -> None:
    with pytest.raises(InputError, match="fp8"):
        DEVICE.peak("fp8")


def test_an_unknown_precision_is_refused_and_known_spellings_are_one() -> None:
    assert precision("BFloat16") == precision("bf16")
    with pytest.raises(InputError, match="int3"):
        precision("int3")


def test_saved_constants_load_as_they_were(tmp_path: object) -> None:
    from pathlib import Path

    folder = Path(str(tmp_path))
    save(shipped(), folder)
    again = load(folder)
    x = np.array([[3.0, 1024, 4096], [700, 4096, 2048]])
    assert again["matmul_bf16"].times_us(DEVICE, x) == pytest.approx(
        shipped()["matmul_bf16"].times_us(DEVICE, x), rel=1e-4
    )


def test_constants_of_another_schema_are_refused(tmp_path: object) -> None:
    from pathlib import Path

    folder = Path(str(tmp_path))
    with pytest.raises(InputError, match="no constants"):
        load(folder)
    (folder / "constants.json").write_text('{"schema_version": 99}', encoding="utf-8")
    with pytest.raises(InputError, match="schema"):
        load(folder)


def test_products_of_amd_reach_what_its_own_library_reaches() -> None:
    kind = shipped()["matmul_w8a8"]
    facts: dict[str, float | str] = {
        "compute_units": 256, "clock_hz": 2.4e9, "memory_bandwidth_bytes_per_s": 8e12, "l2_bytes": 4e6,
        "peak_int8_ops": 5.03e15, "peak_bf16_flops": 2.5e15,
    }  # fmt: skip
    row = np.array([[8.0, 16384.0, 16384.0], [16384.0, 16384.0, 16384.0]])
    amd = Device("amd", {**facts, "compute_capability": "gfx950"})
    other = Device("other", {**facts, "compute_capability": "10.0"})
    decode, prefill = kind.times_us(amd, row) / kind.times_us(other, row)
    assert decode == pytest.approx(0.85 / 0.65, rel=0.1)
    assert prefill > 1.6
    assert (amd.amd, other.amd) == (True, False)


def test_rows_that_mix_to_one_number_stay_apart() -> None:
    rows = np.array([[1e300, 1e-300], [1e300, 2e-300], [3.0, 4.0], [1e300, 1e-300]])
    unique, where = _distinct(rows)
    assert len(unique) == 3
    assert np.array_equal(unique[where], rows)
