"""Times of the configurations of a kernel: programs on cores, each a row of steps over units that overlap.

One model for all kernels and devices. What differs is in two tables: rates (:mod:`.tile_core`) and the work
of a step (:mod:`.tile_work`). Arrays have a row a configuration.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from recommender.ranking.kernels.tile_core import TileCore

Floats = NDArray[np.float64]

REGISTERS, MOST_REGISTERS = 65536.0, 255.0
"""32-bit registers of a core, and of a thread (CUDA C++ Programming Guide)."""
MOST_THREADS, MOST_PROGRAMS = 2048.0, 32.0
"""Limits of a core of a data-centre part (1,536 threads on consumer parts, which no tile here reaches)."""
PROGRAM_BYTES = 1024.0
"""Shared memory that the system takes of each program."""
MEMORY_SHARPNESS = 4.0
"""Exponent of the soft maximum of work and memory traffic, as in the operators of the cost model."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TileWork:
    """Work of a kernel in each configuration; cycles are those of one step of one program.

    Attributes:
        parts: Programs, each with one tile of the result.
        steps: Steps of a program.
        compute: Cycles of the matrix unit, or of arithmetic.
        near: Cycles of transfers from the buffer beside it.
        far: Cycles of transfers into that buffer.
        other: Cycles of other units: exponentials, instructions.
        latency: Cycles until a block is there.
        stages: Blocks on their way at once; with one, nothing runs beside a transfer.
        has_two_near: Whether near transfers run beside the arithmetic.
        is_chained: Whether other units wait for the matrix unit of the same program.
        pauses: How often a step waits for flags or barriers.
        slack: Factor by which the arithmetic of a program takes longer where it has the core alone.
        ends: Cycles of a program before its first step and after its last.
        memory_bytes: From and to memory, in all.
        resident: Programs that a core can hold at once.
        fits: Where a program can run at all.
        lanes: Cores that take programs.
        rounds: Programs of the core that takes most; None where they are spread evenly.
    """

    parts: Floats
    steps: Floats
    compute: Floats
    near: Floats
    far: Floats
    other: Floats | float = 0.0
    latency: Floats | float
    stages: Floats
    has_two_near: NDArray[np.bool_] | bool = True
    is_chained: NDArray[np.bool_] | bool = False
    pauses: float = 1.0
    slack: Floats | float = 1.0
    ends: Floats | float = 0.0
    memory_bytes: Floats
    resident: Floats | float = 1.0
    fits: NDArray[np.bool_] | bool = True
    lanes: Floats | float
    rounds: Floats | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class TileTimes:
    """Times by configuration.

    Attributes:
        total_s: The whole kernel; infinite where it does not fit.
        on_chip_s: Of the busiest core: products, its own transfers, waiting.
        memory_s: Of the traffic with memory at its full rate.
        ideal_s: Of the arithmetic alone, padded, with all cores busy.
        parts: Tiles, or other pieces that cores take.
        lanes: Cores that take them.
        rounds: Pieces of the core that takes most.
    """

    total_s: Floats
    on_chip_s: Floats
    memory_s: Floats
    ideal_s: Floats
    parts: Floats
    lanes: Floats
    rounds: Floats

    def reason(self, row: int) -> str:
        """One line that says why a configuration takes the time it does."""
        parts, lanes = float(self.parts[row]), float(self.lanes[row])
        rounds = float(self.rounds[row])
        idle = 1 - parts / (rounds * lanes)
        bound = "memory traffic" if self.memory_s[row] > self.on_chip_s[row] else "work on the cores"
        spread = f"{parts:.0f} tiles in {rounds:.0f} rounds over {lanes:.0f} cores, {idle:.0%} of them idle"
        return (
            f"{spread}; {bound} decides, arithmetic alone takes {self.ideal_s[row] / self.total_s[row]:.0%}"
        )

    def followed_by(self, other: TileTimes) -> TileTimes:
        """This kernel and another one behind it; tiles are counted of the first."""
        return TileTimes(
            total_s=self.total_s + other.total_s,
            on_chip_s=self.on_chip_s + other.on_chip_s,
            memory_s=self.memory_s + other.memory_s,
            ideal_s=self.ideal_s + other.ideal_s,
            parts=self.parts,
            lanes=self.lanes,
            rounds=self.rounds,
        )


def overlapped(sharpness: float, *parts: Floats | float) -> Floats:
    """The time of overlapping parts together: the largest, and more where others come near it."""
    if np.isinf(sharpness):
        return np.asarray(np.maximum.reduce(np.broadcast_arrays(*parts)), dtype=np.float64)
    return np.asarray(sum(np.power(part, sharpness) for part in parts) ** (1 / sharpness), dtype=np.float64)


def resident_programs(
    core: TileCore, *, registers: Floats, threads: Floats, shared: Floats
) -> tuple[Floats, NDArray[np.bool_]]:
    """Programs that a core holds at once, and which configurations it can hold at all.

    Args:
        core: The core that runs it.
        registers: Of a thread; more than it can have spill.
        threads: Of a program.
        shared: Bytes of shared memory of a program.
    """
    used = np.minimum(registers, MOST_REGISTERS)
    resident = np.floor(
        np.minimum.reduce(
            np.broadcast_arrays(
                core.shared_bytes / (shared + PROGRAM_BYTES),
                REGISTERS / (used * threads),
                MOST_THREADS / threads,
                MOST_PROGRAMS,
            )
        )
    )
    return np.asarray(resident, dtype=np.float64), resident >= 1


def times_of(core: TileCore, work: TileWork) -> TileTimes:
    """Times of a kernel.

    Programs that share a core hide each other's waiting; the last round may have fewer of them.

    Args:
        core: The core that runs it.
        work: What is done.
    """
    of_core = np.ceil(work.parts / work.lanes) if work.rounds is None else work.rounds
    resident = np.minimum(np.maximum(work.resident, 1.0), of_core)
    together = overlapped(core.sharpness, work.compute, work.near, work.far, work.other)
    busy = work.compute * work.slack
    inner = np.where(work.has_two_near, overlapped(core.sharpness, busy, work.near), busy + work.near)
    inner = np.where(work.is_chained, inner + work.other, overlapped(core.sharpness, inner, work.other))
    alone = core.pause * work.pauses + np.where(
        work.stages > 1,
        np.maximum(
            overlapped(core.sharpness, inner, work.far),
            (work.latency + work.far) / np.maximum(work.stages - 1, 1),
        ),
        work.latency + work.far + inner,
    )

    def round_of(programs: Floats) -> Floats:
        cycles = work.steps * np.maximum(programs * together, alone) + work.ends
        return np.where(programs > 0, cycles, 0.0)

    cycles = np.floor(of_core / resident) * round_of(resident) + round_of(of_core % resident)
    on_chip = cycles / core.clock_hz
    memory = np.broadcast_to(work.memory_bytes / core.bandwidth, on_chip.shape)
    ideal = work.parts / core.count * work.steps * work.compute / core.clock_hz
    total = core.launch_s + overlapped(MEMORY_SHARPNESS, on_chip, memory)
    return TileTimes(
        total_s=np.where(work.fits, total, np.inf),
        on_chip_s=on_chip,
        memory_s=memory,
        ideal_s=np.broadcast_to(ideal, on_chip.shape),
        parts=np.broadcast_to(work.parts, on_chip.shape),
        lanes=np.broadcast_to(np.asarray(work.lanes, dtype=np.float64), on_chip.shape),
        rounds=np.broadcast_to(of_core, on_chip.shape),
    )
