"""Attention to chosen rows of a compressed cache: an index scores all, each query gathers its own.

Prefill and decode alike multiply by the compressed rows as they are cached (vllm-ascend,
``vllm_ascend/attention/sfa_v1.py``; FlashMLA's sparse kernels), so a device that has few of the heads gathers
as much as one that has all. Arrays run over configurations. Times are microseconds.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from recommender.cost_model.facts.device import Device
    from recommender.cost_model.facts.model import ModelSizes

Floats = NDArray[np.float64]

LATENT_SHARE = 0.654  # of the peak in MLA prefill on the 910C (arXiv:2506.12708)
GATHER_SHARE = 0.485
"""Share of the nominal bandwidth at which the cores gather. Each has a row at a time: 88 us for 3 to 24 rows,
155 for 27, 386 for 114, 815 for 256 rows of 2048 choices, with 16 heads and with 64 (SparseFlashAttention in
served GLM-5, 910B, vllm-ascend 0.18, github:hudingyi688/aiconfigurator-npu,
docs/profiler_alignment/groundtruth/summary.csv@11bc0ae)."""
GATHER_LAUNCH_US = 14.0  # of the same fit
INDEX_BYTES = 132.0  # of a position in the index: 128 elements of 8 bits and a scale (arXiv:2512.02556)
INDEX_SHARE = 0.30
"""Share of the peak at which the index scores and chooses: from 8192 to 20480 cached positions 256 queries of
32 index heads take 241 us longer (dsa_context_attn_core_perf.txt@a013456 of the same source, where the rest
of the kernels no longer grows)."""
INDEX_LAUNCH_US = 26.0  # shortest LightningIndexer of summary.csv
GPU_HEADS = 64.0
"""Heads that a kernel of GPUs works on at least; fewer are padded
(vllm/v1/attention/backends/mla/flashmla_sparse.py). It reaches 640 TFLOP/s on an H800, 0.65 of the peak
(github.com/deepseek-ai/FlashMLA)."""


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
        device: Where.
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
    peak = LATENT_SHARE * device.peak(device.sixteen_bit)
    if not device.ascend:
        compute = rows * np.maximum(heads, GPU_HEADS) * width / peak
        return np.asarray(np.maximum(compute, rows * bytes_ / (device.memory_bandwidth * stream_share)) * 1e6)
    one = np.maximum(bytes_ / (GATHER_SHARE * device.memory_bandwidth), heads * width / peak) * device.cores
    return np.asarray(GATHER_LAUNCH_US + np.ceil(rows / device.cores) * one * 1e6)


def seen_rows(chosen: float, first: Floats, last: Floats) -> Floats:
    """Mean of the rows that queries from ``first`` to ``last`` choose: all before them that are few."""
    few, many = (
        np.minimum(end, chosen) ** 2 / 2 + chosen * np.maximum(end - chosen, 0.0) for end in (first, last)
    )
    return np.asarray((many - few) / np.maximum(last - first, 1.0))


def index_us(device: Device, model: ModelSizes, pairs: Floats, read: Floats, split: Floats | float) -> Floats:
    """Time to score positions for a choice, launch apart.

    The index is on every device (DeepSeek-V3.2), which scores for all queries, or for its share of them
    (DSA-CP: vllm-ascend, docs/source/developer_guide/Design_Documents/context_parallel.md).

    Args:
        device: Where.
        model: What.
        pairs: Queries times the positions that each looks at.
        read: Positions read.
        split: Devices that share the queries.
    """
    share = INDEX_SHARE if device.ascend else LATENT_SHARE
    compute = 2 * pairs / split * model.index_width / (share * device.peak(device.sixteen_bit))
    return np.asarray(np.maximum(compute, read * INDEX_BYTES / device.memory_bandwidth) * 1e6)
