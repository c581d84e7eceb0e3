"""Linear attention with a delta rule: chunks of a prefill in five kernels, one step of the state in decode.

A state of keys x values a head takes the place of a cache. In a prefill the library cuts a sequence into
chunks; each kernel reads what the one before wrote, and the states follow one another (arXiv:2412.06464, 3.3;
github.com/fla-org/flash-linear-attention, fla/ops/gated_delta_rule/chunk.py). Arrays run over configurations.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from recommender.cost_model.facts.device import Device
    from recommender.cost_model.facts.model import ModelSizes

Floats = NDArray[np.float64]

CHUNK = 64.0
"""Positions of a chunk (fla/ops/utils, ``FLA_CHUNK_SIZE``)."""
STATE_BYTES = 4.0
"""Of an element of the state: ``"mamba_ssm_dtype": "float32"`` in the configurations of Qwen3.5."""
PASS_SHARE, GPU_PASS_SHARE = 0.13, 0.76
"""Share of the nominal bandwidth at which the kernels read and write. 910B2: 17 ns a position and head for
all but the states, the same with 16 and with 48 heads (github.com/huawei-csl/megagdn-pto@3a59190c93,
outputs/data, Triton kernels of vllm-ascend). H100: 2.0 ns for all (flashinfer-ai/flashinfer, pull request
3788); an RTX PRO 6000 reaches 0.92 and a B300 0.42 (3659, 4078)."""
STATE_STEP_US, GPU_STATE_STEP_US = 11.0, 1.2
"""A state follows the one before: time of a chunk and head on a core of the 910B2, 15.6 ms for 16 sequences
of 128 chunks and 16 heads (the same table); and of a chunk on an H100 that has few heads, 0.26, 1.00 and 1.95
ms for 128, 512 and 1024 chunks of 8 heads less what the other kernels take (3866)."""


def prefill_us(device: Device, model: ModelSizes, sequences: Floats, length: Floats, split: Floats) -> Floats:
    """Time of the kernels of one block for whole sequences.

    Args:
        device: Where.
        model: What.
        sequences: Sequences at a time.
        length: Positions of each.
        split: Devices that share the heads.
    """
    heads = np.maximum(model.linear_heads / split, 1.0)
    states = _state_pass_bytes(model)
    share = PASS_SHARE if device.ascend else GPU_PASS_SHARE
    byte_us = sequences * length * heads / (device.memory_bandwidth * share) * 1e6
    chunks = np.ceil(length / CHUNK)
    if device.ascend:
        step = chunks * np.ceil(sequences * heads / device.cores) * STATE_STEP_US
        return np.asarray((_pass_bytes(model) - states) * byte_us + step)
    step = np.maximum(states * byte_us, chunks * GPU_STATE_STEP_US)
    return np.asarray((_pass_bytes(model) - states) * byte_us + step)


def decode_us(
    device: Device, model: ModelSizes, rows: Floats, sequences: Floats, split: Floats, share: float
) -> Floats:
    """Time to bring the states of one block on by a token: each is read, and written for every row.

    Args:
        device: Where.
        model: What.
        rows: Of all sequences, those of drafted tokens among them, whose states are kept until one is
            accepted.
        sequences: Sequences at a time.
        split: Devices that share the heads.
        share: Of the nominal bandwidth that streams reach.
    """
    moved = (rows + sequences) * state_bytes(model, split)
    return np.asarray(moved / (device.memory_bandwidth * share) * 1e6)


def state_bytes(model: ModelSizes, split: Floats) -> Floats:
    """Bytes of the state of one sequence and block on one device; 0 where its sizes are not known."""
    heads = model.linear_heads / np.minimum(split, max(model.linear_heads, 1.0))
    return np.asarray(heads * model.linear_state * model.linear_value_size * STATE_BYTES)


def moved_bytes(model: ModelSizes) -> float:
    """Bytes of a position that small kernels around those of the rule move, all heads together.

    Convolution, splits and norm read and write queries, keys and values; the gated norm reads two rows and
    writes one.
    """
    mixed = 2 * model.linear_keys + model.linear_values
    return 2 * 4 * mixed + 2 * 4 * model.linear_keys + 6 * model.linear_values


def _state_pass_bytes(model: ModelSizes) -> float:
    """Bytes of a position and head that the kernel of the states moves: two keys, two values, a state."""
    key, value = model.linear_state, model.linear_value_size
    return 2 * (2 * key + value + key * value / CHUNK + value)


def _pass_bytes(model: ModelSizes) -> float:
    """Bytes of a position and head that all kernels move, operands and results of 16 bit.

    Products of keys within a chunk (in float32), their inverse, the rows that it makes of keys and values,
    the states, the output.
    """
    key, value = model.linear_state, model.linear_value_size
    inverse = 2 * key + 4 * CHUNK + 4 * CHUNK + 2 * CHUNK
    rows = 2 * (2 * key + 2 * value + CHUNK)
    output = 2 * (2 * key + 2 * value + key * value / CHUNK)
    return inverse + rows + _state_pass_bytes(model) + output
