"""Attention of one block on one device, by what a position sees: all, a window, a state, or what it chooses.

Arrays run over configurations. Times are microseconds.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from recommender.cost_model.facts.device import ELEMENT_BYTES, Device
from recommender.cost_model.facts.physics import PHYSICS, Floats
from recommender.cost_model.settings.plans import CHOICES, PRECISIONS
from recommender.cost_model.workloads import linear_attention

if TYPE_CHECKING:
    from collections.abc import Mapping

    from recommender.cost_model.facts.model import ModelSizes
    from recommender.cost_model.operators.network import Target
CACHE_BYTES = [ELEMENT_BYTES[name] for name in CHOICES["precision_cache"]]


@dataclass(frozen=True, slots=True, kw_only=True)
class AttentionWork:
    """Sizes that the attention of a block works on, an element a configuration.

    Attributes:
        sequences: Sequences at a time.
        length: Positions of each.
        split: Devices that share the heads.
        phase: ``"prefill"`` or ``"decode"``.
        cache_bytes: Of an element of the cache.
        index_split: Devices that share the queries of a sparse attention's index.
        queries: Rows of each sequence in a decode step: the last token and those drafted after it.
        span: First and last position that the queries of a prefill stand at; None where it is the whole
            length.
    """

    sequences: Floats
    length: Floats
    split: Floats
    phase: str
    cache_bytes: Floats | float = 2.0
    index_split: Floats | float = 1.0
    queries: Floats | float = 1.0
    span: tuple[Floats, Floats] | None = None


def attention_us(on: Target, model: ModelSizes, work: AttentionWork) -> tuple[Floats, Floats]:
    """Fused attention of a block.

    A block with a sliding window sees no more than that. Linear attention keeps a state
    (``linear_attention``); where its sizes are not known, that is a window of as many rows as its keys are
    wide. Sparse attention sees what it chooses, after an index has looked at everything; each query chooses
    for itself (arXiv:2512.02556, 2.1), so rows of one sequence share nothing they read.

    Returns:
        The time, and the part of it that looks at all positions.
    """

    def near(rows: float, work: AttentionWork = work) -> Floats:
        """Time where a query sees ``rows`` positions: in a prefill, blocks of them, and the block before."""
        seen = np.minimum(work.length, rows)
        blocks = work.length / seen if work.phase == "prefill" else np.ones_like(seen)
        near_work = replace(work, sequences=work.sequences * blocks, length=seen)
        times = _dense_attention_us(on, model, near_work)
        return times * np.where(blocks > 1, 2.0, 1.0)

    none = np.zeros_like(work.length)
    if model.is_linear:
        return _linear_us(on, model, work), none
    if model.linear_layers or model.window_layers:
        return near(model.linear_state if model.linear_layers else model.window), none
    if not model.attended:
        whole = near(np.inf)
        return whole, whole
    alone = replace(work, sequences=work.sequences * work.queries)
    chosen = _chosen_us(on, model, work) if model.latent else near(model.attended, alone)
    if not model.index_layers:
        return chosen, none
    growing = _index_us(on.device, model, work)
    return growing + chosen + PHYSICS["index_launch_us"] * on.device.ascend, growing


def _linear_us(on: Target, model: ModelSizes, work: AttentionWork) -> Floats:
    """Linear attention of one block."""
    if work.phase == "prefill":
        return linear_attention.prefill_us(on.device, model, work.sequences, work.length, work.split)
    launch, share = _streaming(on)
    rows = work.sequences * work.queries
    return launch + linear_attention.decode_us(on.device, model, rows, work.sequences, work.split, share)


def _streaming(on: Target) -> tuple[float, float]:
    """Launch of a kernel that streams a cache, and the share of the bandwidth that it reaches."""
    constants = on.operators["attention_decode"].constants_on(on.device)
    return constants["launch_us"], constants["memory_share"]


def _chosen_us(on: Target, model: ModelSizes, work: AttentionWork) -> Floats:
    """Attention to the rows of a compressed cache that queries choose.

    Devices that share the queries have all heads each.
    """
    first, last = work.span or (np.zeros_like(work.length), work.length)
    prefill = work.phase == "prefill"
    rows = work.sequences * (work.length if prefill else work.queries) / work.index_split
    seen = seen_rows(model.attended, first, last) if prefill else np.minimum(work.length, model.attended)
    split = work.split / work.index_split
    _, share = _streaming(on)
    return gather_us(on.device, model, rows, seen, split, work.cache_bytes, share)


def _dense_attention_us(on: Target, model: ModelSizes, work: AttentionWork) -> Floats:
    """Attention of one block to all positions."""
    device = on.device
    sequences, length, phase = work.sequences, work.length, work.phase
    sixteen_bit_peak = device.peak(device.sixteen_bit)
    heads = np.maximum(np.round(model.heads / work.split), 1)
    kv_heads = np.maximum(np.round(model.kv_heads / work.split), 1)
    kv_heads = np.where(np.mod(heads, kv_heads) == 0, kv_heads, 1)
    mean = (model.query_size + model.value_size) / 2 or model.head_size
    size = np.full_like(heads, max(mean, 16))
    latent_us = np.zeros_like(heads)
    if phase == "decode" and model.latent:
        # every head reads the one compressed row of a token, once as key and value
        kv_heads, size = np.ones_like(heads), np.full_like(heads, model.kv_width / 2)
        flops = 4 * sequences * length * heads * model.kv_width
        latent_us = flops / (PHYSICS["latent_share"] * sixteen_bit_peak) * 1e6
    rows = np.column_stack(
        [
            np.maximum(np.ceil(sequences), 1), np.maximum(length, 1), heads, kv_heads,
            size,
        ]
    )  # fmt: skip
    facts = {**device.facts, "peak_bf16_flops": sixteen_bit_peak}
    times = on.operators[f"attention_{phase}"].times_us(Device(device.id, facts), rows)
    if phase == "decode":
        # a narrower cache is less to read: what it saves of the time to stream it
        share = np.asarray(work.cache_bytes) / 2
        saved = (1 - share) * sequences * length * kv_heads * size * 4
        times = np.maximum(times - saved / device.memory_bandwidth * 1e6, times * share)
    times = np.maximum(times, latent_us)
    if phase == "prefill" and not model.causal:
        times = times * 2  # no half of the pairs is masked
    return np.asarray(times)


def has_prolog(
    device: Device, model: ModelSizes, tokens: Floats, settings: Mapping[str, Floats], phase: str
) -> NDArray[np.bool_]:
    """True where one kernel makes queries and the compressed row of latent attention."""
    possible = phase == "decode" and bool(model.query_size) and device.ascend and not device.joint
    narrow = settings.get("precision_attention", settings["precision"]) == PRECISIONS.index("int8")
    few = tokens <= PHYSICS["prolog_rows"]
    return np.asarray(possible & narrow & few & (settings["fused_ops"] > 0))


def index_split(settings: Mapping[str, Floats], phase: str) -> Floats:
    """Devices that share the queries of an index; each has all of them where nothing shares it."""
    split = settings["tensor_parallel"]
    if phase != "prefill" or "index_parallel" not in settings:
        return np.ones_like(split)
    return np.where(settings["index_parallel"] > 0, split, 1.0)


def cache_bytes(settings: Mapping[str, Floats]) -> Floats:
    """Bytes of one element of the cache; 2 where there is no setting for it (training)."""
    if "precision_cache" not in settings:
        return np.full_like(settings["precision"], 2.0)
    return np.asarray(CACHE_BYTES, dtype=np.float64)[settings["precision_cache"].astype(np.int64)]


def gather_us(
    device: Device,
    model: ModelSizes,
    rows: Floats,
    seen: Floats,
    split: Floats,
    cache_bytes: Floats | float,
    stream_share: float,
) -> Floats:
    """Time for queries to gather the rows they chose and to attend to them.

    Args:
        device: The device that runs it.
        model: What.
        rows: Queries on this device.
        seen: Rows that a query chose.
        split: Devices that share the heads.
        cache_bytes: Of an element of the cache.
        stream_share: Of the nominal bandwidth that streams of a GPU reach.
    """
    heads = np.maximum(model.heads / split, 1.0)
    bytes_ = seen * model.kv_width * np.asarray(cache_bytes)
    width = 2 * seen * (model.kv_width + model.kv_rank)
    peak = PHYSICS["latent_share"] * device.peak(device.sixteen_bit)
    if not device.ascend:
        compute = rows * np.maximum(heads, PHYSICS["gpu_heads"]) * width / peak
        return np.asarray(np.maximum(compute, rows * bytes_ / (device.memory_bandwidth * stream_share)) * 1e6)
    one = (
        np.maximum(bytes_ / (PHYSICS["gather_share"] * device.memory_bandwidth), heads * width / peak)
        * device.cores
    )
    return np.asarray(PHYSICS["gather_launch_us"] + np.ceil(rows / device.cores) * one * 1e6)


def seen_rows(chosen: float, first: Floats, last: Floats) -> Floats:
    """Mean of the rows that queries from ``first`` to ``last`` choose: all before them that are few."""
    few, many = (
        np.minimum(end, chosen) ** 2 / 2 + chosen * np.maximum(end - chosen, 0.0) for end in (first, last)
    )
    return np.asarray((many - few) / np.maximum(last - first, 1.0))


def _index_us(device: Device, model: ModelSizes, work: AttentionWork) -> Floats:
    """Time to score every position for a choice, launch apart.

    The index is on every device (DeepSeek-V3.2), which scores for all queries, or for its share of them
    (DSA-CP: vllm-ascend, docs/source/developer_guide/Design_Documents/context_parallel.md).
    """
    read = work.sequences * work.length
    pairs = read * (work.length / 2 if work.phase == "prefill" else work.queries)
    share = PHYSICS["index_share"] if device.ascend else PHYSICS["latent_share"]
    compute = 2 * pairs / work.index_split * model.index_width / (share * device.peak(device.sixteen_bit))
    return np.asarray(np.maximum(compute, read * PHYSICS["index_bytes"] / device.memory_bandwidth) * 1e6)
