"""Linear attention against the published times of its kernels."""

from dataclasses import replace

import numpy as np
import pytest

from recommender.cost_model.workloads.linear_attention import decode_us, prefill_us, state_bytes
from recommender.cost_model.workloads.serving_memory import sequence_bytes
from tests.unit.recommender.cost_model.machines import machine_of, model

ONE = np.ones(1)


# 910B2: github.com/huawei-csl/megagdn-pto@3a59190c93, outputs/data/archive/repro_kernel_20260502, Triton kernels of
# vllm-ascend. H100: flashinfer-ai/flashinfer, pull request 3788, FLA.
@pytest.mark.parametrize(
    ("device", "heads", "sequences", "length", "measured_ms"),
    [
        ("ascend-910b2", 16, 16, 8192, 51.3),
        ("ascend-910b2", 48, 16, 8192, 147.0),
        ("h100-sxm", 64, 1, 8192, 1.045),
        ("h100-sxm", 64, 8, 1024, 1.089),
        ("h100-sxm", 8, 1, 65536, 1.954),
    ],
)
def test_kernels_of_a_prefill_take_what_was_measured(
    device: str, heads: float, sequences: float, length: float, measured_ms: float
) -> None:
    sizes = replace(model("qwen3-5-27b"), linear_heads=float(heads))
    where = machine_of(device, 8, "atlas-800t-a2" if "ascend" in device else "").device
    times = prefill_us(where, sizes, sequences * ONE, length * ONE, ONE)
    assert times[0] / 1e3 == pytest.approx(measured_ms, rel=0.15)


def test_a_state_is_read_once_and_written_for_every_drafted_token() -> None:
    sizes, device = model("qwen3-5-27b"), machine_of("ascend-910b2", 8, "atlas-800t-a2").device
    plain, drafted = (decode_us(device, sizes, rows * ONE, 8 * ONE, ONE, 0.7)[0] for rows in (8, 24))
    assert drafted == pytest.approx(2 * plain)
    # 48 heads of 128 x 128 numbers in float32
    assert state_bytes(sizes, ONE)[0] == 48 * 128 * 128 * 4


def test_a_sequence_keeps_its_states_beside_the_cache_of_the_other_blocks() -> None:
    sizes = model("qwen3-5-27b")
    columns = {"tensor_parallel": 2 * ONE, "precision_cache": 0 * ONE, "precision": 0 * ONE}
    short, long = (sequence_bytes(sizes, columns, length * ONE)[0] for length in (1000.0, 2000.0))
    rows = 16 * 2 * sizes.kv_width / 2
    assert long - short == pytest.approx(1000 * rows)
    assert short == pytest.approx(1000 * rows + 48 * state_bytes(sizes, 2 * ONE)[0])


def test_a_hybrid_model_has_the_parameters_that_its_name_says() -> None:
    assert model("qwen3-5-27b").parameters == pytest.approx(27e9, rel=0.08)
    assert model("qwen3-next-80b-a3b").parameters == pytest.approx(80e9, rel=0.03)
