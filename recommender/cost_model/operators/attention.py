"""Fused attention: prefill (all pairs of a causal mask) and decode (one query against the KV cache).

Times are microseconds. Rows are batch, sequence length, heads, KV heads, head size.
"""

from collections.abc import Mapping

import numpy as np

from kg.errors import InputError
from recommender.cost_model.facts.device import Device
from recommender.cost_model.facts.physics import Floats

BLOCK = 128  # query rows of a task; the measured cache has blocks of 128 tokens


def _checked(x: Floats) -> Floats:
    if np.any(x < 1) or not np.all(np.isfinite(x)):
        raise InputError("attention: batch, length, heads and head size must be at least 1")
    if np.any(np.mod(x[:, 2], x[:, 3]) != 0):
        raise InputError("attention: the KV heads must divide the heads")
    return x


def prefill(
    device: Device, x: Floats, constants: Mapping[str, float], *, causal: bool = True
) -> tuple[Floats, Floats]:
    """Causal (or full) attention over whole sequences; shape (r,) and features (r, 11)."""
    batch, length, heads, kv_heads, size = _checked(x).T
    peak = device.peak("bf16") * constants["efficiency"] / 1e6
    memory = device.memory_bandwidth * constants["memory_share"] / 1e6
    blocks = np.ceil(length / BLOCK)
    pairs = blocks * (blocks + 1) / 2 if causal else blocks * blocks
    pair_us = 4 * BLOCK * BLOCK * size * device.cores / peak
    tasks = batch * heads * blocks
    waves = np.ceil(tasks / device.cores)
    compute = batch * heads * pairs * pair_us / device.cores * (waves * device.cores / tasks)
    compute = np.maximum(compute, blocks * pair_us)
    stream = 4 * batch * length * size * (heads + kv_heads) / memory
    time = constants["launch_us"] + (compute**3 + stream**3) ** (1 / 3) + constants["task_us"] * waves
    return time, _features(x, time, waves * device.cores / tasks)


def decode(device: Device, x: Floats, constants: Mapping[str, float]) -> tuple[Floats, Floats]:
    """One new token per sequence against ``seq_len`` cached ones, cache write included."""
    batch, length, _heads, kv_heads, size = _checked(x).T
    memory = device.memory_bandwidth * constants["memory_share"] / 1e6
    cache = device.memory_bandwidth * constants["cache_share"] / 1e6
    traffic = 4 * batch * length * kv_heads * size
    edge = max(device.l2_bytes, 1.0)
    outside = np.clip((traffic - edge / 2) / (edge / 2), 0.0, 1.0)
    waves = np.ceil(batch * kv_heads / device.cores)
    time = (
        constants["launch_us"]
        + traffic * (outside / memory + (1 - outside) / cache)
        + constants["task_us"] * waves
    )
    return time, _features(x, time, waves * device.cores / (batch * kv_heads))


def _features(x: Floats, time: Floats, idle: Floats) -> Floats:
    batch, length, heads, kv_heads, _ = x.T
    return np.column_stack(
        [
            np.log2(batch) / 4, np.log2(length) / 4, np.log2(heads) / 3, np.log2(kv_heads) / 3,
            np.log2(batch * kv_heads) / 4, np.log2(batch * heads) / 4, np.log2(heads / kv_heads) / 3,
            np.log2(time / 40) / 3, np.log2(batch * kv_heads * length) / 5, (heads == kv_heads) * 0.5,
            np.log2(idle),
        ]
    )  # fmt: skip
