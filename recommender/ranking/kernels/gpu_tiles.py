"""Times of matrix products and attention on GPUs, tile by tile.

Notation: a program computes a tile of ``bm x bn`` in ``steps`` of ``bk`` along K. ``resident`` programs
share a processor. What is modelled: tiles that reach over the edges, waves over the processors, the rate of
the matrix unit (on Hopper only warp groups reach it), reads from shared memory and from L2, latency hidden
by stages and by other programs, memory traffic by the order of the tiles. Times are seconds, arrays have a
row a configuration.

Sources:
    Registers, threads and shared memory: CUDA C++ Programming Guide, technical specifications by compute
    capability. Latencies and rates: table 3 of https://pmc.ncbi.nlm.nih.gov/articles/PMC10448217/. Warp
    groups: https://triton-lang.org/main/getting-started/tutorials/gluon/wgmma.html.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from recommender.ranking.kernels.tile_times import TileTimes, joined, soft_maximum
from recommender.space.made.needs import MOST_REGISTERS, is_nvidia

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from recommender.cost_model.facts.device import Device
    from recommender.ranking.kernels.domain import Columns

    Floats = NDArray[np.float64]

MEMORY_LATENCY_CYCLES = 400.0
"""From the request of a block to its arrival from memory (PMC10448217, table 3: V100, A100, H100)."""
SHARED_LATENCY_CYCLES = 20.0
"""Of shared memory (the same table); a step waits for it before its first product."""
BARRIERS = 2.0
"""Of a step: the block is there, and may be overwritten (the tutorial below waits twice)."""
MATRIX_LATENCY_CYCLES = 33.0
"""Of a product of the matrix unit in 16 bits (Sun et al., Dissecting Tensor Cores via Microbenchmarks, A100,
https://arxiv.org/abs/2206.02874)."""
SCHEDULERS = 4.0
"""Parts of a processor, each with a matrix unit: a warp uses one (CUDA C++ Programming Guide)."""
LINE_BYTES = 128.0
"""Of a request to L1 and L2: shorter rows cost as much on the way to shared memory."""
SHARED_BYTES_PER_CYCLE = 128.0
"""Of a processor, 32 banks of 4 bytes (CUDA C++ Programming Guide)."""
CACHE_BYTES_PER_CYCLE = 40.0
"""From L2 to one processor: 7,219 GB/s over 128 processors at 1.41 GHz (A100, the same table)."""
REGISTERS = 65536
"""32-bit registers of a processor,."""
OTHER_REGISTERS = 40
"""Registers of a thread for what is not a sum: addresses and operands; a choice, above what Triton's own
need."""
MOST_THREADS = 2048
"""Threads of a processor (1,536 on consumer parts, which no tile here reaches)."""
MOST_PROGRAMS = 32
SYNCHRONOUS_SHARE = 0.63
"""Rate of the older instructions on Hopper, which a tile below 64 rows or four warps has to use (Luo et al.,
Benchmarking and Dissecting the Nvidia Hopper GPU Architecture, https://arxiv.org/abs/2402.13499)."""
GROUP_ROWS, GROUP_WARPS = 64, 4
TENSOR_MEMORY, NO_TENSOR_MEMORY = 10.0, 12.0
"""Compute capabilities from which and up to which sums need no registers (PTX ISA, tcgen05)."""
EXPONENTIALS_PER_CYCLE, SCALARS_PER_CYCLE = 16.0, 128.0
"""Of a processor (CUDA C++ Programming Guide, throughput of arithmetic instructions)."""
SOFTMAX_OPERATIONS = 4.0
"""For each score beside its exponential: scale, maximum, difference, sum; sums are scaled once a step."""
USUAL_CLOCK_HZ = 1.5e9
"""Where a clock is not known: it moves latencies and rates within a processor, not its peak."""
LAUNCH_S = 3e-6
"""From the launch of a kernel to its first instruction; a choice within the 2 to 5 us of public
measurements."""
SUM_BYTES = 4.0
OUTPUT_BYTES = 2.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Gpu:
    """The facts of a GPU that tiles depend on.

    Attributes:
        cores: Processors.
        clock_hz: Their clock.
        flops: Of all of them in the precision of the operands.
        bandwidth: Of memory, bytes a second.
        l2_bytes: Of the last cache.
        shared_bytes: Shared memory that the programs of a processor may have.
        warp: Threads of a warp.
        capability: Compute capability, such as 8.0; 0 for other vendors.
    """

    cores: float
    clock_hz: float
    flops: float
    bandwidth: float
    l2_bytes: float
    shared_bytes: float
    warp: float
    capability: float

    @classmethod
    def of(cls, device: Device, number: str) -> Gpu:
        """Read the facts of a device.

        Raises:
            MissingFactError: One is not known.
        """
        nvidia = is_nvidia(device)
        return cls(
            cores=device.cores,
            clock_hz=device.get("clock_hz", "clock_base_hz") or USUAL_CLOCK_HZ,
            flops=device.peak(number),
            bandwidth=device.memory_bandwidth,
            l2_bytes=device.l2_bytes,
            shared_bytes=device.number("shared_memory_bytes")
            if nvidia
            else device.get("shared_memory_bytes") or 65536.0,
            warp=device.get("warp_size") or 32.0,
            capability=float(str(device.facts["compute_capability"])) if nvidia else 0.0,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class ProductShape:
    """The sizes of a product as tiles see them.

    Attributes:
        m: Rows; for groups those of one group.
        n: Columns.
        k: Length.
        batch: Independent products.
        row_blocks: Blocks of rows by their height, where they are not ``ceil(m / bm)``; None otherwise.
        weight_copies: Matrices of K by N that are read: experts that have a token.
    """

    m: float
    n: float
    k: float
    batch: float = 1.0
    row_blocks: Floats | None = None
    weight_copies: float = 1.0


def product_times(gpu: Gpu, shape: ProductShape, tile: Columns, element: float) -> TileTimes:
    """Times of a matrix product by tile.

    Args:
        gpu: Where.
        shape: Sizes.
        tile: ``BLOCK_SIZE_M``, ``_N``, ``_K``, ``GROUP_SIZE_M``, ``num_stages``, ``num_warps``.
        element: Bytes of an element of the operands.
    """
    bm, bn, bk = tile["BLOCK_SIZE_M"], tile["BLOCK_SIZE_N"], tile["BLOCK_SIZE_K"]
    stages, warps = tile["num_stages"], tile["num_warps"]
    row_blocks = np.ceil(shape.m / bm) * shape.batch if shape.row_blocks is None else shape.row_blocks
    columns = np.ceil(shape.n / bn)
    blocks, steps = row_blocks * columns, np.ceil(shape.k / bk)

    # on Blackwell's data-centre parts the sums are in tensor memory
    sums = bm * bn / (gpu.warp * warps) * (0.0 if TENSOR_MEMORY <= gpu.capability < NO_TENSOR_MEMORY else 1.0)
    block = (bm + bn) * bk * element
    # before Hopper the block in use is in registers; whether a tile fits at all is asked with all its stages
    staged = np.where(gpu.capability >= 9, stages, np.maximum(stages - 1, 1)) * block
    resident, fits = _resident(gpu, sums, staged, warps)
    fits &= stages * block + 1024 <= gpu.shared_bytes
    resident = np.maximum(resident, 1)
    of_core = np.ceil(blocks / gpu.cores)
    resident = np.minimum(resident, of_core)

    flops = 2 * bm * bn * bk
    rate = np.full_like(bm, gpu.flops / gpu.cores)
    grouped = np.zeros_like(bm, dtype=bool)
    if gpu.capability >= 9:
        grouped = (bm >= GROUP_ROWS) & (warps >= GROUP_WARPS)
        rate = rate * np.where(grouped, 1.0, SYNCHRONOUS_SHARE)
    compute = flops / rate
    shared = _shared_bytes(bm, bn, bk, warps, element, grouped) / (SHARED_BYTES_PER_CYCLE * gpu.clock_hz)
    load = (bm + bn) * bk * element / (CACHE_BYTES_PER_CYCLE * gpu.clock_hz)
    together = soft_maximum(compute, shared, load)
    latency = (MEMORY_LATENCY_CYCLES + SHARED_LATENCY_CYCLES) / gpu.clock_hz
    wait = (BARRIERS * SHARED_LATENCY_CYCLES + MATRIX_LATENCY_CYCLES) / gpu.clock_hz
    own = soft_maximum(compute * SCHEDULERS / np.minimum(warps, SCHEDULERS), shared, load)
    alone = np.where(
        stages == 1,
        latency + load + own,
        np.maximum(own + wait, (latency + load) / np.maximum(stages - 1, 1)),
    )

    # full rounds of resident programs, then a round of the rest, which hides less
    rounds, rest = np.floor(of_core / resident), of_core % resident
    round_s = steps * np.maximum(resident * together, alone)
    rest_s = np.where(rest > 0, steps * np.maximum(rest * together, alone), 0.0)
    ends = (rounds + (rest > 0)) * (
        2 * latency + bm * bn * SUM_BYTES / (SHARED_BYTES_PER_CYCLE * gpu.clock_hz)
    )
    busy = rounds * round_s + rest_s + ends

    memory = _memory_bytes(gpu, shape, tile, row_blocks, columns, resident, element) / gpu.bandwidth
    ideal = blocks / gpu.cores * steps * compute
    return joined(
        on_chip=busy, memory=memory, ideal=ideal, launch=LAUNCH_S, parts=blocks, lanes=gpu.cores, fits=fits
    )


def _shared_bytes(
    bm: Floats, bn: Floats, bk: Floats, warps: Floats, element: float, grouped: NDArray[np.bool_]
) -> Floats:
    """Bytes that a step writes to shared memory and reads from it.

    A warp reads the operands of its part of the tile, parts as square as they can be; a group of four warps
    reads them once for all of them.
    """
    readers = np.where(grouped, warps / GROUP_WARPS, warps)
    down = np.minimum(2.0 ** np.ceil(np.log2(readers) / 2 + np.log2(bm / bn) / 2), readers)
    down = np.clip(down, 1, np.maximum(np.minimum(readers, bm / 16), 1))
    down = np.where(grouped, np.minimum(readers, np.maximum(bm / GROUP_ROWS, 1)), down)
    across = readers / down
    entering = (bm + bn) * np.ceil(bk * element / LINE_BYTES) * LINE_BYTES
    return (bm * across + bn * down) * bk * element + entering


def _memory_bytes(
    gpu: Gpu,
    shape: ProductShape,
    tile: Columns,
    row_blocks: Floats,
    columns: Floats,
    resident: Floats,
    element: float,
) -> Floats:
    """Bytes from and to memory: what the tiles that run at once need in common is read once."""
    bm, bn = tile["BLOCK_SIZE_M"], tile["BLOCK_SIZE_N"]
    once = element * (shape.m * shape.k * shape.batch + shape.weight_copies * shape.batch * shape.n * shape.k)
    written = OUTPUT_BYTES * shape.m * shape.n * shape.batch
    running = np.minimum(gpu.cores * resident, row_blocks * columns)
    down = np.minimum(np.minimum(tile.get("GROUP_SIZE_M", np.ones_like(bm)), row_blocks), running)
    across = np.minimum(np.ceil(running / down), columns)
    down = np.minimum(np.maximum(down, running / across), row_blocks)
    waves = row_blocks * columns / np.maximum(down * across, 1)
    of_matrix = np.maximum(row_blocks / (shape.weight_copies * shape.batch), 1.0)
    read = waves * (down * bm + np.ceil(down / of_matrix) * across * bn) * shape.k * element
    held = once <= gpu.l2_bytes
    return np.where(held, once, np.maximum(read, once)) + written


def _resident(gpu: Gpu, sums: Floats, staged: Floats, warps: Floats) -> tuple[Floats, NDArray[np.bool_]]:
    """Programs that a core holds at once, and which tiles it can hold at all.

    Args:
        gpu: Where.
        sums: Registers of a thread that sums take.
        staged: Bytes of shared memory of a program.
        warps: Of a program.
    """
    registers = np.minimum(sums + OTHER_REGISTERS, MOST_REGISTERS)
    threads = gpu.warp * warps
    resident = np.floor(
        np.minimum.reduce(
            [
                gpu.shared_bytes / (staged + 1024),
                REGISTERS / (registers * threads),
                MOST_THREADS / threads,
                np.full_like(threads, MOST_PROGRAMS),
            ]
        )
    )
    return resident, (resident >= 1) & (sums + OTHER_REGISTERS <= MOST_REGISTERS)


def attention_times(gpu: Gpu, sizes: dict[str, float], tile: Columns, element: float) -> TileTimes:
    """Times of attention by blocks of queries and keys.

    Args:
        gpu: Where.
        sizes: S keys, Q queries, D width, B batch, H heads.
        tile: ``BLOCK_M``, ``BLOCK_N``, ``num_stages``, ``num_warps``.
        element: Bytes of an element.
    """
    bm, bn, stages, warps = tile["BLOCK_M"], tile["BLOCK_N"], tile["num_stages"], tile["num_warps"]
    width, heads = sizes["D"], sizes["B"] * sizes["H"]
    blocks, steps = np.ceil(sizes["Q"] / bm) * heads, np.ceil(sizes["S"] / bn)
    sums = bm * (width + bn) / (gpu.warp * warps)
    staged = (2 * stages * bn + bm) * width * element
    resident, fits = _resident(gpu, sums, staged, warps)
    of_core = np.ceil(blocks / gpu.cores)
    resident = np.minimum(np.maximum(resident, 1), of_core)
    rate = np.full_like(bm, gpu.flops / gpu.cores)
    if gpu.capability >= 9:
        rate = rate * np.where((bm >= GROUP_ROWS) & (warps >= GROUP_WARPS), 1.0, SYNCHRONOUS_SHARE)
    compute = 4 * bm * bn * width / rate
    scalar = (SOFTMAX_OPERATIONS * bm * bn + bm * width) / SCALARS_PER_CYCLE
    shares = (bm * bn / EXPONENTIALS_PER_CYCLE + scalar) / gpu.clock_hz
    read = (2 * bn + bm * warps / GROUP_WARPS) * width * element
    load = np.maximum(read / SHARED_BYTES_PER_CYCLE, 2 * bn * width * element / CACHE_BYTES_PER_CYCLE)
    load = load / gpu.clock_hz
    latency = (MEMORY_LATENCY_CYCLES + SHARED_LATENCY_CYCLES) / gpu.clock_hz
    wait = BARRIERS * SHARED_LATENCY_CYCLES / gpu.clock_hz
    together = soft_maximum(compute, shares, load)
    # products and exponentials of one program follow each other; those of two overlap
    alone = np.where(
        stages == 1,
        latency + load + compute + shares,
        np.maximum(compute + shares + wait, (latency + load) / np.maximum(stages - 1, 1)),
    )
    rounds = of_core / resident
    busy = np.ceil(rounds) * steps * np.maximum(resident * together, alone) + np.ceil(rounds) * 2 * latency
    traffic = element * heads * width * (2 * sizes["Q"] + 2 * sizes["S"])
    memory = np.full_like(bm, traffic / gpu.bandwidth)
    ideal = blocks / gpu.cores * steps * compute
    return joined(
        on_chip=busy, memory=memory, ideal=ideal, launch=LAUNCH_S, parts=blocks, lanes=gpu.cores, fits=fits
    )
