"""Analytic times of products and of fused attention, and the features that their residuals use.

Products run on tiled cores: tiles per core and waves, operand traffic, cache or memory. A is (m, k), the
weight W is (n, k), the result (m, n). A core computes a tile of ``bm x bn`` over all of k; whether the
library splits k where too few tiles leave cores idle is left to the residual, because it does so for some
sizes and not for others. Attention is a prefill (all pairs of a causal mask) or a decode step (one query
against the KV cache): rows are batch, sequence length, heads, KV heads, head size. Times are microseconds.
"""

from collections.abc import Mapping

import numpy as np

from kg.errors import InputError
from recommender.cost_model.facts.device import ELEMENT_BYTES, Device, precision
from recommender.cost_model.facts.physics import PHYSICS, Floats

QUERY_BLOCK = 128  # query rows of a task; the measured cache has blocks of 128 tokens
LARGEST_TILE = 128 * 256  # 128 KB of float32 in L0C (NPUTargetSpec.td)
TILES = [(m, n) for m in (16, 32, 64, 128, 256) for n in (64, 128, 256) if m * n <= LARGEST_TILE]
CANDIDATES = ((16, 64), (16, 128), (16, 256), (128, 128), (128, 256), (256, 128))
"""Tiles of which the features tell the times."""
_TOLD = [TILES.index(tile) for tile in CANDIDATES]
TILE_ROWS, TILE_COLUMNS = np.array(TILES, dtype=np.float64).T[:, :, None]


def products(
    device: Device, x: Floats, constants: Mapping[str, float], *, number: str
) -> tuple[Floats, Floats]:
    """Times, and the features that the learned residual uses.

    Args:
        device: The device that runs it.
        x: Rows of m, n, k; shape (r, 3).
        constants: Of the kind.
        number: Precision; int8 means dynamic quantisation and product.

    Returns:
        Microseconds, shape (r,), and features, shape (r, 30).

    Raises:
        InputError: A size below one.
    """
    if np.any(x < 1) or not np.all(np.isfinite(x)):
        raise InputError("matmul: m, n and k must be at least 1")
    m, n, k = x.T
    short = precision(number)
    size = ELEMENT_BYTES[short]
    cores = device.cores
    peak = device.peak(short) * constants["efficiency"] / 1e6
    load = constants["core_bytes_per_cycle"] * device.clock / 1e6
    memory = device.memory_bandwidth * constants["memory_share"] / 1e6
    cache = device.memory_bandwidth * constants["cache_share"] / 1e6

    tiles = np.ceil(m / TILE_ROWS) * np.ceil(n / TILE_COLUMNS)
    waves = np.ceil(tiles / cores)
    compute = waves * (TILE_ROWS * TILE_COLUMNS * 2) * k * cores / peak
    traffic = waves * k * (np.minimum(m, TILE_ROWS) + TILE_COLUMNS) * size / load
    slower = np.maximum(compute, traffic)
    fastest = np.argmin(slower, axis=0), np.arange(len(m))
    best, busy = slower[fastest], np.minimum(tiles, cores)[fastest]
    weight = size * n * k
    # A weight whose copies outgrow the cache streams from memory; the edge is soft.
    held = np.clip((weight * PHYSICS["rotated_copies"] / max(device.l2_bytes, 1.0) - 0.6) / 0.8, 0.0, 1.0)
    stream = weight * (held / memory + (1 - held) / cache) + (size * m * k + 2 * m * n) / cache
    quantise = constants.get("quantise_share", 0.0)
    extra = 3 * m * k / (device.memory_bandwidth * quantise / 1e6) if quantise else np.zeros_like(m)
    time = constants["launch_us"] + extra + (best**4 + stream**4) ** 0.25

    each = np.maximum(traffic, waves * k * (TILE_ROWS * TILE_COLUMNS * 2) / (peak / cores))[_TOLD]
    split = each / np.maximum(1.0, np.floor(cores / tiles[_TOLD]))
    repeated = np.ceil(m / 128)
    whole = [
        weight * repeated / memory,
        (weight * repeated + size * m * k * np.ceil(n / 256) + 2 * m * n) / cache,
        weight / memory,
    ]
    others = np.concatenate([np.stack([each, split], axis=1).reshape(-1, len(m)), whole])
    ratios = np.log2((constants["launch_us"] + others) / time)
    features = np.column_stack(
        [
            np.log2(m) / 4, np.log2(n) / 4, np.log2(k) / 4, np.log2(time / 4) / 2, np.log2(best / stream) / 2,
            np.log2(busy) / 2, np.log2(m * n * k) / 8, np.log2(n * k) / 6, _evenness(k) / 3, _evenness(n) / 3,
            (m <= 8) * 0.5, (m <= 128) * 0.5, *ratios, *_regimes(m, n, k),
        ]
    )  # fmt: skip
    return time, features


def _regimes(m: Floats, n: Floats, k: Floats) -> list[Floats]:
    """Features of the shapes for which the library takes another path.

    Less than a cube block of rows; with it so few columns that k is split over the cores; rows of A
    and W of 32 KB and more.
    """
    few = m < PHYSICS["cube_rows"]
    parts = (few, few & (n <= PHYSICS["split_columns"]), k >= PHYSICS["long_row"])
    return [np.asarray(part * 0.5, dtype=np.float64) for part in parts]


def _evenness(size: Floats) -> Floats:
    """Number of times two divides ``size``: rows a power of two apart meet in the same memory channel."""
    integers = np.maximum(np.rint(size).astype(np.int64), 1)
    return np.log2((integers & -integers).astype(np.float64))


def _checked(x: Floats) -> Floats:
    if np.any(x < 1) or not np.all(np.isfinite(x)):
        raise InputError("attention: batch, length, heads and head size must be at least 1")
    if np.any(np.mod(x[:, 2], x[:, 3]) != 0):
        raise InputError("attention: the KV heads must divide the heads")
    return x


def prefill(device: Device, x: Floats, constants: Mapping[str, float]) -> tuple[Floats, Floats]:
    """Causal attention over whole sequences; shape (r,) and features (r, 11)."""
    batch, length, heads, kv_heads, size = _checked(x).T
    peak = device.peak("bf16") * constants["efficiency"] / 1e6
    memory = device.memory_bandwidth * constants["memory_share"] / 1e6
    blocks = np.ceil(length / QUERY_BLOCK)
    pairs = blocks * (blocks + 1) / 2
    pair_us = 4 * QUERY_BLOCK * QUERY_BLOCK * size * device.cores / peak
    tasks = batch * heads * blocks
    waves = np.ceil(tasks / device.cores)
    compute = batch * heads * pairs * pair_us / device.cores * (waves * device.cores / tasks)
    compute = np.maximum(compute, blocks * pair_us)
    stream = 4 * batch * length * size * (heads + kv_heads) / memory
    time = constants["launch_us"] + (compute**3 + stream**3) ** (1 / 3) + constants["task_us"] * waves
    return time, _attention_features(x, time, waves * device.cores / tasks)


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
    return time, _attention_features(x, time, waves * device.cores / (batch * kv_heads))


def _attention_features(x: Floats, time: Floats, idle: Floats) -> Floats:
    batch, length, heads, kv_heads, _ = x.T
    return np.column_stack(
        [
            np.log2(batch) / 4, np.log2(length) / 4, np.log2(heads) / 3, np.log2(kv_heads) / 3,
            np.log2(batch * kv_heads) / 4, np.log2(batch * heads) / 4, np.log2(heads / kv_heads) / 3,
            np.log2(time / 40) / 3, np.log2(batch * kv_heads * length) / 5, (heads == kv_heads) * 0.5,
            np.log2(idle),
        ]
    )  # fmt: skip
