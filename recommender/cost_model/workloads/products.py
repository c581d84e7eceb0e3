"""Products of a block on one device, and what every operator of a pass is counted by.

Arrays run over configurations. Times are microseconds, work is floating-point operations.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from recommender.cost_model.facts.device import ELEMENT_BYTES, Device
from recommender.cost_model.facts.model import ROTARY_SIZE, ModelSizes
from recommender.cost_model.facts.physics import PHYSICS, Floats
from recommender.cost_model.settings.plans import CHOICES, FEW_BITS, PRECISIONS

if TYPE_CHECKING:
    from collections.abc import Mapping

    from recommender.cost_model.operators.kinds import Operators
    from recommender.cost_model.operators.network import Target
WEIGHT_BYTES = np.array([ELEMENT_BYTES[name] for name in PRECISIONS])
QUANTISED = [PRECISIONS.index(name) for name in ("int8", "fp8", "w4a8")]
"""Formats whose products take activations of 8 bits."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OperatorCalls:
    """One operator of a block or of a pass.

    Attributes:
        name: What it computes.
        count: Calls.
        us: Time of all of them.
        flops: Operations of the matrix unit in all of them.
        traffic: Bytes that all of them read and write at least.
        group: Setting with its number format; empty for vector work and exchanges.
    """

    name: str
    count: Floats | float
    us: Floats
    flops: Floats | float = 0.0
    traffic: Floats | float = 0.0
    group: str = ""

    def plus(self, other: OperatorCalls) -> OperatorCalls:
        """The sum of both."""
        return replace(
            self,
            count=self.count + other.count,
            us=self.us + other.us,
            flops=self.flops + other.flops,
            traffic=self.traffic + other.traffic,
        )

    def times(self, factor: Floats | float) -> OperatorCalls:
        """So many times as much."""
        return replace(
            self,
            count=self.count * factor,
            us=self.us * factor,
            flops=self.flops * factor,
            traffic=self.traffic * factor,
        )


def stem_and_device(device: Device, index: float) -> tuple[str, str, Device]:
    """Tables and device facts that stand for a precision: other formats change the peak alone.

    Raises:
        InputError: The device does not compute in it.
        MissingFactError: Its peak is not known.
    """
    name = CHOICES["precision"][int(index)]
    peak = device.peak(name)
    # of what is multiplied
    size = {"w4a8": 1.0, "fp4": 1.0}.get(name, 2.0 if name in FEW_BITS else ELEMENT_BYTES[name])
    facts: dict[str, float | str] = dict(device.facts)
    # inside a step every weight comes from memory: the step reads far more than the cache holds
    facts["l2_bytes"] = device.l2_bytes / 64
    if name == "fp4":  # multiplied as it is: no more than half a byte moves
        facts["memory_bandwidth_bytes_per_s"] = 2 * device.memory_bandwidth
    if name in FEW_BITS:
        # as few bytes from memory; with Ascend's cores apart the vector cores hand the widened weight on
        # through L2, kernels of GPUs widen it in registers (Marlin, arXiv:2408.11743)
        passed = size / PHYSICS["cache_over_memory"] if device.ascend and not device.joint else 0.0
        facts["memory_bandwidth_bytes_per_s"] = (
            device.memory_bandwidth * size / (ELEMENT_BYTES[name] + passed)
        )
    if size <= 1:
        facts["peak_int8_ops"] = peak
        if size < 1:  # the table reads a byte an element
            facts["memory_bandwidth_bytes_per_s"] = device.memory_bandwidth / size
        return "matmul_w8a8", "moe_w8a8", Device(device.id, facts)
    facts["peak_bf16_flops"] = peak
    if size == 4:
        facts["memory_bandwidth_bytes_per_s"] = device.memory_bandwidth / 2
    return "matmul_bf16", "moe_bf16", Device(device.id, facts)


def products_us(operators: Operators, device: Device, x: Floats, precisions: Floats) -> Floats:
    """Times of products with rows m, n, k in x, shape (..., 3), one precision per configuration."""
    out = np.zeros(x.shape[:-1])
    for index in np.unique(precisions):
        chosen = precisions == index
        stem, _, where = stem_and_device(device, float(index))
        rows = np.maximum(x[..., chosen, :], 1.0)
        out[..., chosen] = operators[stem].times_us(where, rows.reshape(-1, 3)).reshape(rows.shape[:-1])
    return out


def block_products(
    on: Target,
    model: ModelSizes,
    tokens: Floats,
    settings: Mapping[str, Floats],
    *,
    query: Floats,
    keys: Floats,
    is_one: NDArray[np.bool_],
) -> list[OperatorCalls]:
    """The products of a block; what ``has_prolog`` is one kernel, where ``is_one``."""
    split = settings["tensor_parallel"]
    inner: dict[str, Floats] = {}
    if not model.experts or model.shared:
        width = (model.expert_inner * model.shared if model.experts else model.inner) / split
        inner = _feed_forward(model, tokens, width, "shared " if model.experts else "")
    attention = {**_index_products(model, tokens), **_projections(model, tokens, query, keys, split)}
    calls = []
    for group, shapes in (("precision_attention", attention), ("precision_mlp", inner)):
        if not shapes:
            continue
        precision = settings.get(group, settings["precision"])
        x = np.stack(list(shapes.values()))
        times, work = products_us(on.operators, on.device, x, precision), 2 * np.prod(x, axis=-1)
        size = WEIGHT_BYTES[precision.astype(np.int64)]
        moved = x[..., 1] * x[..., 2] * size + 2 * x[..., 0] * (x[..., 1] + x[..., 2])
        calls += [
            OperatorCalls(name=name, count=1.0, us=us, flops=flops, traffic=bytes_, group=group)
            for name, us, flops, bytes_ in zip(shapes, times, work, moved, strict=True)
        ]
    if np.any(is_one):
        named = {one.name: one for one in calls}
        down, up = named["down to ranks"], named["query"]
        both_us = PHYSICS["prolog_us"] + (down.traffic + up.traffic) / on.device.memory_bandwidth * 1e6
        named["down to ranks"] = replace(down, us=np.where(is_one, both_us, down.us))
        named["query"] = replace(up, us=np.where(is_one, 0.0, up.us))
        calls = [*named.values()]
    return calls


def _projections(
    model: ModelSizes, tokens: Floats, query: Floats, keys: Floats, split: Floats
) -> dict[str, Floats]:
    """Products around the attention as rows m, n, k."""
    hidden = np.full_like(tokens, model.hidden)
    if model.is_linear:
        return {
            "linear attention input": np.column_stack([tokens, model.linear_input / split, hidden]),
            "linear attention output": np.column_stack([tokens, hidden, model.linear_values / split]),
        }
    if not model.query_size:
        return {
            "query, key, value": np.column_stack([tokens, query + keys, hidden]),
            "attention output": np.column_stack([tokens, hidden, query]),
        }
    # compressed rows are made on every device; in decode the products from a row stand around the attention
    heads = model.heads / split
    narrow = np.full_like(tokens, model.query_rank + model.kv_width)
    from_ = np.full_like(tokens, model.query_rank or model.hidden)
    rank = np.full_like(tokens, model.kv_rank)
    up = heads * (model.query_size - ROTARY_SIZE + model.value_size)
    return {
        "down to ranks": np.column_stack([tokens, narrow, hidden]),
        "query": np.column_stack([tokens, heads * model.query_size, from_]),
        "key and value": np.column_stack([tokens, up, rank]),
        "attention output": np.column_stack([tokens, hidden, heads * model.value_size]),
    }


def _index_products(model: ModelSizes, tokens: Floats) -> dict[str, Floats]:
    """Products of an index as rows m, n, k, made on every device; none without it."""
    if not (model.is_indexed and model.index_heads and model.query_size):
        return {}
    both = model.index_width / model.index_heads + model.index_heads
    from_, hidden = (np.full_like(tokens, size) for size in (model.query_rank or model.hidden, model.hidden))
    return {
        "index queries": np.column_stack([tokens, np.full_like(tokens, model.index_width), from_]),
        "index keys": np.column_stack([tokens, np.full_like(tokens, both), hidden]),
    }


def _feed_forward(model: ModelSizes, tokens: Floats, width: Floats, which: str) -> dict[str, Floats]:
    """Products of a feed-forward part as rows m, n, k."""
    hidden = np.full_like(tokens, model.hidden)
    up = 2.0 if model.experts else model.matrices - 1
    return {
        f"{which}gate and up": np.column_stack([tokens, up * width, hidden]),
        f"{which}down": np.column_stack([tokens, hidden, width]),
    }
