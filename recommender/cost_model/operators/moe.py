"""The expert part of a mixture-of-experts layer: two grouped products, activation, unpermutation.

Tokens choose experts at random, so an expert sees a Poisson number of rows: some experts see none
(their weights are not read), some need one tile of rows more than the mean says. Microseconds.
"""

from collections.abc import Mapping

import numpy as np

from kg.errors import InputError
from recommender.cost_model.facts.device import ELEMENT_BYTES, Device, precision
from recommender.cost_model.facts.physics import PHYSICS, Floats

TILE = 128  # rows of a grouped-matmul tile
GPU_TILE = 16  # the fewest of a kernel of GPUs, which is chosen by the mean rows (tl.dot; fused_moe of vLLM)


def analytic(
    device: Device, x: Floats, constants: Mapping[str, float], *, number: str
) -> tuple[Floats, Floats]:
    """Times, shape (r,), and features, shape (r, 4).

    Args:
        device: The device that runs it.
        x: Rows of the kind; num_tokens are all tokens of the expert-parallel group.
        constants: Of the kind.
        number: Precision of weights and activations.

    Raises:
        InputError: A size below one, or more choices than experts.
    """
    if np.any(x < 1) or not np.all(np.isfinite(x)):
        raise InputError("moe: every size must be at least 1")
    tokens, hidden, inner, experts, chosen, _, local = x.T
    if np.any(chosen > experts) or np.any(local > experts):
        raise InputError("moe: a token cannot choose, nor a device hold, more experts than there are")
    short = precision(number)
    size = ELEMENT_BYTES[short]
    nominal = device.memory_bandwidth / 1e6
    rate = tokens * chosen / experts
    active = local * (1 - (1 - chosen / experts) ** tokens)
    tall = np.full_like(rate, TILE)
    if not device.ascend:
        tall = np.clip(2 ** np.ceil(np.log2(np.maximum(rate, 1.0))), GPU_TILE, TILE)
    tiles = local * np.maximum(_mean_tiles(rate, tall), active / local)
    weight = 3 * hidden * inner * size
    stream = weight * (active + constants["again_share"] * (tiles - active))
    stream = stream / (nominal * constants["memory_share"])
    compute = tiles * tall * 6 * hidden * inner / (device.peak(short) / 1e6 * constants["efficiency"])
    routed = rate * local
    moved = routed * (hidden * 2 + inner * 6) / (nominal * constants["move_share"])
    unpermuted = gathered_us(device, tokens * chosen, hidden, constants)
    time = constants["launch_us"] + (stream**4 + compute**4) ** 0.25 + moved + unpermuted
    features = np.column_stack(
        [np.log2(rate) / 4, np.log2(compute / stream) / 3, np.log2(time) / 4, np.log2(routed) / 4]
    )
    return time, features


def few_rows_us(device: Device, x: Floats, number: str, launch_us: float) -> Floats:
    """Time of grouped products of few rows inside a step: each expert that is met is read once.

    Args:
        device: The device that runs it.
        x: Rows of the kind.
        number: Precision of weights and activations.
        launch_us: Fixed cost of its kernels.
    """
    tokens, hidden, inner, experts, chosen, _, local = x.T
    short = precision(number)
    met = local * (1 - (1 - chosen / experts) ** tokens)
    rows = (
        np.ceil(tokens * chosen / experts * local / np.maximum(met, 1e-9) / PHYSICS["cube_rows"])
        * PHYSICS["cube_rows"]
    )
    weight = 3 * hidden * inner * ELEMENT_BYTES[short]
    stream = met * weight / (device.memory_bandwidth * PHYSICS["stream_share"])
    compute = met * rows * 6 * hidden * inner / device.peak(short)
    return np.asarray(launch_us + np.maximum(stream, compute) * 1e6)


def gathered_us(
    device: Device, rows: Floats, hidden: Floats | float, constants: Mapping[str, float]
) -> Floats:
    """Time to bring rows of experts back into the order of their tokens."""
    bandwidth = device.memory_bandwidth / 1e6 * constants["unpermute_share"]
    return np.asarray(rows * hidden * 2 / bandwidth)


def _mean_tiles(rate: Floats, tall: Floats) -> Floats:
    """Mean of ``ceil(N / tall)`` for Poisson N with the given rates, by the normal approximation."""
    spread = np.sqrt(2 * rate + 1e-9)
    total = 1 - np.exp(-rate)
    for edge in range(1, min(int(np.max(rate / tall, initial=0.0)) + 6, 64)):
        total = total + 0.5 * (1 - _erf((edge * tall + 0.5 - rate) / spread))
    return np.asarray(np.maximum(total, rate / tall), dtype=np.float64)


def _erf(z: Floats) -> Floats:
    """Error function to 1.5e-7 (Abramowitz and Stegun 7.1.26)."""
    t = 1 / (1 + 0.3275911 * np.abs(z))
    terms = (1.061405429, -1.453152027, 1.421413741, -0.284496736, 0.254829592)
    poly = np.zeros_like(z)
    for term in terms:
        poly = poly * t + term
    with np.errstate(under="ignore"):
        return np.asarray(np.sign(z) * (1 - poly * t * np.exp(-z * z)), dtype=np.float64)


def engines_sharing(settings: Mapping[str, Floats]) -> Floats:
    """Engines whose rows meet at the experts of a group: those that share them and bring any in this pass."""
    sharing = np.maximum(settings["expert_parallel"] / settings["tensor_parallel"], 1.0)
    return np.asarray(np.maximum(sharing * settings.get("rows_share", 1.0), 1.0))


def busiest(rows: Floats, devices: Floats) -> Floats:
    """Rows on the busiest of ``devices`` over the mean of ``rows`` a device, for random routing.

    The largest of ``devices`` nearly normal counts exceeds the mean by ``sqrt(2 ln devices)``
    standard deviations.
    """
    beyond = np.sqrt(2 * np.log(np.maximum(devices, 1.0))) / np.sqrt(np.maximum(rows, 1e-9))
    return np.asarray(1.0 + np.where((devices > 1) & (rows > 0), beyond, 0.0))
