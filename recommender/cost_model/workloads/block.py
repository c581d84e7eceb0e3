"""One transformer block on one device: its products, attention, experts and vector work.

Arrays run over configurations. Times are microseconds, work is floating-point operations.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from recommender.cost_model.facts.model import blocks_of
from recommender.cost_model.facts.physics import PHYSICS, Floats, physics_of
from recommender.cost_model.operators import moe
from recommender.cost_model.workloads import linear_attention
from recommender.cost_model.workloads.attention_kinds import (
    AttentionWork,
    attention_us,
    cache_bytes,
    has_prolog,
    index_split,
)
from recommender.cost_model.workloads.products import (
    QUANTISED,
    WEIGHT_BYTES,
    OperatorCalls,
    block_products,
    products_us,
    stem_and_device,
)

if TYPE_CHECKING:
    from recommender.cost_model.facts.device import Device
    from recommender.cost_model.facts.model import ModelSizes
    from recommender.cost_model.operators.kinds import Operators
    from recommender.cost_model.operators.network import Target
POISSON = ((-(3**0.5), 1 / 6), (0.0, 2 / 3), (3**0.5, 1 / 6))
"""Standard deviations and weights of a three-point mean over the rows of an expert (Gauss-Hermite)."""


@dataclass(frozen=True, slots=True)
class BlockWork:
    """Time and work of a block, or of the mean block.

    Attributes:
        cube_us: Matrix products.
        attention_us: Attention.
        growing_us: Part of it that looks at all positions.
        experts_us: Routed experts.
        vector_us: Norms, activations, rotary embedding, residuals.
        launch_us: Part of cube, attention and experts that is the fixed cost of launching them.
        kernels: Kernels launched.
        flops: Operations of the matrix unit.
        calls: Its operators.
    """

    cube_us: Floats
    attention_us: Floats
    growing_us: Floats
    experts_us: Floats
    vector_us: Floats
    launch_us: Floats
    kernels: Floats
    flops: Floats
    calls: tuple[OperatorCalls, ...]

    @property
    def device_us(self) -> Floats:
        """Device time of all parts, one after the other."""
        return np.asarray(self.cube_us + self.attention_us + self.experts_us + self.vector_us)


def mean_block(shares: Sequence[float], works: Sequence[BlockWork]) -> BlockWork:
    """The mean of blocks of several kinds, each with its share; their operators by name.

    Args:
        shares: Of the blocks of each kind.
        works: Of one of each.
    """
    merged: dict[str, OperatorCalls] = {}
    for share, work in zip(shares, works, strict=True):
        for call in work.calls:
            one = call.times(share)
            merged[one.name] = merged[one.name].plus(one) if one.name in merged else one
    sums = {
        field.name: sum(share * getattr(work, field.name) for share, work in zip(shares, works, strict=True))
        for field in fields(BlockWork)
        if field.name != "calls"
    }
    return BlockWork(**sums, calls=tuple(merged.values()))


def stream_us(device: Device, bytes_: Floats, kernels: Floats | float = 1.0) -> Floats:
    """Time of vector kernels that move ``bytes_`` in all."""
    bandwidth = device.memory_bandwidth * PHYSICS["vector.memory_share"] / 1e6
    return np.asarray(kernels * PHYSICS["vector.launch_us"] + bytes_ / bandwidth)


@dataclass(frozen=True, slots=True, kw_only=True)
class PassSizes:
    """Sizes of a forward pass on one device.

    Attributes:
        tokens: Rows of the products.
        sequences: Sequences whose attention runs here.
        length: Their length, or what is cached (decode).
        phase: ``"prefill"`` or ``"decode"``.
        attention_parts: Devices that share the attention of one sequence (context parallel).
        span: First and last position of the queries of a prefill, where its pieces are of one prompt.
    """

    tokens: Floats
    sequences: Floats
    length: Floats
    phase: str = "prefill"
    attention_parts: Floats | float = 1.0
    span: tuple[Floats, Floats] | None = None


def forward(on: Target, model: ModelSizes, settings: Mapping[str, Floats], sizes: PassSizes) -> BlockWork:
    """The forward pass of a block; the mean over all, each kind as often as a model has it."""
    kinds = blocks_of(model)
    if len(kinds) > 1:
        works = [forward(on, block, settings, sizes) for _, block in kinds]
        return mean_block([count / model.layers for count, _ in kinds], works)
    model = next(block for _, block in kinds)
    operators, device, phase = on.operators, on.device, sizes.phase
    tokens, sequences, length = sizes.tokens, sizes.sequences, sizes.length
    split = settings["tensor_parallel"]
    eager, is_cast = _eager(settings, tokens)
    # LayerNorm and GELU are kernels of PyTorch
    fused = np.maximum(settings["fused_ops"], eager & (not model.is_gated))
    query = model.heads * model.head_size / split
    keys = np.maximum(2 * model.kv_heads * model.head_size / split, 2 * model.head_size)
    is_one = has_prolog(device, model, tokens, settings, phase)
    calls = block_products(on, model, tokens, settings, query=query, keys=keys, is_one=is_one)
    cube = np.asarray(sum(one.us for one in calls), dtype=np.float64)
    flops = np.asarray(sum(one.flops for one in calls), dtype=np.float64)

    attention_work = AttentionWork(
        sequences=sequences,
        length=length,
        split=split,
        phase=phase,
        cache_bytes=cache_bytes(settings),
        index_split=index_split(settings, phase),
        queries=tokens / np.maximum(sequences, 1.0) if phase == "decode" else 1.0,
        span=sizes.span,
    )
    attend, growing = (part / sizes.attention_parts for part in attention_us(on, model, attention_work))
    pairs = sequences * length * (length if phase == "prefill" else 1.0) / sizes.attention_parts
    seen = 0.5 if model.causal and phase == "prefill" else 1.0
    attention_flops = 4 * pairs * (model.heads / split) * model.head_size * seen
    attend = attend + _scores_us(device, model, settings, pairs, eager)

    experts, expert_flops = _experts(on, model, tokens, settings, phase)
    along = np.where(settings["sequence_parallel"] > 0, split, 1.0)
    norms = 8 * model.hidden / along * np.where(fused > 0, 1.0, PHYSICS["unfused_norm"])
    residual = 12 * model.hidden / along * np.where(fused > 0, 0.5, 1.0)
    rotary = (
        4 * (query + keys / 2) * np.where(fused > 0, 1.0, PHYSICS["unfused_rotary"]) if model.causal else 0.0
    )
    active_inner = model.expert_inner * model.shared / split if model.experts else model.inner / split
    passes = np.where(fused > 0, 2.0 * model.matrices, 2.0 * model.matrices + 4.0)
    epilogue = 0.5 if device.joint else 1.0  # a joint core applies the activation before it writes
    # what enters and leaves norms is float32 under autocast
    moved = tokens * (
        np.where(is_cast, 2.0, 1.0) * (norms + residual) + rotary + active_inner * passes * epilogue
    )
    moved = moved + tokens * model.is_linear * linear_attention.moved_bytes(model) / split
    kernels = np.where(fused > 0, PHYSICS["fused_kernels"], PHYSICS["unfused_kernels"]) + more_kernels(
        model, settings
    )
    # the table of products in 8 bits has the quantisation of what they take
    apart = (
        5.0 + PHYSICS["sparse_products"] * model.is_indexed + PHYSICS["grouped_kernels"] * bool(model.experts)
        + _quantised(settings)
    )  # fmt: skip
    apart = apart + PHYSICS["prolog_kernels"] * is_one
    small = kernels - apart if device.ascend else _small_kernels(model, fused)
    vector = stream_us(device, moved, small)
    if phase == "decode":
        vector = np.maximum(
            vector, small * (PHYSICS["small_kernel_us"] if device.ascend else PHYSICS["gpu_kernel_us"])
        )
    kernels = _eager_kernels(model, kernels, eager, is_cast) + _looped_kernels(model, settings)
    kernels = kernels + PHYSICS["linear_prefill_kernels"] * model.is_linear * (phase == "prefill")
    stems = [f"attention_{phase}", *(["moe_bf16"] if model.experts else [])]
    launching = sum(one.count for one in calls) * _launch(operators, device, "matmul_bf16")
    launching = launching + sum(_launch(operators, device, stem) for stem in stems)
    launch = np.minimum(launching, cube + attend + experts)
    calls.append(
        OperatorCalls(
            name="attention", count=1.0, us=attend, flops=attention_flops,
            traffic=_cache_moved(model, settings, sequences, length, tokens), group="precision_cache",
        )
    )  # fmt: skip
    if model.experts:
        calls.append(
            OperatorCalls(
                name="experts", count=1.0, us=experts, flops=expert_flops, group="precision_mlp",
                traffic=_expert_bytes(model, tokens, settings),
            )
        )  # fmt: skip
    calls.append(OperatorCalls(name="vector kernels", count=small, us=vector, traffic=moved))
    work = flops + attention_flops + expert_flops
    return BlockWork(cube, attend, growing, experts, vector, launch, kernels, work, tuple(calls))


def _scores_us(
    device: Device, model: ModelSizes, settings: Mapping[str, Floats], pairs: Floats, eager: NDArray[np.bool_]
) -> Floats:
    """Time to write and read the scores of all pairs, where attention is no one kernel."""
    in_pieces = eager | (settings["fused_ops"] == 0)
    bytes_ = np.where(in_pieces, PHYSICS["score_bytes"], PHYSICS["fused_score_bytes"])
    moved = stream_us(device, pairs * (model.heads / settings["tensor_parallel"]) * bytes_, 4.0)
    return np.where(settings.get("flash_attention", np.ones_like(pairs)) > 0, 0.0, moved)


def _cache_moved(
    model: ModelSizes, settings: Mapping[str, Floats], sequences: Floats, length: Floats, tokens: Floats
) -> Floats:
    """Bytes of cache that attention reads, or of keys and values where it makes them."""
    split = 1.0 if model.latent else np.minimum(settings["tensor_parallel"], max(model.kv_heads, 1.0))
    return np.asarray(np.maximum(sequences * length, tokens) * model.kv_width / split * cache_bytes(settings))


def _expert_bytes(model: ModelSizes, tokens: Floats, settings: Mapping[str, Floats]) -> Floats:
    """Bytes of weights that the experts of a device read once."""
    group, split = settings["expert_parallel"], settings["tensor_parallel"]
    routed = tokens * moe.engines_sharing(settings)
    met = 1 - (1 - model.chosen / model.experts) ** routed
    size = WEIGHT_BYTES[settings.get("precision_mlp", settings["precision"]).astype(np.int64)]
    weight = 3 * model.hidden * model.expert_inner * size
    return np.asarray(weight * model.experts / np.maximum(group, split) * met)


def more_kernels(model: ModelSizes, settings: Mapping[str, Floats]) -> Floats:
    """Kernels of a block beyond those of a dense one with full attention in 16 bit."""
    more = PHYSICS["latent_kernels"] * bool(model.latent) + PHYSICS["shared_kernels"] * bool(
        model.experts and model.shared
    )
    more = more + PHYSICS["linear_kernels"] * model.linear_layers
    more = more + PHYSICS["sparse_kernels"] * model.is_indexed
    more = more + PHYSICS["expert_kernels"] * bool(model.experts)
    return np.asarray(more + _quantised(settings), dtype=np.float64)


def _quantised(settings: Mapping[str, Floats]) -> Floats:
    """Kernels that quantise what products of a block take."""
    return np.asarray(
        np.isin(settings["precision"], QUANTISED) * PHYSICS["quantised_kernels"], dtype=np.float64
    )


def _eager(settings: Mapping[str, Floats], tokens: Floats) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Masks of rows that PyTorch runs op by op, and of those that cast float32 weights for each product."""
    eager = settings.get("autocast", np.zeros_like(tokens)) > 0
    return eager, eager & (settings.get("pure_bf16", np.zeros_like(tokens)) == 0)


def _eager_kernels(
    model: ModelSizes, kernels: Floats, eager: NDArray[np.bool_], is_cast: NDArray[np.bool_]
) -> Floats:
    """Kernels of a block where PyTorch runs it op by op, under autocast or not; else those that are given."""
    least = PHYSICS["eager_kernels" if model.is_gated else "eager_plain_kernels"]
    return np.where(eager, np.maximum(kernels, least) + PHYSICS["autocast_kernels"] * is_cast, kernels)


def _looped_kernels(model: ModelSizes, settings: Mapping[str, Floats]) -> Floats:
    """Kernels of a loop over the experts of a device."""
    looped = settings.get("grouped_matmul", np.ones_like(settings["expert_parallel"])) == 0
    local = np.maximum(model.experts / settings["expert_parallel"], 1)
    return np.where(looped & bool(model.experts), local * PHYSICS["loop_kernels"], 0.0)


def _small_kernels(model: ModelSizes, fused: Floats) -> Floats:
    """Small kernels of a block on a GPU."""
    held = {
        "dense": 1.0,
        "latent": float(bool(model.latent)),
        "experts": float(bool(model.experts)),
        "shared": float(bool(model.experts and model.shared)),
        "sparse": float(model.is_indexed),
    }
    count = sum(physics_of("gpu_small_kernels")[name] * times for name, times in held.items())
    count += PHYSICS["linear_kernels"] * model.linear_layers
    return np.where(fused > 0, count, count + PHYSICS["unfused_kernels"] - PHYSICS["fused_kernels"])


def _launch(operators: Operators, device: Device, stem: str) -> float:
    return operators[stem].constants_on(device)["launch_us"]


def _experts(
    on: Target, model: ModelSizes, tokens: Floats, settings: Mapping[str, Floats], phase: str
) -> tuple[Floats, Floats]:
    """Time and work of the routed experts of one block on one device."""
    operators, device = on.operators, on.device
    if not model.experts:
        return np.zeros_like(tokens), np.zeros_like(tokens)
    group = settings["expert_parallel"]
    split = settings["tensor_parallel"]
    # the tensor group shares its tokens: expert parallelism runs over it first, and where it is
    # narrower than the tensor split, that split cuts the experts themselves
    inner = np.maximum(model.expert_inner / np.maximum(split / group, 1.0), 16)
    local = np.maximum(model.experts / group, 1)
    routed = np.maximum(tokens * moe.engines_sharing(settings) * settings["expert_imbalance"], 1)
    rows = np.column_stack(
        [
            routed, np.full_like(tokens, model.hidden), inner, np.full_like(tokens, model.experts),
            np.full_like(tokens, model.chosen), group, local,
        ]
    )  # fmt: skip
    out = np.zeros_like(tokens)
    precision = settings.get("precision_mlp", settings["precision"])
    for index in np.unique(precision):
        chosen = precision == index
        _stem, kind, where = stem_and_device(device, float(index))
        times = operators[kind].times_us(where, rows[chosen])
        # the measured call gathers the rows of all tokens; here a device gathers those of its own
        others = (routed - tokens * settings["expert_imbalance"])[chosen]
        gathered = moe.gathered_us(where, others * model.chosen, model.hidden, operators[kind].constants)
        times = np.maximum(times - gathered, _launch(operators, device, kind))
        if phase == "decode" and device.ascend and not device.joint:
            number = "int8" if kind.endswith("w8a8") else "bf16"
            few = moe.few_rows_us(
                where, rows[chosen], number, PHYSICS["grouped_kernels"] * PHYSICS["small_kernel_us"]
            )
            each = routed[chosen] * model.chosen / model.experts
            times = np.where(each <= PHYSICS["few_rows"], few, times)
        out[chosen] = times
    grouped = settings.get("grouped_matmul", np.ones_like(tokens))
    single = grouped == 0
    if np.any(single):
        per_expert = np.maximum(routed * model.chosen / model.experts, 1)
        each = np.zeros_like(tokens)
        # rows of an expert are random here too, and products jump with them
        for away, weight in POISSON:
            rows_seen = np.maximum(np.round(per_expert + away * np.sqrt(per_expert)), 1)
            x = np.stack(
                [
                    np.column_stack([rows_seen, 2 * inner, np.full_like(inner, model.hidden)]),
                    np.column_stack([rows_seen, np.full_like(inner, model.hidden), inner]),
                ]
            )
            each = each + weight * products_us(operators, device, x, precision).sum(0)
        # the grouped table includes activation and gathering of rows; here they are kernels of their own
        moved = per_expert * (2 * model.hidden + 6 * inner + 4 * model.hidden)
        each = each + stream_us(device, moved, PHYSICS["loop_kernels"] - 2.0)
        out = np.where(single, local * each, out)
    work = 6 * tokens * model.chosen * model.hidden * model.expert_inner / split
    return out, work * settings["expert_imbalance"]
