"""Expert layers: rows and tiles as chance spreads them, checked against exact sums."""

import math

import numpy as np
import pytest

from recommender.cost_model.facts.device import Device
from recommender.cost_model.facts.physics import PHYSICS
from recommender.cost_model.operators.kinds import KINDS, reference_device
from recommender.cost_model.operators.moe import TILE, analytic, busiest, few_rows_us, gathered_us

DEVICE = reference_device()
PRIOR = KINDS["moe_bf16"].prior
ROW = {
    "tokens": 4096, "hidden": 2048, "inner": 768, "experts": 128, "chosen": 8, "ep": 8, "local": 16,
}  # fmt: skip


def layer(*, number: str = "bf16", device: Device = DEVICE, **change: float) -> float:
    x = np.array([[float(value) for value in {**ROW, **change}.values()]])
    return float(analytic(device, x, PRIOR, number=number)[0][0])


def poisson_tiles(rate: float) -> float:
    """Mean of ceil(N / TILE) for Poisson N, term by term."""
    return sum(
        math.ceil(n / TILE) * math.exp(n * math.log(rate) - rate - math.lgamma(n + 1))
        for n in range(1, int(rate + 12 * math.sqrt(rate) + 12))
    )


@pytest.mark.parametrize("tokens", [200, 2048, 6000])
def test_compute_is_that_of_the_tiles_that_chance_gives(tokens: int) -> None:
    """Where computing decides: a device whose memory is no bound."""
    free = Device("fast", {**DEVICE.facts, "memory_bandwidth_bytes_per_s": 1e20})
    rate = tokens * 8 / 128
    peak = DEVICE.peak("bf16") * PRIOR["efficiency"] / 1e6
    expected = PRIOR["launch_us"] + 16 * poisson_tiles(rate) * TILE * 6 * 2048 * 768 / peak
    assert layer(device=free, tokens=tokens) == pytest.approx(expected, rel=0.02)


def test_few_tokens_read_the_weights_of_the_experts_that_they_chose() -> None:
    bandwidth = DEVICE.memory_bandwidth / 1e6
    share = 1 - (1 - 8 / 128) ** 4
    moved = 4 * 8 / 128 * 16 * (2048 * 2 + 768 * 6) / (bandwidth * PRIOR["move_share"])
    gathered = 4 * 8 * 2048 * 2 / (bandwidth * PRIOR["unpermute_share"])
    weights = 16 * share * 3 * 2048 * 768 * 2 / (bandwidth * PRIOR["memory_share"])
    expected = PRIOR["launch_us"] + weights + moved + gathered
    assert layer(tokens=4) == pytest.approx(expected, rel=0.02)
    assert layer(tokens=4, number="int8") < layer(tokens=4)
    assert gathered_us(DEVICE, np.array([32.0]), 2048, PRIOR)[0] == pytest.approx(gathered)


def test_the_busiest_device_is_as_far_above_the_mean_as_the_largest_of_so_many() -> None:
    rng = np.random.default_rng(1)
    counts = rng.normal(1000, math.sqrt(1000), (4000, 64)).max(axis=1).mean() / 1000
    assert busiest(np.array([1000.0]), np.array([64.0]))[0] == pytest.approx(counts, abs=0.02)
    assert busiest(np.array([1000.0, 0.0]), np.array([1.0, 64.0])).tolist() == [1.0, 1.0]
    assert busiest(np.array([0.5]), np.array([64.0]))[0] > counts  # fewer rows than devices


def test_experts_that_are_met_are_read_once_at_the_speed_of_the_memory() -> None:
    place = Device(
        "die", {"memory_bandwidth_bytes_per_s": 1.6e12, "peak_int8_ops": 7e14, "peak_bf16_flops": 3.5e14}
    )
    rows = np.array(
        [[tokens, 6144, 2048, 256, 8, 8, 32] for tokens in (1e-6, 8, 1000, 4000)], dtype=np.float64
    )
    times = few_rows_us(place, rows, "int8", 26.0)
    all_weights = 32 * 3 * 6144 * 2048 / 1.6e6
    assert times[0] == pytest.approx(26.0, abs=0.01)
    assert times[1] - 26.0 == pytest.approx(
        all_weights / PHYSICS["stream_share"] * (1 - (1 - 8 / 256) ** 8), rel=1e-6
    )
    assert times[2] - 26.0 >= all_weights / PHYSICS["stream_share"] * (1 - 1e-9)
    assert times[3] > times[2] > times[1]
