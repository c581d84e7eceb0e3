"""Linear attention with a delta rule: chunks of a prefill in five kernels, one step of the state in decode.

A state of keys x values a head takes the place of a cache. In a prefill the library cuts a sequence into
chunks; each kernel reads what the one before wrote, and the states follow one another (arXiv:2412.06464, 3.3;
github.com/fla-org/flash-linear-attention, fla/ops/gated_delta_rule/chunk.py). Arrays run over configurations.
"""

import numpy as np

from recommender.cost_model.facts.device import Device
from recommender.cost_model.facts.model import ModelSizes
from recommender.cost_model.facts.physics import PHYSICS, Floats


def prefill_us(device: Device, model: ModelSizes, sequences: Floats, length: Floats, split: Floats) -> Floats:
    """Time of the kernels of one block for whole sequences of so many positions."""
    heads = np.maximum(model.linear_heads / split, 1.0)
    states = _state_pass_bytes(model)
    share = PHYSICS["linear_pass_share"] if device.ascend else PHYSICS["gpu_linear_pass_share"]
    byte_us = sequences * length * heads / (device.memory_bandwidth * share) * 1e6
    chunks = np.ceil(length / PHYSICS["linear_chunk"])
    if device.ascend:
        step = chunks * np.ceil(sequences * heads / device.cores) * PHYSICS["linear_step_us"]
        return np.asarray((_pass_bytes(model) - states) * byte_us + step)
    step = np.maximum(states * byte_us, chunks * PHYSICS["gpu_linear_step_us"])
    return np.asarray((_pass_bytes(model) - states) * byte_us + step)


def decode_us(
    device: Device, model: ModelSizes, rows: Floats, sequences: Floats, split: Floats, share: float
) -> Floats:
    """Time to bring the states of one block on by a token: each is read, and written for every row.

    Rows of drafted tokens are among them: states are kept until one is accepted. Streams reach ``share`` of
    the nominal bandwidth.
    """
    moved = (rows + sequences) * state_bytes(model, split)
    return np.asarray(moved / (device.memory_bandwidth * share) * 1e6)


def state_bytes(model: ModelSizes, split: Floats) -> Floats:
    """Bytes of the state of one sequence and block on one device; 0 where its sizes are not known."""
    heads = model.linear_heads / np.minimum(split, max(model.linear_heads, 1.0))
    return np.asarray(heads * model.linear_state * model.linear_value_size * PHYSICS["linear_state_bytes"])


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
    return 2 * (2 * key + value + key * value / PHYSICS["linear_chunk"] + value)


def _pass_bytes(model: ModelSizes) -> float:
    """Bytes of a position and head that all kernels move, operands and results of 16 bit.

    Products of keys within a chunk (in float32), their inverse, the rows that it makes of keys and values,
    the states, the output.
    """
    key, value, chunk = model.linear_state, model.linear_value_size, PHYSICS["linear_chunk"]
    inverse = 2 * key + (4 + 4 + 2) * chunk
    rows = 2 * (2 * key + 2 * value + chunk)
    output = 2 * (2 * key + 2 * value + key * value / chunk)
    return inverse + rows + _state_pass_bytes(model) + output
