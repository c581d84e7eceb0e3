"""Host time of a forward pass: kernel by kernel, by pieces, or a graph that was captured before.

Arrays run over configurations. Times are microseconds.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from recommender.cost_model.facts.device import Device
    from recommender.cost_model.facts.model import ModelSizes
    from recommender.cost_model.settings.plans import Columns
    from recommender.cost_model.workloads.block import BlockWork

Floats = NDArray[np.float64]

HOST_US = 118.0
"""Host time per kernel without a graph on Ascend: Qwen3-Coder-480B in 8 bits, 165 to 171 ms for 62 blocks of
23 kernels whatever the length (vllm-project/vllm-ascend, issue 7723)."""
GPU_HOST_US = 65.0
"""The same on GPUs: Qwen2.5-7B, 22 ms for 28 blocks of 12 kernels, 13 ms in a graph (vllm-project/vllm-omni,
issue 7960)."""
PIECE_US = 756.0
"""Host time of a block of which all but the attention is captured: mean of 832 us (Qwen3-VL-30B, 591 of
them idle, gone in a whole graph: vllm-project/vllm-ascend, issue 9404) and 687 us (Qwen3-VL-8B, 27.75 ms
for 36 blocks and the iteration: pull request 5228 there)."""
USUAL_ROOM = 2048
"""Tokens of a step where no limit is stated: the default of ``vllm serve`` below 70 GiB of memory
(vllm/engine/arg_utils.py)."""
GRAPH_SHARE = 0.02  # of it that remains when a captured graph is replayed: an assumption


def captured_share(s: Columns, rows: Floats, phase: str) -> Floats:
    """The value of ``graph`` that holds for a pass: decode steps are captured up to some number of rows."""
    beyond = (s["captured_rows"] > 0) & (rows > s["captured_rows"])
    return np.where(beyond | (phase != "decode"), 0.0, s["graph"])


def launched_us(device: Device, s: Columns, level: Floats, work: BlockWork, phase: str) -> Floats:
    """Host time of a block of which ``level`` is captured (:func:`captured_share`).

    A prefill on Ascend is launched kernel by kernel; GPUs hide it.
    """
    eager = work.kernels * _kernel_us(device)
    if phase != "decode" and not device.ascend:
        return np.where(s["graph"] > 0, GRAPH_SHARE, 1.0) * eager
    return np.select([level == 0, level < 1], [eager, np.minimum(PIECE_US, eager)], GRAPH_SHARE * eager)


def proposing_us(device: Device, model: ModelSizes, s: Columns, step_us: Floats, work: BlockWork) -> Floats:
    """Time to draft: each token is a pass through one block, launched kernel by kernel unless captured."""
    one = step_us / model.layers
    share = np.where((s["draft_graph"] > 0) & (s["graph"] >= 1), GRAPH_SHARE, 1.0)
    launched = work.kernels * _kernel_us(device) * share
    return np.where(s["speculative_tokens"] > 0, s["speculative_tokens"] * np.maximum(one, launched), 0.0)


def together_us(launched: Floats, s: Columns, fresh: Floats, batch: Floats) -> Floats:
    """Each request's part of the host time of a prefill.

    Those that come together are launched together, as far as a step has room for their tokens.

    Args:
        launched: Host time of a pass.
        s: Checked columns.
        fresh: Tokens of a request that no prefix holds.
        batch: Requests of an engine.
    """
    at_once = np.maximum(s["prefill_batch"], 1)
    room = np.floor(np.where(s["chunk"] > 0, s["chunk"], USUAL_ROOM) / (fresh * at_once))
    return np.asarray(launched / np.clip(room, 1, np.maximum(batch / at_once, 1)))


def _kernel_us(device: Device) -> float:
    """Host time of a kernel that no graph holds."""
    return HOST_US if device.ascend else GPU_HOST_US
