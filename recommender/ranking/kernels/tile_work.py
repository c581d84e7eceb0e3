"""The work of kernels by tile: products, attention, rows of elements.

Notation: a tile has ``m`` rows, ``n`` columns and ``k`` along the sum. Arrays have a row a configuration.

Sources:
    Warp groups: https://triton-lang.org/main/getting-started/tutorials/gluon/wgmma.html. Ascend: short rows,
    https://www.hiascend.com/document/detail/en/canncommercial/850/opdevg/Ascendcopdevg/
    atlas_ascendc_best_practices_10_0014.html; pieces of 16 KB,
    https://www.hiascend.com/developer/techArticles/20240906-1.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from recommender.ranking.kernels.domain import Columns
from recommender.ranking.kernels.tile_core import HOPPER, TileCore
from recommender.ranking.kernels.tile_times import MOST_REGISTERS, TileWork, resident_programs

Floats = NDArray[np.float64]

SUM_BYTES, OUTPUT_BYTES = 4.0, 2.0
LINE_BYTES = 128.0
"""Bytes of one request to a GPU's caches: shorter rows cost as much."""
ALIGNED_BYTES, UNALIGNED_SHARE = 512.0, 0.7
"""Rows from which Ascend's transfers are at their rate, and their share of it where rows are of 32 bytes."""
TILE_REGISTERS, ROW_REGISTERS = 40.0, 24.0
"""Registers of a thread beside its sums or elements: addresses, operands; a choice."""
SCHEDULERS = 4.0
"""Parts of a GPU's core, each with a matrix unit: a warp uses one (CUDA C++ Programming Guide)."""
GROUP_ROWS, GROUP_WARPS = 64, 4
SYNCHRONOUS_SHARE = 0.63
"""Rate of the older instructions on Hopper, which a tile below 64 rows or four warps has to use (Luo et al.,
https://arxiv.org/abs/2402.13499)."""
TENSOR_MEMORY = (10.0, 12.0)
"""Compute capabilities from which and up to which sums need no registers (PTX ISA, tcgen05)."""
PART_ROWS = 64
"""Length along K that Triton's compiler gives L0 at once: with it blocks of 256 lie twice in 64 KB."""
EXPONENTIALS_PER_CYCLE, SCALARS_PER_CYCLE = 16.0, 128.0
"""Rates of a GPU's core (CUDA C++ Programming Guide, throughput of arithmetic instructions)."""
SOFTMAX_OPERATIONS, SOFTMAX_PASSES = 4.0, 5.0
"""Scalar operations of a score beside its exponential; vector instructions on Ascend (FlashAttention)."""
PIECE_BYTES, START_SHARE = 16 * 1024.0, 0.1
"""Size from which the start of a transfer on Ascend costs little, and that start as a share; a choice."""
PORT_BYTES = 32.0
"""Between a core and memory on Ascend in a cycle (``ddr_rate`` of CANN's platform files of the 910B4)."""
WIDEST_LOAD_BYTES = 16.0
LANES = 32.0
NEAR_LATENCY = 20.0
"""Cycles to the shared memory of a GPU (the table of :mod:`.tile_core`)."""
_LENGTHS = ("BLOCK_SIZE", "BLOCK_N", "tileColumns", "tileLength")
_HEIGHTS = ("ROWS", "BLOCK_M", "tileRows")


@dataclass(frozen=True, slots=True, kw_only=True)
class ProductShape:
    """The sizes of a product as tiles see them.

    Attributes:
        m: Rows; for groups those of one group.
        n: Columns.
        k: Length.
        batch: Independent products.
        row_blocks: Blocks of rows by their height, where they are not ``ceil(m / tile.m)``; None otherwise.
        weight_copies: Matrices of K by N that are read: experts that have a token.
    """

    m: float
    n: float
    k: float
    batch: float = 1.0
    row_blocks: Floats | None = None
    weight_copies: float = 1.0


def product(core: TileCore, shape: ProductShape, tile: Columns, element: float) -> TileWork:
    """A matrix product.

    Args:
        core: The core that runs it.
        shape: Sizes.
        tile: As Triton has it for GPUs (``BLOCK_SIZE_M``, ``num_warps`` ...), for Ascend (``BLOCK_M``,
            ``multibuffer`` ...), or Ascend C's TCubeTiling (``baseM``, ``depthA1`` ...).
        element: Bytes of an element of the operands.
    """
    if not core.is_ascend:
        return _gpu_product(core, shape, tile, element)
    is_triton = "BLOCK_M" in tile
    m, n = (tile["BLOCK_M"], tile["BLOCK_N"]) if is_triton else (tile["baseM"], tile["baseN"])
    k = np.minimum(tile["BLOCK_K"], PART_ROWS) if is_triton else tile["baseK"]
    packets = (
        (tile["BLOCK_K"], tile["BLOCK_K"])
        if is_triton
        else tuple(np.maximum(tile[f"depth{side}1"] / 2, 1) * k for side in "AB")
    )
    rows, columns = np.ceil(shape.m / m), np.ceil(shape.n / n)
    cores = tile["grid"] if is_triton else tile["usedCoreNum"]
    group = tile["BLOCK_TRESHHOLD"] if is_triton else np.ones_like(m)
    brought = m * k * element / _row_share(packets[0] * element)
    brought = brought + n * k * element / _row_share(packets[1] * element)
    leave = m * n * OUTPUT_BYTES / core.far_bytes
    waits = sum(np.ceil(shape.k / packet) for packet in packets) * core.pause
    overlaps = tile["multibuffer"] > 0 if is_triton else (tile["depthA1"] > 1) & (tile["depthB1"] > 1)
    return TileWork(
        parts=rows * columns * shape.batch,
        steps=np.ceil(shape.k / k),
        compute=2 * _whole(core, m) * _whole(core, n) * k / core.flops,
        near=(m / 2 + n) * k * element / core.near_bytes,
        far=brought / core.far_bytes,
        latency=0.0,
        stages=np.where(overlaps, 2.0, 1.0),
        has_two_near=True if is_triton else (tile["dbL0A"] == 2) & (tile["dbL0B"] == 2),
        ends=waits + (leave if is_triton else np.where(tile["dbL0C"] == 2, 0.0, leave)),
        memory_bytes=_product_bytes(
            core, shape, (m, n), (rows * shape.batch, columns), (group, cores), element
        ),
        lanes=cores,
        rounds=None
        if is_triton or shape.batch != 1
        else np.multiply(*core_shares(rows, columns, cores, m, n)),
    )


def _gpu_product(core: TileCore, shape: ProductShape, tile: Columns, element: float) -> TileWork:
    m, n, k = tile["BLOCK_SIZE_M"], tile["BLOCK_SIZE_N"], tile["BLOCK_SIZE_K"]
    stages, warps = tile["num_stages"], tile["num_warps"]
    rows = np.ceil(shape.m / m) * shape.batch if shape.row_blocks is None else shape.row_blocks
    columns = np.ceil(shape.n / n)
    in_tensor_memory = TENSOR_MEMORY[0] <= core.capability < TENSOR_MEMORY[1]
    registers = TILE_REGISTERS + (0.0 if in_tensor_memory else 1.0) * m * n / (core.warp * warps)
    block = (m + n) * k * element
    # before Hopper the block in use is in registers; whether a tile fits at all is asked with all its stages
    staged = np.where(core.capability >= HOPPER, stages, np.maximum(stages - 1, 1)) * block
    resident, fits = resident_programs(core, registers=registers, threads=core.warp * warps, shared=staged)
    fits &= (registers <= MOST_REGISTERS) & (stages * block + 1024 <= core.shared_bytes)
    grouped = _grouped(core, m, warps)
    group = tile.get("GROUP_SIZE_M", np.ones_like(m))
    return TileWork(
        parts=rows * columns,
        steps=np.ceil(shape.k / k),
        compute=2 * m * n * k / core.flops / _hopper_share(core, grouped),
        near=_operand_bytes(m, n, k, warps, element, grouped) / core.near_bytes,
        far=block / core.far_bytes,
        latency=core.latency,
        stages=stages,
        slack=SCHEDULERS / np.minimum(warps, SCHEDULERS),
        ends=2 * core.latency + m * n * SUM_BYTES / core.near_bytes,
        memory_bytes=_product_bytes(
            core, shape, (m, n), (rows, columns), (group, core.count * np.maximum(resident, 1)), element
        ),
        resident=resident,
        fits=fits,
        lanes=core.count,
    )


def _product_bytes(
    core: TileCore,
    shape: ProductShape,
    tile: tuple[Floats, Floats],
    blocks: tuple[Floats, Floats],
    order: tuple[Floats, Floats],
    element: float,
) -> Floats:
    """Bytes from and to memory: what the tiles that run at once need in common is read once.

    Args:
        core: The core that runs it.
        shape: Sizes.
        tile: Rows and columns of a tile.
        blocks: Tiles down and along.
        order: Rows of tiles that follow each other, and tiles that run at once.
        element: Bytes of an element.
    """
    (m, n), (rows, columns), (group, running) = tile, blocks, order
    once = element * shape.k * shape.batch * (shape.m + shape.weight_copies * shape.n)
    running = np.minimum(running, rows * columns)
    down = np.minimum(np.minimum(group, rows), running)
    across = np.minimum(np.ceil(running / down), columns)
    down = np.minimum(np.maximum(down, running / across), rows)
    waves = rows * columns / np.maximum(down * across, 1)
    of_matrix = np.maximum(rows / (shape.weight_copies * shape.batch), 1.0)
    read = waves * (down * m + np.ceil(down / of_matrix) * across * n) * shape.k * element
    held = once <= core.l2_bytes
    return np.where(held, once, np.maximum(read, once)) + OUTPUT_BYTES * shape.m * shape.n * shape.batch


def _operand_bytes(
    m: Floats, n: Floats, k: Floats, warps: Floats, element: float, grouped: NDArray[np.bool_]
) -> Floats:
    """Bytes that a step of a GPU's program writes to shared memory and reads from it.

    A warp reads the operands of its part of the tile, parts as square as they can be; a group of four warps
    reads them once for all of them.
    """
    readers = np.where(grouped, warps / GROUP_WARPS, warps)
    down = np.minimum(2.0 ** np.ceil(np.log2(readers) / 2 + np.log2(m / n) / 2), readers)
    down = np.clip(down, 1, np.maximum(np.minimum(readers, m / 16), 1))
    down = np.where(grouped, np.minimum(readers, np.maximum(m / GROUP_ROWS, 1)), down)
    entering = (m + n) * np.ceil(k * element / LINE_BYTES) * LINE_BYTES
    return (m * readers / down + n * down) * k * element + entering


def core_shares(rows: Floats, columns: Floats, cores: Floats, m: Floats, n: Floats) -> tuple[Floats, Floats]:
    """Base blocks of a core down and along: each core of Ascend C's matrix product takes one rectangle.

    The division whose largest share has the fewest blocks, the squarest of these.

    Args:
        rows: Base blocks of the product down.
        columns: Base blocks of it along.
        cores: Cores in use.
        m: Rows of a base block.
        n: Columns of one.
    """
    best_down, best_along = rows, columns
    for each in np.unique(cores):
        for divisor in (d for d in range(1, int(each) + 1) if each % d == 0):
            down, along = np.ceil(rows / divisor), np.ceil(columns / (each // divisor))
            blocks, best_blocks = down * along, best_down * best_along
            squarer = down * m + along * n < best_down * m + best_along * n
            better = (cores == each) & ((blocks < best_blocks) | ((blocks == best_blocks) & squarer))
            best_down, best_along = np.where(better, down, best_down), np.where(better, along, best_along)
    return np.asarray(best_down), np.asarray(best_along)


def attention(core: TileCore, sizes: Mapping[str, float], tile: Columns, element: float) -> TileWork:
    """Attention by blocks of queries and keys; scores go to the vector unit and back.

    Args:
        core: The core that runs it.
        sizes: S keys, Q queries, D width, B batch, H heads.
        tile: ``BLOCK_M`` and ``BLOCK_N`` or ``baseM`` and ``baseN``, with stages and warps, or buffers.
        element: Bytes of an element.
    """
    m, n = (tile[name] if name in tile else tile[f"base{name[-1]}"] for name in ("BLOCK_M", "BLOCK_N"))
    width, heads = sizes["D"], sizes["B"] * sizes["H"]
    far = 2 * n * width * element / core.far_bytes
    compute = 4 * _whole(core, m) * _whole(core, n) * _whole(core, width) / core.flops
    resident, fits = np.ones_like(m), np.ones_like(m, dtype=bool)
    if core.is_ascend:
        stages = np.where(_is_double(tile), 2.0, 1.0)
        near = (m + n) * (width + n) * element / core.near_bytes
        other = m * n * SUM_BYTES * SOFTMAX_PASSES / core.other_bytes
        if not core.is_joint:  # scores cross to the vector cores and back through the cache
            other = other + m * n * (SUM_BYTES + element) / core.far_bytes
        chained, ends = stages == 1, np.maximum.reduce([compute, other, far])
    else:
        stages, warps = tile["num_stages"], tile["num_warps"]
        registers = TILE_REGISTERS + m * (width + n) / (core.warp * warps)
        staged = (2 * stages * n + m) * width * element
        resident, fits = resident_programs(
            core, registers=registers, threads=core.warp * warps, shared=staged
        )
        fits &= registers <= MOST_REGISTERS
        compute = compute / _hopper_share(core, _grouped(core, m, warps))
        near = (2 * n + m * warps / GROUP_WARPS) * width * element / core.near_bytes
        other = m * n / EXPONENTIALS_PER_CYCLE + (SOFTMAX_OPERATIONS * m * n + m * width) / SCALARS_PER_CYCLE
        # products and exponentials of one program follow each other; those of two overlap
        chained, ends = np.ones_like(m, dtype=bool), np.full_like(m, 2 * core.latency)
    return TileWork(
        parts=np.ceil(sizes["Q"] / m) * heads,
        steps=np.ceil(sizes["S"] / n),
        compute=compute,
        near=near,
        far=far,
        other=other,
        latency=core.latency,
        stages=stages,
        is_chained=chained,
        pauses=4.0 if core.is_ascend else 1.0,
        ends=ends,
        memory_bytes=np.full_like(m, element * heads * width * (2 * sizes["Q"] + 2 * sizes["S"])),
        resident=resident,
        fits=fits,
        lanes=tile.get("grid", np.full_like(m, core.count)),
    )


def rows_of_elements(
    core: TileCore, tile: Columns, *, elements: float, row: float, element: float, turned: bool = False
) -> TileWork:
    """Work of kernels that mostly read and write: the memory decides, and the bytes a piece requests at once.

    Args:
        core: The core that runs it.
        tile: ``BLOCK_SIZE`` and ``ROWS``, ``BLOCK_M`` and ``BLOCK_N``, or Ascend C's names; warps or buffers.
        elements: Of the whole tensor.
        row: Length of rows that depend on all of their elements, read twice where they are longer than a
            piece; 0 for independent elements.
        element: Bytes of an element.
        turned: Whether rows are written as columns: the height of a piece is the length of what is written.
    """
    block = next(tile[name] for name in _LENGTHS if name in tile)
    height = next((tile[name] for name in _HEIGHTS if name in tile), np.ones_like(block))
    length = np.minimum(block, row) if row else block
    whole = np.full_like(block, row) if row else block
    passes = np.where(length < whole, 2.0, 1.0)
    parts = np.ceil(elements / (whole * height))
    turns = np.ceil(whole / length)
    enter, leave = whole * height * element * passes, whole * height * element
    if core.is_ascend:
        held = 2 * elements * element <= core.l2_bytes
        rate = core.far_bytes if held else PORT_BYTES
        short = np.minimum(length, height) if turned else length
        share, starts = _row_share(short * element), turns * START_SHARE * PIECE_BYTES / rate
        cores = tile["grid"] if "grid" in tile else tile["blockDim"]
        piece = np.minimum(length * height * element, PIECE_BYTES)  # memory, too, is lost to starts
        return TileWork(
            parts=parts,
            steps=np.ones_like(block),
            compute=np.zeros_like(block),
            near=leave / rate / share + starts,
            far=enter / rate / share + starts * passes,
            latency=0.0,
            stages=np.where(_is_double(tile), 2.0, 1.0),
            pauses=0.0,
            memory_bytes=parts * (enter + leave) * (1 + START_SHARE * PIECE_BYTES / piece),
            lanes=cores,
        )
    threads = tile["num_warps"] * core.warp
    each = np.maximum(block * height / threads, 1.0)
    registers = np.ceil(each * max(element, 4.0) / 4.0) + ROW_REGISTERS
    resident, fits = resident_programs(
        core, registers=registers, threads=threads, shared=np.zeros_like(block)
    )
    moved = enter + leave
    if turned:
        lines = [np.ceil(side * element / LINE_BYTES) * LINE_BYTES for side in (length, height)]
        moved = height * lines[0] + length * lines[1]
    width = np.minimum(np.minimum(each * element, WIDEST_LOAD_BYTES) * LANES, core.near_bytes)
    return TileWork(
        parts=parts,
        steps=turns * passes,
        compute=np.zeros_like(block),
        near=np.zeros_like(block),
        far=moved / width / (turns * passes),
        latency=core.latency + NEAR_LATENCY * np.log2(tile["num_warps"]),
        stages=np.ones_like(block),
        pauses=0.0,
        memory_bytes=parts * moved,
        resident=resident,
        fits=fits & (registers <= MOST_REGISTERS),
        lanes=core.count,
    )


def _whole(core: TileCore, size: Floats | float) -> Floats:
    return np.ceil(np.asarray(size, dtype=np.float64) / core.whole) * core.whole


def _row_share(row_bytes: Floats) -> Floats:
    """Share of its rate that a transfer on Ascend reaches: short rows are slower."""
    return UNALIGNED_SHARE + (1 - UNALIGNED_SHARE) * np.minimum(row_bytes / ALIGNED_BYTES, 1.0)


def _is_double(tile: Columns) -> NDArray[np.bool_]:
    return tile["multibuffer"] > 0 if "multibuffer" in tile else tile["bufferNum"] > 1


def _grouped(core: TileCore, m: Floats, warps: Floats) -> NDArray[np.bool_]:
    """Mask of tiles whose warps compute as groups: operands are read once, and Hopper's peak is reached."""
    return (m >= GROUP_ROWS) & (warps >= GROUP_WARPS) & (core.capability >= HOPPER)


def _hopper_share(core: TileCore, grouped: NDArray[np.bool_]) -> Floats:
    return np.where(grouped | (core.capability < HOPPER), 1.0, SYNCHRONOUS_SHARE)
