"""A check that the tiles of a kernel fit the buffers of a core, by the names of its parameters.

Triton keeps a tile of both operands for every stage of its pipeline but the one in use, and takes steps along
K no longer than the blocks that share a scale; on AMD's devices one stage is sure. AscendC's matmul
keeps its base blocks in L0A, L0B and (32 bit) L0C. Lower bounds: what they refuse cannot run.
"""

import math
from collections.abc import Iterator, Mapping
from functools import lru_cache
from types import MappingProxyType

from kg.nouns.values import Value
from recommender.ranking.feasibility.rules import Broken, positive_integer
from recommender.space.made.needs import CUDA_GUIDE, MOST_THREADS, STATIC_SHARED_BYTES

_THREADS = (("block_size_x", "block_size_y", "block_size_z"), ("MDIMC", "NDIMC"))
"""Parameters whose product is the threads of a block: Kernel Tuner's names, and CLBlast's for GEMM."""

_TRITON = ("BLOCK_SIZE_M", "BLOCK_SIZE_N", "BLOCK_SIZE_K")
_ASCENDC = ("baseM", "baseN", "baseK")
NAMES = frozenset({*_THREADS[0], *_THREADS[1], *_TRITON, *_ASCENDC})
_ACCUMULATOR_BYTES = 4

_BYTES = (
    ("float32", 4), ("fp32", 4), ("tf32", 4), ("int32", 4), ("w8a16", 1), ("w4a16", 1), ("int4", 1),
    ("fp4", 1), ("int8", 1), ("fp8", 1), ("float8", 1), ("e4m3", 1), ("e5m2", 1), ("w8a8", 1), ("16", 2),
    ("half", 2),
)  # fmt: skip
"""Least bytes of an element of the operands, by words of a number format; four bits count as a byte."""


def buffers(
    configuration: Mapping[str, Value],
    precision: str | None,
    device: str,
    facts: Mapping[str, float | str],
    shape: Mapping[str, Value] = MappingProxyType({}),
    block: Value = None,
) -> Iterator[Broken]:
    """List the buffers that a configuration would overfill.

    Args:
        configuration: What would be set.
        precision: Number format of the operands; None if unknown.
        device: Id of the hardware.
        facts: Its facts.
        shape: Sizes of the workload, for the halo of a stencil.
        block: Sides of the blocks of an operand that share a scale; None if there are none.
    """
    source = f"facts of {device}: tunegraph kb query hardware-facts --with hardware={device}"
    most = _number(facts, "max_threads_per_block")
    if most is None and "compute_capability" in facts:
        most, note = float(MOST_THREADS), CUDA_GUIDE
    else:
        note = source
    for names in _THREADS:
        sizes = [size for name in names if (size := positive_integer(configuration.get(name))) is not None]
        if most is not None and len(sizes) > 1 and math.prod(sizes) > most:
            yield Broken(
                rule="a block has no more threads than the device allows",
                reason=f"{' x '.join(map(str, sizes))} is {math.prod(sizes)}, above {most:.0f}",
                source=note,
            )
    element = _element_bytes(precision)
    if element is None:
        return
    yield from _triton(configuration, element, facts, source, block)
    yield from _ascendc(configuration, element, facts, source)
    yield from _stencil(configuration, element, facts, shape)


def _triton(
    configuration: Mapping[str, Value],
    element: int,
    facts: Mapping[str, float | str],
    source: str,
    block: Value,
) -> Iterator[Broken]:
    shared = _number(facts, "shared_memory_bytes")
    tile = [positive_integer(configuration.get(name)) for name in _TRITON]
    if shared is None or None in tile:
        return
    m, n, k = (size for size in tile if size is not None)
    if isinstance(block, tuple):
        k = min([k, *(size for side in block if (size := positive_integer(side)))])
    kept = (
        1
        if _capability(facts) == "gfx"
        else max((positive_integer(configuration.get("num_stages")) or 1) - 1, 1)
    )
    needed = kept * (m + n) * k * element
    if needed > shared:
        yield Broken(
            rule="the tiles fit the shared memory",
            reason=f"{kept} x ({m} + {n}) x {k} x {element} B is {needed} B, above {shared:.0f} B",
            source=source,
        )


def _stencil(
    configuration: Mapping[str, Value],
    element: int,
    facts: Mapping[str, float | str],
    shape: Mapping[str, Value],
) -> Iterator[Broken]:
    """Check the tile of a convolution, staged with the filter's halo unless it says otherwise."""
    stages = configuration.get("use_shmem", "use_padding" in configuration)
    if not _capability(facts).isdigit() or not stages:
        return
    sides = []
    for axis, size in (("x", "filter_width"), ("y", "filter_height")):
        halo = next(
            (positive_integer(value) for name, value in shape.items() if name.rpartition(".")[2] == size),
            None,
        )
        block, tile = (
            positive_integer(configuration.get(f"{name}_size_{axis}")) for name in ("block", "tile")
        )
        if halo is None or block is None or tile is None:
            return
        sides.append(block * tile + halo - 1)
    needed = math.prod(sides) * element
    if needed > STATIC_SHARED_BYTES:
        yield Broken(
            rule="the tile with its halo fits the shared memory of a block",
            reason=f"{sides[0]} x {sides[1]} x {element} B is {needed} B, above {STATIC_SHARED_BYTES} B",
            source="CUDA C++ Programming Guide, shared memory: 48 KB of it are static",
        )


def _ascendc(
    configuration: Mapping[str, Value], element: int, facts: Mapping[str, float | str], source: str
) -> Iterator[Broken]:
    tile = [positive_integer(configuration.get(name)) for name in _ASCENDC]
    if None in tile:
        return
    m, n, k = (size for size in tile if size is not None)
    for buffer, needed in (
        ("l0a_bytes", m * k * element),
        ("l0b_bytes", k * n * element),
        ("l0c_bytes", m * n * _ACCUMULATOR_BYTES),
    ):
        size = _number(facts, buffer)
        if size is not None and needed > size:
            yield Broken(
                rule=f"the base block fits {buffer.removesuffix('_bytes').upper()}",
                reason=f"{needed} B of {m} x {n} x {k}, above {size:.0f} B",
                source=source,
            )


@lru_cache(maxsize=64)
def _element_bytes(precision: str | None) -> int | None:
    text = (precision or "").lower()
    return next((size for word, size in _BYTES if word in text), None)


def _capability(facts: Mapping[str, float | str]) -> str:
    """Return the first letters of the compute capability: a digit for CUDA's, gfx for AMD's targets."""
    text = str(facts.get("compute_capability", ""))
    return text[:1] if text[:1].isdigit() else text[:3]


def _number(facts: Mapping[str, float | str], name: str) -> float | None:
    value = facts.get(name)
    return float(value) if isinstance(value, int | float) and value > 0 else None
