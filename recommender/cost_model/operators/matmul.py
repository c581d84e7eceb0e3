"""Matrix products on tiled cores: tiles per core and waves, operand traffic, cache or memory.

Notation: A is (m, k), the weight W is (n, k), the result (m, n). A core computes a tile of
``bm x bn`` over all of k; whether the library splits k where too few tiles leave cores idle is
left to the residual, because it does so for some sizes and not for others.
Times are microseconds.
"""

from collections.abc import Mapping

import numpy as np

from kg.errors import InputError
from recommender.cost_model.facts.device import ELEMENT_BYTES, Device, precision
from recommender.cost_model.facts.physics import PHYSICS, Floats

LARGEST_TILE = 128 * 256  # 128 KB of float32 in L0C (NPUTargetSpec.td)
TILES = [(m, n) for m in (16, 32, 64, 128, 256) for n in (64, 128, 256) if m * n <= LARGEST_TILE]
CANDIDATES = ((16, 64), (16, 128), (16, 256), (128, 128), (128, 256), (256, 128))
"""Tiles of which the features tell the times."""
_TOLD = [TILES.index(tile) for tile in CANDIDATES]
TILE_ROWS, TILE_COLUMNS = np.array(TILES, dtype=np.float64).T[:, :, None]


def analytic(
    device: Device,
    x: Floats,
    constants: Mapping[str, float],
    *,
    number: str,
    copies: float = PHYSICS["rotated_copies"],
) -> tuple[Floats, Floats]:
    """Times, and the features that the learned residual uses.

    Args:
        device: The device that runs it.
        x: Rows of m, n, k; shape (r, 3).
        constants: Of the kind.
        number: Precision; int8 means dynamic quantisation and product.
        copies: Copies of the weight that pass before it is used again: 6 as measured; inside a
            model, what the whole step reads decides (a large number: always from memory).

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
    held = np.clip((weight * copies / max(device.l2_bytes, 1.0) - 0.6) / 0.8, 0.0, 1.0)
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
