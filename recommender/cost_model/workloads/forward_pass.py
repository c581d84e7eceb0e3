"""One forward pass of a decoder while serving: its blocks, what they exchange, the output head, and drafts.

Arrays run over configurations. Times are microseconds.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from recommender.cost_model.facts.physics import PHYSICS, Floats, physics_of
from recommender.cost_model.operators import moe
from recommender.cost_model.operators.network import Target, collective_us, point_us
from recommender.cost_model.settings.drafts import passes
from recommender.cost_model.settings.plans import PRECISIONS, Columns
from recommender.cost_model.workloads.block import BlockWork, PassSizes, forward
from recommender.cost_model.workloads.launching import captured_share, drafting_launched_us, launched_us
from recommender.cost_model.workloads.products import QUANTISED, WEIGHT_BYTES, OperatorCalls, products_us

if TYPE_CHECKING:
    from recommender.cost_model.facts.model import ModelSizes


def busiest(model: ModelSizes, s: Columns, tokens: Floats) -> Floats:
    """Rows on the busiest device of the expert-parallel group over the mean, for random routing."""
    ep = s["expert_parallel"]
    rows = tokens * moe.engines_sharing(s) * model.chosen / np.maximum(ep, 1.0)
    return np.where(ep > 1, moe.busiest(rows, ep), 1.0)


def _exchange_us(
    on: Target, model: ModelSizes, s: Columns, sizes: PassSizes, captured: NDArray[np.bool_]
) -> Floats:
    """Dispatch and combine of one block: tokens go out as the experts take them, and come back in 16 bit.

    Decode steps on a switched plane of dies have kernels that take rows one by one.
    """
    tp, ep = s["tensor_parallel"], s["expert_parallel"]
    rows = sizes.tokens * model.chosen / np.where(ep > 1, np.minimum(tp, ep), 1.0)
    network = on.network
    one = np.ones_like(ep)
    wide = np.where(np.isin(s["precision_mlp"], QUANTISED), 1 + PHYSICS["scale_bytes"] / model.hidden, 2.0)
    out, back = (
        collective_us(network, on.operators, "all_to_all", rows * model.hidden * size, ep, one, captured)
        for size in (wide, 2.0)
    )
    least = PHYSICS["exchange_us"] if on.device.ascend else 0.0
    if sizes.phase == "decode" and network.plane:
        measured = physics_of("exchange_row_us")
        each = np.interp(np.log2(ep), np.log2([float(ranks) for ranks in measured]), [*measured.values()])
        out, back = (np.where(ep <= network.per_node, least + rows * each, one) for one in (out, back))
    return np.where(ep > 1, np.maximum(out, least) + np.maximum(back, least), 0.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class ForwardPass:
    """Times of one forward pass.

    Attributes:
        device_us: Of the kernels of a device.
        wire_us: Of exchanges.
        host_us: Of the launches by the host; where it is longer than the others, it decides.
        block: The mean block.
        calls: Its operators, exchanges among them.
    """

    device_us: Floats
    wire_us: Floats
    host_us: Floats
    block: BlockWork
    calls: tuple[OperatorCalls, ...]


def forward_pass(on: Target, model: ModelSizes, s: Columns, sizes: PassSizes, logits: Floats) -> ForwardPass:
    """One forward pass over all blocks, and the output head for so many rows."""
    network, operators, tokens, phase = on.network, on.operators, sizes.tokens, sizes.phase
    tp = s["tensor_parallel"]
    if model.experts:
        s = {**s, "expert_imbalance": np.maximum(s["expert_imbalance"], busiest(model, s, tokens))}
    work = forward(on, model, s, sizes)
    size = tokens * model.hidden * 2
    one = np.ones_like(tp)
    level = captured_share(s, tokens, phase)
    captured = level > 0
    plain = 2 * collective_us(network, operators, "all_reduce", size, tp, one, captured)
    # FlashComm: scatter and gather instead of all-reduce, norms split, activations quantised or not
    share = size / tp
    parts = (
        collective_us(network, operators, name, share, tp, one, captured)
        for name in ("all_gather", "reduce_scatter")
    )
    wire = np.where(s["sequence_parallel"] > 0, 2 * sum(parts), plain)
    calls = [*work.calls, OperatorCalls(name="collectives of tensor parallelism", count=2.0, us=wire)]
    if model.experts:
        exchange = _exchange_us(on, model, s, sizes, captured)
        # in one kernel with the experts, the exchange runs behind them
        exchange = np.where(s["fused_dispatch"] > 0, np.maximum(exchange - work.experts_us, 0.0), exchange)
        exchange = exchange * (1 - model.dense_layers / model.layers)
        calls.append(OperatorCalls(name="exchange of experts", count=2.0, us=exchange))
        wire = wire + exchange
    head = _head(on, model, s, logits, np.full_like(tp, model.vocabulary))
    host = model.layers * launched_us(on.device, s, level, work, phase)
    stages = s["pipeline_parallel"]
    uneven = np.ceil(model.layers / stages) * stages  # the longest stage sets the pace
    far = tp * stages > network.per_node
    hops = (stages - 1) * point_us(network, np.where(stages > 1, size / tp, 0.0), far)
    return ForwardPass(
        device_us=uneven * work.device_us + head.us,
        wire_us=uneven * wire + hops,
        host_us=host,
        block=work,
        calls=(
            *(one.times(uneven) for one in calls),
            head,
            OperatorCalls(name="sends between stages", count=stages - 1, us=hops),
        ),
    )


def _head(on: Target, model: ModelSizes, s: Columns, rows: Floats, vocabulary: Floats) -> OperatorCalls:
    """The output head for so many rows that choose among so many tokens; bf16 is the device's own 16 bit."""
    x = np.column_stack([rows, vocabulary / s["tensor_parallel"], np.full_like(rows, model.hidden)])
    precision = np.where(
        s["precision_head"] == 0, PRECISIONS.index(on.device.sixteen_bit), s["precision_head"]
    )
    return OperatorCalls(
        name="output head", count=1.0, flops=2 * np.prod(x, axis=-1), group="precision_head",
        us=products_us(on.operators, on.device, x, precision) if model.vocabulary else np.zeros_like(rows),
        traffic=x[:, 1] * x[:, 2] * WEIGHT_BYTES[precision.astype(np.int64)],
    )  # fmt: skip


def drafting_us(on: Target, model: ModelSizes, s: Columns, done: ForwardPass, sequences: Floats) -> Floats:
    """Time to draft after a decode pass of so many sequences: each of a draft takes its blocks and a head.

    A draft's tokens are chosen from its own logits (``compute_logits`` in vllm/v1/spec_decode/eagle.py).
    """
    times, blocks, rows, vocabulary = passes(s["speculative_tokens"], s["draft_method"], s["draft_steps"])
    head = _head(on, model, s, sequences * rows, np.minimum(vocabulary, model.vocabulary))
    block_us = done.block.device_us + done.wire_us / model.layers
    launched = drafting_launched_us(on.device, s, done.block)
    return np.asarray(times * (blocks * np.maximum(block_us, launched) + head.us))
