"""One transformer block on one device: its products, attention, experts and vector work.

Arrays run over configurations. Times are microseconds, work is floating-point operations.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from recommender.cost_model.facts.device import ELEMENT_BYTES, Device
from recommender.cost_model.facts.model import ROTARY_SIZE, ModelSizes
from recommender.cost_model.fit.kernels import PRIOR as VECTOR_PRIOR
from recommender.cost_model.operators import moe
from recommender.cost_model.operators.kinds import GPU_KERNEL_US, Operators
from recommender.cost_model.settings.plans import CHOICES, FOUR_BIT, PRECISIONS
from recommender.cost_model.workloads import linear_attention
from recommender.cost_model.workloads.attention_kinds import (
    AttentionWork,
    attention_us,
    cache_bytes,
    index_split,
)

Floats = NDArray[np.float64]

FUSED_KERNELS = 12.0  # norm x 2, rotary, activation, four products, attention, cache or copies
LINEAR_KERNELS = 10.0  # convolution, gates, norms of queries and keys, decay, update, gated norm, splits
LINEAR_PREFILL_KERNELS = 36.0
"""More of them in a prefill that nothing captured: six of the chunks, their numbering, copies and casts. At
512 tokens, where the host decides, a block takes 34 to 38 launches more than all others explain (Qwen3.5-9B
175 ms, Qwen3.6-27B 362 ms, Qwen3.6-35B-A3B 299 ms: github.com/huawei-csl/megagdn-pto@3a59190c93,
outputs/data)."""
SPARSE_KERNELS = 11.0
"""Of the index beside its attention: three products, a norm, a quantisation, two rotary embeddings, two
casts, its cache, itself (summary.csv as below)."""
SPARSE_PRODUCTS = 4.0  # of these that are no small kernels: the products and itself
LATENT_KERNELS = 10.0  # norms of both compressed rows, products to and from them, splits, transpositions
QUANTISED_KERNELS = 3.0  # activations are quantised before a product; one time of four the norm does it
EXPERT_KERNELS = 8.0  # gate, choice, sorting, two grouped products, activation, gathering, sum
SHARED_KERNELS = 4.0  # two products, activation, sum
SMALL_KERNEL_US = 6.5
"""Device time of a small vector kernel in a decode step: median of the additions, norms, quantisations, casts
and joins of at most 32 rows in served GLM-5 (vllm-ascend 0.18, github:hudingyi688/aiconfigurator-npu,
docs/profiler_alignment/groundtruth/summary.csv@11bc0ae); kernels of a training step take 1.4."""
UNFUSED_KERNELS = 26.0  # the same with norm, rotary and activation as elementwise chains
UNFUSED_NORM = 3.0  # passes of an elementwise norm over those of a fused one: square, mean, scale
UNFUSED_ROTARY = 3.0
CACHE_OVER_MEMORY = 2.2  # bandwidth of L2 over that of memory, as fitted for matrix products
GPU_SMALL_KERNELS = {"dense": 4.0, "latent": 4.0, "experts": 2.0, "shared": 2.0, "sparse": 5.0}
"""Small kernels of a block on a GPU, beside those that one call of a product, of attention or of experts
launches: two norms with their additions, rotary embedding, activation; of compressed rows two norms, split
and join; of experts gate and choice; of shared ones activation and sum; of an index norm, two rotary
embeddings, quantisation and cache (vllm/model_executor/models/llama.py
and deepseek_v2.py)."""
LOOP_KERNELS = 6.0  # of one expert in a loop: gather, two products, activation in two, scatter
_QUANTISED = [PRECISIONS.index(name) for name in ("int8", "fp8", "w4a8")]
POISSON = ((-(3**0.5), 1 / 6), (0.0, 2 / 3), (3**0.5, 1 / 6))
"""Standard deviations and weights of a three-point mean over the rows of an expert (Gauss-Hermite)."""
SCORE_BYTES = 20.0  # scale, mask, softmax, cast, each reading and writing 16 bit


@dataclass(frozen=True, slots=True)
class BlockWork:
    """Time and work of a block.

    Attributes:
        cube_us: Matrix products.
        attention_us: Attention.
        growing_us: Part of it that looks at all positions.
        experts_us: Routed experts.
        vector_us: Norms, activations, rotary embedding, residuals.
        launch_us: Part of cube, attention and experts that is the fixed cost of launching them.
        kernels: Kernels launched.
        flops: Operations of the matrix unit.
    """

    cube_us: Floats
    attention_us: Floats
    growing_us: Floats
    experts_us: Floats
    vector_us: Floats
    launch_us: Floats
    kernels: Floats
    flops: Floats

    @property
    def device_us(self) -> Floats:
        """Device time of all parts, one after the other."""
        return np.asarray(self.cube_us + self.attention_us + self.experts_us + self.vector_us)


def stem_and_device(device: Device, index: float) -> tuple[str, str, Device]:
    """Tables and device facts that stand for a precision: other formats change the peak alone.

    Raises:
        InputError: The device does not compute in it.
        MissingFactError: Its peak is not known.
    """
    name = CHOICES["precision"][int(index)]
    peak = device.peak(name)
    size = {"w4a16": 2.0, "w8a16": 2.0, "w4a8": 1.0, "fp4": 1.0}.get(
        name, ELEMENT_BYTES[name]
    )  # of what is multiplied
    facts: dict[str, float | str] = dict(device.facts)
    # inside a step every weight comes from memory: the step reads far more than the cache holds
    facts["l2_bytes"] = device.l2_bytes / 64
    if name == "fp4":  # multiplied as it is: no more than half a byte moves
        facts["memory_bandwidth_bytes_per_s"] = 2 * device.memory_bandwidth
    if name in FOUR_BIT:
        # half a byte from memory; with Ascend's cores apart the vector cores hand the widened weight on
        # through L2, kernels of GPUs widen it in registers (Marlin, arXiv:2408.11743)
        passed = size / CACHE_OVER_MEMORY if device.ascend and not device.joint else 0.0
        facts["memory_bandwidth_bytes_per_s"] = device.memory_bandwidth * size / (0.5 + passed)
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


def stream_us(operators: Operators, device: Device, bytes_: Floats, kernels: Floats | float = 1.0) -> Floats:
    """Time of vector kernels that move ``bytes_`` in all."""
    constants = operators.kernels.get("constants", VECTOR_PRIOR)
    bandwidth = device.memory_bandwidth * constants["memory_share"] / 1e6
    return np.asarray(kernels * constants["launch_us"] + bytes_ / bandwidth)


def forward(
    operators: Operators,
    device: Device,
    model: ModelSizes,
    *,
    tokens: Floats,
    sequences: Floats,
    length: Floats,
    settings: Mapping[str, Floats],
    phase: str = "prefill",
    attention_parts: Floats | float = 1.0,
    span: tuple[Floats, Floats] | None = None,
) -> BlockWork:
    """The forward pass of one block.

    Args:
        operators: Calibrated operators.
        device: Where.
        model: What.
        tokens: Rows of the products on this device.
        sequences: Sequences whose attention runs here.
        length: Their length, or what is cached (decode).
        settings: Columns of ``recommender.cost_model.settings.plans``.
        phase: ``"prefill"`` or ``"decode"``.
        attention_parts: Devices that share the attention of one sequence (context parallel).
        span: First and last position of the queries of a prefill, where its pieces are of one prompt.
    """
    split = settings["tensor_parallel"]
    precision = settings["precision"]
    fused = settings["fused_ops"]
    query = model.heads * model.head_size / split
    keys = np.maximum(2 * model.kv_heads * model.head_size / split, 2 * model.head_size)
    attention = _projections(model, tokens, query, keys, split)
    inner: list[Floats] = []
    if not model.experts or model.shared:
        width = (model.expert_inner * model.shared if model.experts else model.inner) / split
        inner = _feed_forward(model, tokens, width)
    cube, flops = np.zeros_like(tokens), np.zeros_like(tokens)
    for group, shapes, share in (
        ("attention", attention, 1.0 - model.linear_share),
        ("attention", _linear_projections(model, tokens, split), model.linear_share),
        ("mlp", inner, 1.0 - model.dense_layers / max(model.layers, 1.0)),
        ("mlp", _feed_forward(model, tokens, model.inner / split) if model.dense_layers else [],
         model.dense_layers / max(model.layers, 1.0)),
    ):  # fmt: skip
        if shapes:
            x = np.stack(shapes)
            times = products_us(operators, device, x, settings.get(f"precision_{group}", precision))
            cube = cube + share * times.sum(0)
            flops = flops + share * 2 * np.prod(x, axis=-1).sum(0)

    flash = settings.get("flash_attention", np.ones_like(tokens))
    attention_work = AttentionWork(
        sequences=sequences,
        length=length,
        split=split,
        phase=phase,
        cache_bytes=cache_bytes(settings),
        index_split=index_split(settings, phase),
        queries=tokens / np.maximum(sequences, 1.0) if phase == "decode" else 1.0,
        span=span,
    )
    attend, growing = attention_us(operators, device, model, attention_work)
    attend, growing = attend / attention_parts, growing / attention_parts
    pairs = sequences * length * (length if phase == "prefill" else 1.0) / attention_parts
    attention_flops = 4 * pairs * (model.heads / split) * model.head_size * (0.5 if model.causal else 1.0)
    if phase == "decode":
        attention_flops = 4 * pairs * (model.heads / split) * model.head_size
    scores = pairs * (model.heads / split) * SCORE_BYTES
    attend = np.where(flash > 0, attend, attend + stream_us(operators, device, scores, 4.0))

    experts, expert_flops = _experts(operators, device, model, tokens, settings)
    routed = 1.0 - model.dense_layers / max(model.layers, 1.0)
    experts, expert_flops = experts * routed, expert_flops * routed
    along = np.where(settings["sequence_parallel"] > 0, split, 1.0)
    norms = 8 * model.hidden / along * np.where(fused > 0, 1.0, UNFUSED_NORM)
    residual = 12 * model.hidden / along * np.where(fused > 0, 0.5, 1.0)
    rotary = 4 * (query + keys / 2) * np.where(fused > 0, 1.0, UNFUSED_ROTARY) if model.causal else 0.0
    active_inner = model.expert_inner * model.shared / split if model.experts else model.inner / split
    passes = np.where(fused > 0, 2.0 * model.matrices, 2.0 * model.matrices + 4.0)
    epilogue = 0.5 if device.joint else 1.0  # a joint core applies the activation before it writes
    moved = tokens * (norms + residual + rotary + active_inner * passes * epilogue)
    moved = moved + tokens * model.linear_share * linear_attention.moved_bytes(model) / split
    kernels = np.where(fused > 0, FUSED_KERNELS, UNFUSED_KERNELS) + more_kernels(model, settings)
    apart = 5.0 + SPARSE_PRODUCTS * bool(model.attended and model.latent)
    small = kernels - apart if device.ascend else _small_kernels(model, fused)
    vector = stream_us(operators, device, moved, small)
    if phase == "decode":
        vector = np.maximum(vector, small * (SMALL_KERNEL_US if device.ascend else GPU_KERNEL_US))
    kernels = kernels + _looped_kernels(model, settings)
    kernels = kernels + LINEAR_PREFILL_KERNELS * model.linear_share * (phase == "prefill")
    stems = ["matmul_bf16"] * (len(attention) + len(inner)) + [f"attention_{phase}"]
    launching = sum(
        _launch(operators, device, stem) for stem in ([*stems, "moe_bf16"] if model.experts else stems)
    )
    launch = np.minimum(launching, cube + attend + experts)
    return BlockWork(
        cube, attend, growing, experts, vector, launch, kernels, flops + attention_flops + expert_flops
    )


def _projections(
    model: ModelSizes, tokens: Floats, query: Floats, keys: Floats, split: Floats
) -> list[Floats]:
    """Products around the attention as rows m, n, k."""
    hidden = np.full_like(tokens, model.hidden)
    if not model.query_size:
        return [np.column_stack([tokens, query + keys, hidden]), np.column_stack([tokens, hidden, query])]
    # compressed rows and the index are made on every device; in decode the products from a row stand
    # around the attention
    heads = model.heads / split
    narrow = np.full_like(tokens, model.query_rank + model.kv_width)
    from_ = np.full_like(tokens, model.query_rank or model.hidden)
    rank = np.full_like(tokens, model.kv_rank)
    up = heads * (model.query_size - ROTARY_SIZE + model.value_size)
    index = []
    if model.index_heads:
        wide, both = model.index_width, model.index_width / model.index_heads + model.index_heads
        index = [
            np.column_stack([tokens, np.full_like(tokens, wide), from_]),
            np.column_stack([tokens, np.full_like(tokens, both), hidden]),
        ]
    return [
        *index,
        np.column_stack([tokens, narrow, hidden]),
        np.column_stack([tokens, heads * model.query_size, from_]),
        np.column_stack([tokens, up, rank]),
        np.column_stack([tokens, hidden, heads * model.value_size]),
    ]


def _linear_projections(model: ModelSizes, tokens: Floats, split: Floats) -> list[Floats]:
    """Products around linear attention as rows m, n, k; none without it."""
    if not model.linear_share:
        return []
    hidden = np.full_like(tokens, model.hidden)
    return [
        np.column_stack([tokens, model.linear_input / split, hidden]),
        np.column_stack([tokens, hidden, model.linear_values / split]),
    ]


def _feed_forward(model: ModelSizes, tokens: Floats, width: Floats) -> list[Floats]:
    """Products of a feed-forward part as rows m, n, k."""
    hidden = np.full_like(tokens, model.hidden)
    up = 2.0 if model.experts else model.matrices - 1
    return [np.column_stack([tokens, up * width, hidden]), np.column_stack([tokens, hidden, width])]


def more_kernels(model: ModelSizes, settings: Mapping[str, Floats]) -> Floats:
    """Kernels of a block beyond those of a dense one with full attention in 16 bit."""
    more = LATENT_KERNELS * bool(model.latent) + SHARED_KERNELS * bool(model.experts and model.shared)
    more = more + LINEAR_KERNELS * model.linear_layers / max(model.layers, 1.0)
    more = more + SPARSE_KERNELS * bool(model.attended and model.latent)
    quantised = np.isin(settings["precision"], _QUANTISED) * QUANTISED_KERNELS
    return np.asarray(more + EXPERT_KERNELS * bool(model.experts) + quantised, dtype=np.float64)


def _looped_kernels(model: ModelSizes, settings: Mapping[str, Floats]) -> Floats:
    """Kernels of a loop over the experts of a device."""
    looped = settings.get("grouped_matmul", np.ones_like(settings["expert_parallel"])) == 0
    local = np.maximum(model.experts / settings["expert_parallel"], 1)
    return np.where(looped & bool(model.experts), local * LOOP_KERNELS, 0.0)


def _small_kernels(model: ModelSizes, fused: Floats) -> Floats:
    """Small kernels of a block on a GPU."""
    held = {
        "dense": 1.0,
        "latent": float(bool(model.latent)),
        "experts": float(bool(model.experts)),
        "shared": float(bool(model.experts and model.shared)),
        "sparse": float(bool(model.attended and model.latent)),
    }
    count = sum(GPU_SMALL_KERNELS[name] * times for name, times in held.items())
    count += LINEAR_KERNELS * model.linear_layers / max(model.layers, 1.0)
    return np.where(fused > 0, count, count + UNFUSED_KERNELS - FUSED_KERNELS)


def _launch(operators: Operators, device: Device, stem: str) -> float:
    return operators[stem].constants_on(device)["launch_us"]


def _experts(
    operators: Operators, device: Device, model: ModelSizes, tokens: Floats, settings: Mapping[str, Floats]
) -> tuple[Floats, Floats]:
    """Time and work of the routed experts of one block on one device."""
    if not model.experts:
        return np.zeros_like(tokens), np.zeros_like(tokens)
    group = settings["expert_parallel"]
    split = settings["tensor_parallel"]
    # the tensor group shares its tokens: expert parallelism runs over it first, and where it is
    # narrower than the tensor split, that split cuts the experts themselves
    inner = np.maximum(model.expert_inner / np.maximum(split / group, 1.0), 16)
    local = np.maximum(model.experts / group, 1)
    routed = np.maximum(tokens * np.maximum(group / split, 1.0) * settings["expert_imbalance"], 1)
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
        out[chosen] = np.maximum(times - gathered, _launch(operators, device, kind))
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
        each = each + stream_us(operators, device, moved, LOOP_KERNELS - 2.0)
        out = np.where(single, local * each, out)
    work = 6 * tokens * model.chosen * model.hidden * model.expert_inner / split
    return out, work * settings["expert_imbalance"]
