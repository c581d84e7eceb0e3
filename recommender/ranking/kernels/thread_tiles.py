"""Times of kernels that threads compute without a matrix unit: CLBlast's product and the direct convolution.

A thread computes a small tile of the result; what limits it is how many products come to one load from
shared memory or L1, how many threads a processor holds, and what the edges of tiles load twice. Times are
seconds, arrays have a row a configuration.

Sources:
    CUDA C++ Programming Guide: throughput of arithmetic instructions, shared memory, technical
    specifications. Nugteren, CLBlast, https://arxiv.org/abs/1705.05249. Van Werkhoven et al., Optimizing
    convolution operations on GPUs using adaptive tiling, FGCS 2014.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from recommender.ranking.kernels.gpu_tiles import (
    CACHE_BYTES_PER_CYCLE,
    LAUNCH_S,
    MEMORY_LATENCY_CYCLES,
    MOST_PROGRAMS,
    REGISTERS,
    SCHEDULERS,
    SHARED_LATENCY_CYCLES,
    Gpu,
)
from recommender.ranking.kernels.tile_times import TileTimes, joined, soft_maximum
from recommender.space.made.needs import MOST_REGISTERS

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from recommender.ranking.kernels.domain import Columns

    Floats = NDArray[np.float64]

LANES = 32.0
CACHE_LATENCY_CYCLES = 200.0
"""Of L2 (PMC10448217, table 3)."""
OTHER_REGISTERS = 24.0
INSTRUCTION_LATENCY_CYCLES = 4.0
"""Of a product (PMC10448217, table 3): so many warps a scheduler, or independent products of a thread, hide
it."""
MOST_THREADS = 1024.0
"""Threads of a processor that every capability has (2,048 on data-centre parts)."""
ADDRESSING = 2.0
"""Instructions beside the products for each load: address and bound; a choice."""


def clblast_times(gpu: Gpu, sizes: Mapping[str, float], tile: Columns, element: float) -> TileTimes:
    """Times of CLBlast's Xgemm kernel.

    Args:
        gpu: Where.
        sizes: M, N, K and B.
        tile: Its parameters.
        element: Bytes of an element.
    """
    across, down = tile["MWG"] / tile["MDIMC"], tile["NWG"] / tile["NDIMC"]
    threads = tile["MDIMC"] * tile["NDIMC"]
    registers = np.minimum(across * down + across + down + OTHER_REGISTERS, 255.0)
    spilled = np.maximum(across * down + across + down + OTHER_REGISTERS - 255.0, 0.0)
    shared = (tile["SA"] * tile["MWG"] + tile["SB"] * tile["NWG"]) * tile["KWG"] * element
    resident = np.floor(
        np.minimum.reduce(
            [
                MOST_THREADS / threads,
                REGISTERS / (registers * threads),
                gpu.shared_bytes / np.maximum(shared, 1.0),
                np.full_like(threads, MOST_PROGRAMS),
            ]
        )
    )
    fits = resident >= 1
    resident = np.maximum(resident, 1.0)
    groups = np.ceil(sizes["M"] / tile["MWG"]) * np.ceil(sizes["N"] / tile["NWG"]) * sizes["B"]
    warps = np.ceil(threads / LANES)

    # of one warp, for one step of K: products, and loads of its parts of A and B
    products = across * down * element / 4.0
    loads = across / tile["VWM"] + down / tile["VWN"]
    # what a load brings is written to registers, 128 bytes a cycle, also where threads share it
    transfers = across + down
    issue = (products + loads * ADDRESSING + 2 * spilled) / SCHEDULERS
    arithmetic = products * LANES * 2 / (gpu.flops / gpu.cores / gpu.clock_hz)
    cycles = soft_maximum(arithmetic, issue, transfers * element / 4.0 + spilled)
    hidden = np.minimum(resident, np.ceil(groups / gpu.cores)) * warps * np.minimum(across * down, 8.0)
    cycles = cycles * np.maximum(SCHEDULERS * INSTRUCTION_LATENCY_CYCLES * 2 / hidden, 1.0)
    steps = np.ceil(sizes["K"] / tile["KWG"]) * tile["KWG"]
    fetch = (tile["MWG"] + tile["NWG"]) * element / CACHE_BYTES_PER_CYCLE
    # through shared memory a group waits once a step; without it each load of a warp waits for L2
    of_core = np.ceil(groups / gpu.cores)
    resident = np.minimum(resident, of_core)
    stalls = (tile["SA"] + tile["SB"] > 0) * (MEMORY_LATENCY_CYCLES + 2 * SHARED_LATENCY_CYCLES) / tile["KWG"]
    direct = (tile["SA"] + tile["SB"] < 2) * CACHE_LATENCY_CYCLES / tile["KWI"]
    work = soft_maximum(warps * cycles, fetch)
    busy = of_core * steps * (soft_maximum(work, direct / resident) + stalls / resident) / gpu.clock_hz
    once = element * (sizes["M"] + sizes["N"]) * sizes["K"] * sizes["B"]
    written = element * sizes["M"] * sizes["N"] * sizes["B"]
    return joined(
        on_chip=busy,
        memory=np.full_like(busy, (once + written) / gpu.bandwidth),
        ideal=groups / gpu.cores * steps * warps * arithmetic / gpu.clock_hz,
        launch=LAUNCH_S,
        parts=groups,
        lanes=gpu.cores,
        fits=fits,
    )


def convolution_times(gpu: Gpu, sizes: Mapping[str, float], tile: Columns, element: float) -> TileTimes:
    """Times of the direct convolution with a tile of the input in shared memory.

    Args:
        gpu: Where.
        sizes: FW and FH of the filter, W and H of the image.
        tile: Threads and outputs of a thread in two directions, padding, and the read-only cache.
        element: Bytes of an element.
    """
    x, y = tile["block_size_x"], tile["block_size_y"]
    wide, high = x * tile["tile_size_x"], y * tile["tile_size_y"]
    threads, outputs = x * y, tile["tile_size_x"] * tile["tile_size_y"]
    halo = (wide + sizes["FW"] - 1) * (high + sizes["FH"] - 1)
    # with the loop along it unrolled a thread holds a row of the window for each output
    needed = outputs * sizes["FW"] + OTHER_REGISTERS
    registers, spilled = np.minimum(needed, MOST_REGISTERS), np.maximum(needed - MOST_REGISTERS, 0.0)
    resident = np.floor(
        np.minimum.reduce(
            [
                MOST_THREADS / threads,
                REGISTERS / (registers * threads),
                gpu.shared_bytes / (halo * element),
                np.full_like(threads, MOST_PROGRAMS),
            ]
        )
    )
    fits = resident >= 1
    resident = np.maximum(resident, 1.0)
    groups = np.ceil(sizes["W"] / wide) * np.ceil(sizes["H"] / high)
    warps = np.ceil(threads / LANES)
    idle_lanes = warps * LANES / threads
    window = sizes["FW"] * sizes["FH"]
    # threads of a warp that stand in several rows of the tile meet in the same banks, unless rows are padded
    rows = np.maximum(LANES / x, 1.0)
    conflicts = np.where((rows > 1) & (tile["use_padding"] == 0), np.minimum(rows, 4.0), 1.0)
    # outputs of a thread lie a block apart; rows of the window that two of them need are read once
    read = (
        sizes["FW"]
        * tile["tile_size_x"]
        * np.minimum(tile["tile_size_y"] * sizes["FH"], (tile["tile_size_y"] - 1) * y + sizes["FH"])
    )
    loads = read * conflicts + 2 * spilled * sizes["FH"]
    issue = (window * outputs + read + ADDRESSING * window) / SCHEDULERS
    cycles = soft_maximum(loads, issue)
    coalesced = np.minimum(x / LANES, 1.0)
    fill = np.ceil(halo / threads) * (1 + ADDRESSING) / coalesced + MEMORY_LATENCY_CYCLES / warps / resident
    hidden = resident * warps * np.minimum(outputs, 8.0)
    cycles = cycles * np.maximum(SCHEDULERS * INSTRUCTION_LATENCY_CYCLES * 2 / hidden, 1.0) + fill
    of_core = np.ceil(groups / gpu.cores)
    busy = of_core * warps * cycles / gpu.clock_hz
    traffic = groups * halo * element + sizes["W"] * sizes["H"] * element
    return joined(
        on_chip=busy,
        memory=traffic / gpu.bandwidth,
        ideal=groups / gpu.cores * threads * outputs * window * 2 * idle_lanes / (gpu.flops / gpu.cores),
        launch=LAUNCH_S,
        parts=groups,
        lanes=gpu.cores,
        fits=fits,
    )
