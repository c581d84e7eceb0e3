"""Times of kernels that read, do little and write: rows, elements, transpositions.

Memory decides; a configuration changes how much of its bandwidth is asked for: programs that move data at
once, rounds that are not full, rows read twice, starts of small transfers. Times are seconds, arrays have a
row a configuration.

Sources:
    GPU: as ``gpu_tiles``. Ascend: transfers of 16 KB and more at once,
    https://www.hiascend.com/developer/techArticles/20240906-1; rows below 512 bytes, as ``cube_tiles``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from recommender.cost_model.operators.kinds import shipped
from recommender.ranking.kernels.cube_tiles import ALIGNED_BYTES, UNALIGNED_SHARE
from recommender.ranking.kernels.gpu_tiles import (
    LAUNCH_S,
    LINE_BYTES,
    MEMORY_LATENCY_CYCLES,
    MOST_PROGRAMS,
    MOST_THREADS,
    REGISTERS,
    SHARED_BYTES_PER_CYCLE,
    SHARED_LATENCY_CYCLES,
    Gpu,
)
from recommender.ranking.kernels.tile_times import TileTimes, joined
from recommender.space.made.needs import MOST_REGISTERS

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from recommender.cost_model.facts.device import Device
    from recommender.ranking.kernels.domain import Columns

    Floats = NDArray[np.float64]

OTHER_REGISTERS = 24
"""Registers of a thread beside its elements: addresses and counters; a choice."""
LANES = 32
WIDEST_LOAD_BYTES = 16.0
"""Of one load of a thread (CUDA C++ Programming Guide)."""
PIECE_BYTES = 16 * 1024.0
"""Of a transfer on Ascend from which bandwidth is no longer lost to its start."""
PORT_BYTES_PER_CYCLE = 32.0
"""Between a core and memory on Ascend (``ddr_rate`` of CANN's platform files, in the facts of the 910B4)."""
START_SHARE = 0.1
"""Time of a transfer's start as a share of that of 16 KB; a choice: what "well used" leaves to lose."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Pieces:
    """What a program takes at once.

    Attributes:
        length: Elements that lie next to each other.
        height: Rows of them.
        count: Pieces in the whole.
        passes: How often they are read: twice where a row is longer than a piece and depends on all of it.
    """

    length: Floats
    height: Floats
    count: Floats
    passes: Floats

    @classmethod
    def of(cls, tile: Columns, elements: float, row: float) -> Pieces:
        """Pieces of a tile.

        Args:
            tile: ``BLOCK_SIZE`` and ``ROWS``, ``BLOCK_M`` and ``BLOCK_N``, or Ascend C's names.
            elements: Of the whole tensor.
            row: Length of rows that depend on all of their elements; 0 for independent elements.
        """
        length = next(
            tile[name] for name in ("BLOCK_SIZE", "BLOCK_N", "tileColumns", "tileLength") if name in tile
        )
        height = next(
            (tile[name] for name in ("ROWS", "BLOCK_M", "tileRows") if name in tile), np.ones_like(length)
        )
        if not row:
            count = np.ceil(elements / (length * height))
            return cls(length=length, height=height, count=count, passes=np.ones_like(length))
        own = np.minimum(length, row)
        return cls(
            length=own,
            height=height,
            count=np.ceil(elements / row / height),
            passes=np.where(length < row, 2.0, 1.0),
        )


def gpu_times(
    gpu: Gpu, tile: Columns, *, elements: float, row: float, element: float, turned: bool = False
) -> TileTimes:
    """Times on a GPU: a program a piece, or a program a few rows.

    Args:
        gpu: Where.
        tile: Sizes of a piece, and ``num_warps``.
        elements: Of the whole tensor.
        row: Length of rows that depend on all of their elements; 0 for independent elements.
        element: Bytes of an element.
        turned: Whether rows are written as columns: the height of a piece is the length of what is written.
    """
    pieces = Pieces.of(tile, elements, row)
    threads = tile["num_warps"] * gpu.warp
    block = tile["BLOCK_SIZE"] if "BLOCK_SIZE" in tile else tile["BLOCK_N"]
    each = np.maximum(block * pieces.height / threads, 1.0)
    registers = np.ceil(each * max(element, 4.0) / 4.0) + OTHER_REGISTERS
    resident = np.floor(np.minimum(MOST_THREADS, REGISTERS / registers) / threads)
    fits = (resident >= 1) & (registers <= MOST_REGISTERS)
    resident = np.clip(resident, 1, MOST_PROGRAMS)

    whole = max(row, 1.0) if row else pieces.length
    moved = whole * pieces.height * element * (1 + pieces.passes)
    if turned:
        lines = [np.ceil(side * element / LINE_BYTES) * LINE_BYTES for side in (pieces.length, pieces.height)]
        moved = pieces.height * lines[0] + pieces.length * lines[1]
    lanes = gpu.cores * resident
    wait = (MEMORY_LATENCY_CYCLES + SHARED_LATENCY_CYCLES * np.log2(2 * tile["num_warps"])) / gpu.clock_hz
    turns = np.ceil(whole / block) * pieces.passes
    width = np.minimum(np.minimum(each * element, WIDEST_LOAD_BYTES) * LANES, SHARED_BYTES_PER_CYCLE)
    full, rest = np.floor(pieces.count / lanes), pieces.count % lanes
    rounds = full + (rest > 0)
    on_chip = rounds * wait * turns + np.ceil(pieces.count / gpu.cores) * moved / width / gpu.clock_hz
    return joined(
        on_chip=on_chip,
        memory=pieces.count * moved / gpu.bandwidth,
        ideal=np.full_like(moved, 2 * elements * element / gpu.bandwidth),
        launch=LAUNCH_S,
        parts=pieces.count,
        lanes=gpu.cores,
        fits=fits,
    )


def npu_times(
    device: Device, tile: Columns, *, elements: float, row: float, element: float, turned: bool = False
) -> TileTimes:
    """Times on Ascend's vector cores, each of which takes piece after piece.

    Args:
        device: Where.
        tile: Sizes of a piece, ``multibuffer`` or ``bufferNum``, ``grid`` or ``blockDim``.
        elements: Of the whole tensor.
        row: Length of rows that depend on all of their elements; 0 for independent elements.
        element: Bytes of an element.
        turned: Whether rows are written as columns.
    """
    fitted = shipped()["matmul_bf16"].constants
    pieces = Pieces.of(tile, elements, row)
    cores = tile["grid"] if "grid" in tile else tile["blockDim"]
    twice = tile["multibuffer"] > 0 if "multibuffer" in tile else tile["bufferNum"] > 1
    held = 2 * elements * element <= device.l2_bytes
    port = (fitted["core_bytes_per_cycle"] if held else PORT_BYTES_PER_CYCLE) * device.clock
    whole = row or pieces.length
    bytes_in = whole * pieces.height * element * pieces.passes
    bytes_out = whole * pieces.height * element
    starts = np.ceil(whole / pieces.length) * START_SHARE * PIECE_BYTES / port
    shorter = np.minimum(pieces.length, pieces.height) if turned else pieces.length
    aligned = np.minimum(shorter * element / ALIGNED_BYTES, 1.0)
    rate = port * (UNALIGNED_SHARE + (1 - UNALIGNED_SHARE) * aligned)
    enter, leave = bytes_in / rate + starts * pieces.passes, bytes_out / rate + starts
    step = np.where(twice, np.maximum(enter, leave), enter + leave)
    share = fitted["memory_share"] * device.memory_bandwidth
    return joined(
        on_chip=np.ceil(pieces.count / cores) * step + enter,
        memory=pieces.count * (bytes_in + bytes_out) / share,
        ideal=np.full_like(step, 2 * elements * element / share),
        launch=fitted["launch_us"] / 1e6,
        parts=pieces.count,
        lanes=cores,
    )
