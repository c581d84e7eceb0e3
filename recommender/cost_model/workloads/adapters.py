"""Low-rank adapters (LoRA): what is trained beside frozen weights, and what the adapters cost.

A product ``W x`` becomes ``W x + B A x`` with ``rank x inputs`` parameters in A and ``outputs x rank`` in B
(Hu et al. 2021). Every product of a block has an adapter (as in QLoRA, Dettmers et al. 2023) but those of the
routed experts; embedding and head have none.
"""

import numpy as np

from recommender.cost_model.facts.device import Device
from recommender.cost_model.facts.model import ModelSizes
from recommender.cost_model.facts.physics import PHYSICS, Floats
from recommender.cost_model.settings.plans import Columns
from recommender.cost_model.workloads.block import stream_us


def adapter_parameters(model: ModelSizes, rank: Floats) -> Floats:
    """Parameters of the adapters of all blocks."""
    return rank * model.layers * sum(sum(ends) for ends in _products(model))


def adapter_kernels(model: ModelSizes, s: Columns, redo: Floats) -> Floats:
    """Kernels of the adapters of one block in a step; 0 without adapters."""
    products = _products(model)
    count = len(products) * (
        PHYSICS["adapter_forward_kernels"] * (1 + redo) + PHYSICS["adapter_backward_kernels"]
    )
    each = PHYSICS["peft_kernels"] * (1 + redo) + PHYSICS["peft_backward_kernels"]
    count = np.where(s["autocast"] > 0, sum(_parts(model)) * each, count)
    return np.where(s["lora_rank"] > 0, count, 0.0)


def adapters_us(device: Device, model: ModelSizes, tokens: Floats, s: Columns, redo: Floats) -> Floats:
    """Time of the adapters of one block in a step with ``redo`` repeated forward passes; 0 without adapters.

    Their products have few operations for a byte, so memory decides. Forward the input is read, the output
    written, and to add it two are read and one is written. Backward the output's gradient is read twice, the
    input once, and its gradient is written, and two are read and one is written to add it.
    """
    inputs, outputs = (sum(ends) for ends in zip(*_products(model), strict=True))
    width = (1 + redo) * (inputs + 4 * outputs) + 5 * inputs + 2 * outputs
    # PEFT has an adapter for each matrix, casts its input to float32 and back, and scales what it gives
    apart = sum(size * parts for (size, _), parts in zip(_products(model), _parts(model), strict=True))
    peft = (1 + redo) * (7 * apart + 6 * outputs) + 11 * apart + 4 * outputs
    width = np.where(s["autocast"] > 0, peft, width)
    moved = tokens * width / s["tensor_parallel"] * 2
    return np.where(s["lora_rank"] > 0, stream_us(device, moved, adapter_kernels(model, s, redo)), 0.0)


def _parts(model: ModelSizes) -> list[float]:
    """Matrices that each of the products of a block joins."""
    attention = [1.0] * 4 if model.query_size else [3.0, 1.0]
    return [*attention, *([model.matrices - 1, 1.0] if len(_products(model)) > len(attention) else [])]


def _products(model: ModelSizes) -> list[tuple[float, float]]:
    """Inputs and outputs of the products of a block, those that read the same input as one."""
    hidden = model.hidden
    if model.query_size:
        inner = model.heads * model.value_size
        narrow = model.query_rank or hidden
        products = [
            (hidden, model.query_rank + model.kv_width),
            (narrow, model.heads * model.query_size),
            (model.kv_rank, inner + model.heads * (model.query_size - (model.kv_width - model.kv_rank))),
            (inner, hidden),
        ]
    else:
        inner = model.heads * model.head_size
        products = [(hidden, inner + 2 * model.kv_heads * model.head_size), (inner, hidden)]
    wide = model.expert_inner * model.shared if model.experts else model.inner
    if wide:
        products += [(hidden, (model.matrices - 1) * wide), (wide, hidden)]
    return products
