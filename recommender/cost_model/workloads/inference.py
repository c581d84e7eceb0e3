"""One forward pass of a batch: convolutional networks, vision transformers and encoders of text.

Every device works on its own batch.

Arrays run over configurations.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from recommender.cost_model.facts.physics import PHYSICS, Floats
from recommender.cost_model.operators.convolution import operator_list
from recommender.cost_model.settings.plans import Columns, rule, with_groups
from recommender.cost_model.workloads.block import PassSizes, forward
from recommender.cost_model.workloads.networks import (
    convolutions_us,
    operations_us,
    served_memory_parts,
)
from recommender.cost_model.workloads.steps import PARTS, Steps, peaks, power_w

if TYPE_CHECKING:
    from recommender.cost_model.facts.model import ModelSizes
    from recommender.cost_model.operators.network import Target


def feeds_forward(model: ModelSizes, phase: str) -> bool:
    """True if work comes in samples, for each device its own: no blocks, or blocks that read an image.

    An encoder of text is served so; trained it is divided like other networks with blocks.
    """
    if model.encodes:
        return phase == "serving"
    return not model.layers or (model.tokens_per_image > 0 and not model.causal)


def complete_columns(settings: Columns, devices: Floats) -> Columns:
    """The columns with the tensor split filled in.

    Raises:
        LayoutError: A layout other than one replica per device.
    """
    s = with_groups(settings)
    alone = (
        np.isin(s["tensor_parallel"], (0, 1)) & (s["pipeline_parallel"] == 1) & (s["expert_parallel"] == 1)
    )
    rule(alone, "a network of one pass is split by data alone")
    rule((s["data_parallel"] == 1) | (s["data_parallel"] == devices), "data must be the number of devices")
    s["tensor_parallel"] = np.ones_like(devices)
    return s


def inference_step(on: Target, model: ModelSizes, settings: Columns, devices: Floats) -> Steps:
    """Costs of one batch of ``batch`` samples on each device.

    Raises:
        InputError: A layout other than one replica per device, or a precision that the device lacks.
        MissingFactError: A fact that the answer needs is unknown.
    """
    device = on.device
    s = complete_columns(settings, devices)
    batch = s["batch"]
    layers = operator_list(model.id)
    spread = PHYSICS["spread"]
    scheduling = np.zeros_like(batch)
    flops = model.flops_per_sample * batch
    if model.layers:
        length = s["input_len"] if model.encodes else np.full_like(batch, model.tokens_per_image)
        work = forward(on, model, s, PassSizes(tokens=batch * length, sequences=batch, length=length))
        matrix = model.layers * (work.cube_us + work.attention_us + work.experts_us - work.launch_us)
        scheduling = model.layers * work.launch_us
        vector, kernels, flops = (
            model.layers * work.vector_us,
            model.layers * work.kernels,
            model.layers * work.flops,
        )
    elif layers:
        matrix, vector, count = convolutions_us(on, layers, s, batch, backward=False)
        kernels = np.full_like(batch, count)
    else:
        matrix, vector = operations_us(device, model, s, batch)
        kernels = np.zeros_like(batch)
        spread = PHYSICS["operations_spread"]
    launched = (
        kernels
        * PHYSICS["training_host_us"]
        * np.where(s["graph"] > 0, PHYSICS["inference_graph_share"], 1.0)
    )
    host = np.maximum(launched - matrix - vector - scheduling, 0.0)
    split = dict.fromkeys(PARTS, np.zeros_like(batch)) | {
        "compute": matrix / 1e6, "memory": vector / 1e6, "scheduling": scheduling / 1e6, "host": host / 1e6,
    }  # fmt: skip
    time = np.asarray(sum(split.values()), dtype=np.float64)
    use = flops / time / peaks(device, s["precision"])
    power = power_w(device, active=(split["compute"] + split["memory"]) / time, cube_use=use)
    throughput = devices * batch / time
    memory = served_memory_parts(model, s, device.reserved_bytes)
    extra = {"cube_use": use, "batch_s": time, "request_s": time}  # a request waits for its batch
    if power is not None:
        extra["energy_per_sample_j"] = power * devices / throughput
    return Steps(
        time_s=time,
        split_s=split,
        hidden_s=np.zeros_like(batch),
        throughput=throughput,
        unit="samples/s",
        memory_bytes=memory,
        capacity_bytes=device.memory_capacity if "activations" in memory else math.nan,
        power_w=power,
        energy_j=None if power is None else power * time * devices,
        devices=devices,
        spread=spread,
        extra=extra,
    )
