"""Networks that are lists of convolutions: matrix time, vector time and kernels of a pass.

Arrays run over configurations; times are microseconds, for one batch on one device.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from recommender.cost_model.fit.kernels import BURST_US, FORMAT_US
from recommender.cost_model.settings.plans import CHOICES, Columns
from recommender.cost_model.workloads.block import products_us, stream_us

if TYPE_CHECKING:
    from collections.abc import Sequence

    from recommender.cost_model.facts.device import Device
    from recommender.cost_model.operators.convolution import Convolution
    from recommender.cost_model.operators.kinds import Operators

Floats = NDArray[np.float64]

BACKWARD = 2.0  # two products for one
FORWARD_CONVERSIONS = 2.0  # its input to blocks of channels, its output back
BACKWARD_CONVERSIONS = 4.0  # gradient and input, for either product, and their results (MindStudio profiles)


def convolutions_us(
    operators: Operators,
    device: Device,
    layers: Sequence[Convolution],
    settings: Columns,
    batch: Floats,
    *,
    backward: bool,
) -> tuple[Floats, Floats, float]:
    """Matrix time, vector time and number of kernels of one batch.

    Args:
        operators: Calibrated operators.
        device: Where.
        layers: What.
        settings: Columns with precision and layout.
        batch: Samples, shape (n,).
        backward: Whether gradients are computed too.
    """
    again = 1.0 + (BACKWARD if backward else 0.0)
    rows = np.array([[layer.product(float(size)) for size in batch] for layer in layers])
    times = products_us(operators, device, rows[..., :3], settings["precision"]) * rows[..., 3]
    cube = times.sum(0) * again
    written = 2 * batch * sum(layer.activation for layer in layers)
    # normalisation reads twice and writes, activation reads and writes; a joint core fuses the activation.
    # At inference both are folded into the product, and every third layer ends in an addition of two.
    passes = 3.0 + (1.0 if device.joint else 2.0) if backward else 1.0
    kernels = (3.0 if backward else 4.0 / 3.0) * sum(layer.repeats for layer in layers)
    vector = stream_us(
        operators, device, written * passes * again, kernels * 2.0 if backward else kernels / 4
    )
    plain = settings["layout"] == CHOICES["layout"].index("nchw")
    if np.any(plain):
        vector = vector + np.where(plain, _conversions_us(operators, device, layers, batch, backward), 0.0)
    return cube, vector, kernels * again


def _conversions_us(
    operators: Operators, device: Device, layers: Sequence[Convolution], batch: Floats, backward: bool
) -> Floats:
    """Time to take activations from planes (NCHW) to blocks of channels and back around every convolution.

    Every plane of a channel is one contiguous piece, so small images convert slowly.
    """
    times = FORWARD_CONVERSIONS + (BACKWARD_CONVERSIONS if backward else 0.0)
    count = float(sum(layer.repeats for layer in layers))
    moved = 4.0 * batch * sum(layer.activation for layer in layers)
    pieces = batch * sum(layer.repeats * layer.filters for layer in layers)
    cores = device.get("vector_cores") or device.cores
    fixed = count * FORMAT_US + pieces / cores * BURST_US
    return np.asarray(times * (fixed + stream_us(operators, device, moved, count)))
