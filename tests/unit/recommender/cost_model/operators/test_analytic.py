"""The formula of a matrix product, without what was learned on top of it."""

import numpy as np
import pytest

from recommender.cost_model.operators.analytic import products
from recommender.cost_model.operators.kinds import KINDS, reference_device

DEVICE = reference_device()
PRIOR = KINDS["matmul_bf16"].prior
SHAPES = np.array([[1.0, 8192, 8192], [64, 4096, 4096], [512, 4096, 4096], [4096, 4096, 4096]])


def us(**changed: float) -> np.ndarray:
    """Times without the launch."""
    constants = {**PRIOR, **changed}
    times, _ = products(DEVICE, SHAPES, constants, number="bfloat16")
    return np.asarray(times - constants["launch_us"])


def test_cores_and_stream_overlap_but_not_for_nothing() -> None:
    """The fourth root of the sum of fourth powers: a fifth above the longer where both take as long."""
    together = us()
    cores = us(memory_share=1e9, cache_share=1e9)
    stream = us(efficiency=1e9, core_bytes_per_cycle=1e12)
    assert together == pytest.approx((cores**4 + stream**4) ** 0.25, rel=1e-6)
    assert (together > np.maximum(cores, stream)).all()
    assert (together <= 2**0.25 * np.maximum(cores, stream) * (1 + 1e-9)).all()


def test_a_thin_product_is_bound_by_its_weight_and_a_square_one_by_the_cores() -> None:
    cores, stream = us(memory_share=1e9, cache_share=1e9), us(efficiency=1e9, core_bytes_per_cycle=1e12)
    assert stream[0] > cores[0]
    assert cores[-1] > stream[-1]
    at_peak = 2 * 4096**3 / (DEVICE.peak("bf16") * PRIOR["efficiency"]) * 1e6
    assert at_peak <= cores[-1] < 2 * at_peak
