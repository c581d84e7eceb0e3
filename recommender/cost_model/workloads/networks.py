"""Networks without blocks: matrix time, vector time and kernels of a pass of convolutions, and memory.

Arrays run over configurations; times are microseconds, for one batch on one device.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from recommender.cost_model.facts.device import ELEMENT_BYTES
from recommender.cost_model.facts.physics import PHYSICS, Floats
from recommender.cost_model.operators.convolution import operator_list
from recommender.cost_model.settings.plans import CHOICES, Columns
from recommender.cost_model.workloads.block import stream_us
from recommender.cost_model.workloads.products import products_us
from recommender.cost_model.workloads.steps import peaks

if TYPE_CHECKING:
    from collections.abc import Sequence

    from recommender.cost_model.facts.device import Device
    from recommender.cost_model.facts.model import ModelSizes
    from recommender.cost_model.operators.convolution import Convolution
    from recommender.cost_model.operators.network import Target


def written_elements(model: ModelSizes) -> float:
    """Elements that the layers of a network write for a sample; 0 if they are not known."""
    layers = operator_list(model.id)
    return sum(layer.activation for layer in layers) if layers else model.activations


def trained_memory_parts(model: ModelSizes, s: Columns, reserved: float) -> dict[str, Floats]:
    """Bytes on a device in training; without activations where nothing says what the layers write."""
    owned = np.full_like(s["micro_batch"], model.known_parameters)
    states = PHYSICS["master_bytes"] + PHYSICS["state_bytes.adam"]
    parts = {
        "weights": owned * 2,
        "gradients": owned * PHYSICS["gradient_bytes"],
        "optimizer": owned * states,
    }
    if elements := written_elements(model):
        parts["activations"] = (
            s["micro_batch"] * elements * PHYSICS["kept_outputs"] * np.maximum(_element_bytes(s), 2.0)
        )
    return {**parts, "reserved": np.full_like(owned, reserved)}


def served_memory_parts(model: ModelSizes, s: Columns, reserved: float) -> dict[str, Floats]:
    """Bytes on a device that answers: the largest output and its input, or all if only their sum is known."""
    layers, batch = operator_list(model.id), s["batch"]
    parameters = model.parameters or sum(layer.parameters for layer in layers)
    parts = {"weights": _element_bytes(s) * parameters}
    if model.layers:
        tokens = s["input_len"] if model.encodes else model.tokens_per_image
        parts["activations"] = batch * 2.0 * tokens * (4 * model.hidden + model.inner)
    elif layers:
        parts["activations"] = batch * 4.0 * max(layer.activation / layer.repeats for layer in layers)
    elif model.activations:
        parts["activations"] = batch * 2.0 * model.activations
    return {**parts, "reserved": np.full_like(batch, reserved)}


def _element_bytes(s: Columns) -> Floats:
    return np.array([ELEMENT_BYTES[CHOICES["precision"][int(index)]] for index in s["precision"]])


def multiplied(device: Device, settings: Columns) -> Floats:
    """The formats that products run in: 32-bit convolutions in TF32 on GPUs of NVIDIA that have it.

    Source:
        https://docs.pytorch.org/docs/stable/notes/cuda.html, ``torch.backends.cudnn.allow_tf32``: on by
        default, as in TensorFlow.
    """
    formats, names = settings["precision"], CHOICES["precision"]
    if not device.nvidia or not device.get("peak_tf32_flops", "measured_peak_tf32_flops"):
        return formats
    return np.where(formats == names.index("fp32"), names.index("tf32"), formats)


def operations_us(
    device: Device, model: ModelSizes, settings: Columns, batch: Floats
) -> tuple[Floats, Floats]:
    """Matrix and vector time of a forward pass of a network known by its operations and what it writes.

    A product takes no less than to read an output of the layer before and to write its own; normalisation and
    activation pass over each output as they do between the convolutions of a list. Where it is not known
    how much a network writes, it is taken to write as much as others of as many operations.
    """
    peak = peaks(device, multiplied(device, settings))
    cube = model.flops_per_sample * batch / (PHYSICS["operations_efficiency"] * peak) * 1e6
    elements = (
        model.activations
        or PHYSICS["usual_elements"] * (model.flops_per_sample / 1e9) ** PHYSICS["elements_power"]
    )
    written = _element_bytes(settings) * batch * elements
    cube = np.maximum(cube, stream_us(device, 2 * written, 0.0))
    return cube, stream_us(device, written * _passes(device, backward=False), 0.0)


def _passes(device: Device, *, backward: bool) -> float:
    """Times that vector kernels read or write each output in a pass.

    Normalisation reads twice and writes, activation reads and writes; a joint core fuses the activation. At
    inference both are folded into the product, and every third layer ends in an addition of two.
    """
    return 3.0 + (1.0 if device.joint else 2.0) if backward else 1.0


def convolutions_us(
    on: Target, layers: Sequence[Convolution], settings: Columns, batch: Floats, *, backward: bool
) -> tuple[Floats, Floats, float]:
    """Matrix time, vector time and number of kernels of one batch, with its gradients or without."""
    device = on.device
    again = 1.0 + (PHYSICS["backward_products"] if backward else 0.0)
    rows = np.array([[layer.product(float(size)) for size in batch] for layer in layers])
    times = products_us(on.operators, device, rows[..., :3], multiplied(device, settings)) * rows[..., 3]
    cube = times.sum(0) * again
    written = _element_bytes(settings) * batch * sum(layer.activation for layer in layers)
    passes = _passes(device, backward=backward)
    kernels = (3.0 if backward else 4.0 / 3.0) * sum(layer.repeats for layer in layers)
    vector = stream_us(device, written * passes * again, kernels * 2.0 if backward else kernels / 4)
    plain = settings["layout"] == CHOICES["layout"].index("nchw")
    if np.any(plain):
        vector = vector + np.where(plain, _conversions_us(device, layers, batch, backward), 0.0)
    return cube, vector, kernels * again


def _conversions_us(device: Device, layers: Sequence[Convolution], batch: Floats, backward: bool) -> Floats:
    """Time to take activations from planes (NCHW) to blocks of channels and back around every convolution.

    Every plane of a channel is one contiguous piece, so small images convert slowly.
    """
    times = PHYSICS["forward_conversions"] + (PHYSICS["backward_conversions"] if backward else 0.0)
    count = float(sum(layer.repeats for layer in layers))
    moved = 4.0 * batch * sum(layer.activation for layer in layers)
    pieces = batch * sum(layer.repeats * layer.filters for layer in layers)
    cores = device.get("vector_cores") or device.cores
    fixed = count * PHYSICS["format_us"] + pieces / cores * PHYSICS["burst_us"]
    return np.asarray(times * (fixed + stream_us(device, moved, count)))
