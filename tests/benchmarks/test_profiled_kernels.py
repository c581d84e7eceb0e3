"""Kernels of profiles by name and shapes."""

import numpy as np
import pytest

from benchmarks.cost_models.profiled import kernel_times as kernels
from benchmarks.cost_models.profiled.jobs import bin_of
from benchmarks.cost_models.profiled.kernel import Kernel, parse
from recommender.cost_model.operators.kinds import reference_device, shipped

DEVICE = reference_device()


def us(*found: Kernel) -> list[float]:
    work = kernels.batch(DEVICE, found, shipped()["matmul_bf16"])
    return [float(t) for t in kernels.base(work, kernels.PRIOR)]


def test_shapes_and_types_are_read_as_profiles_write_them() -> None:
    kernel = parse("MatMulV2", "4096,1024;512,1024;", "4096,512", "DT_BF16;DT_BF16", "DT_BF16")
    assert kernel.kind == "MatMul"
    assert kernel.inputs == ((4096, 1024), (512, 1024), ())
    assert kernel.family == "matmul"
    assert kernel.input_bytes == (2, 2)


def test_a_products_size_follows_from_its_output() -> None:
    transposed = parse("MatMulV3", "4096,1536;4096,2048", "1536,2048", "DT_BF16;DT_BF16", "DT_BF16")
    plain = parse("MatMulV3", "1536,4096;2048,4096", "1536,2048", "DT_BF16;DT_BF16", "DT_BF16")
    assert us(transposed) == pytest.approx(us(plain))


def test_float32_products_are_slower() -> None:
    half = parse("MatMul", "2048,2048;2048,2048", "2048,2048", "DT_BF16;DT_BF16", "DT_BF16")
    single = parse("MatMul", "2048,2048;2048,2048", "2048,2048", "FLOAT;FLOAT", "FLOAT")
    assert us(single)[0] > 2 * us(half)[0]


def test_unrecorded_shapes_cost_a_launch() -> None:
    (time,) = us(parse("MemSet", "N/A", "N/A"))
    assert 1 < time < 10


def test_a_bin_with_fewer_cores_is_slower_at_products() -> None:
    product = parse("MatMul", "4096,4096;4096,4096", "4096,4096", "DT_BF16;DT_BF16", "DT_BF16")
    small = bin_of(DEVICE, 20, 1.5e9)
    slow = kernels.base(kernels.batch(small, [product], shipped()["matmul_bf16"]), kernels.PRIOR)[0]
    assert slow > 1.2 * us(product)[0]


def test_short_runs_make_a_change_of_format_slow() -> None:
    """The same bytes in planes of 6 x 6 and of 55 x 55: each contiguous piece is a transfer of its own."""
    short = parse("TransData", "32,2688,6,6", "32,168,6,6,16", "FLOAT", "FLOAT")
    long = parse("TransData", "32,32,55,55", "32,2,55,55,16", "FLOAT", "FLOAT")
    assert us(short)[0] > 2 * us(long)[0]


def test_outputs_that_were_not_recorded_are_written_all_the_same() -> None:
    """Adam reads four tensors and writes three."""
    adam = parse("ApplyAdamWV2", "1000000;1000000;1000000;1000000", "N/A", "FLOAT;FLOAT;FLOAT;FLOAT", "N/A")
    assert adam.traffic == pytest.approx(7 * 4e6)


def test_a_bin_with_fewer_ports_has_less_bandwidth() -> None:
    assert bin_of(DEVICE, 20, 1.5e9).memory_bandwidth == pytest.approx(DEVICE.memory_bandwidth * 30 / 43.2)


def test_factors_shrink_towards_one_with_few_jobs() -> None:
    made = [Kernel("Relu", ((10,),))] * 3
    one = kernels.fit_factors(made, np.full(3, 0.8), ["a"] * 3)
    three = kernels.fit_factors(made, np.full(3, 0.8), ["a", "b", "c"])
    assert 0 < one.of(made)[0] < three.of(made)[0] < 0.8


def test_few_rows_of_float32_wait_for_their_weights_at_the_ports_of_the_cores_at_work() -> None:
    columns, deep = 1024, 8192
    call = parse("MatMul", f"1,{deep};{deep},{columns}", f"1,{columns}", "FLOAT;FLOAT", "FLOAT")
    busy = min(np.ceil(columns / kernels.TILE_COLUMNS), DEVICE.cores)
    ports = 4 * columns * deep / (busy * kernels.PORT_BYTES_PER_CYCLE * DEVICE.clock / 1e6)
    assert (
        ports > 1.5 * 4 * columns * deep / DEVICE.memory_bandwidth * 1e6
    )  # few cores at work: not the memory
    assert ports <= us(call)[0] < 1.5 * ports


def test_leading_sizes_of_an_output_do_not_hide_the_product() -> None:
    plain = parse("MatMulV3", "1536,4096;2048,4096", "1536,2048", "DT_BF16;DT_BF16", "DT_BF16")
    led = parse("MatMulV3", "1,1536,4096;1,2048,4096", "1,1536,2048", "DT_BF16;DT_BF16", "DT_BF16")
    assert us(led) == pytest.approx(us(plain), rel=0.05)
