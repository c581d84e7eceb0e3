"""Times of the configurations of a kernel by a tile model, and what they are made of."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


SHARPNESS = 4.0
"""Exponent of the soft maximum of computing and traffic, as in the operators of the cost model."""


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
        """What decides the time of a configuration, in a line."""
        parts, lanes = float(self.parts[row]), float(self.lanes[row])
        rounds = float(self.rounds[row])
        idle = 1 - parts / (rounds * lanes)
        bound = "memory traffic" if self.memory_s[row] > self.on_chip_s[row] else "work on the cores"
        spread = f"{parts:.0f} tiles in {rounds:.0f} rounds over {lanes:.0f} cores, {idle:.0%} of them idle"
        return (
            f"{spread}; {bound} decides, arithmetic alone takes {self.ideal_s[row] / self.total_s[row]:.0%}"
        )


def soft_maximum(*parts: Floats) -> Floats:
    """What overlapping parts take together: the largest, and more where others come near it."""
    return np.asarray(sum(part**SHARPNESS for part in parts) ** (1 / SHARPNESS), dtype=np.float64)


def joined(
    *,
    on_chip: Floats,
    memory: Floats,
    ideal: Floats,
    launch: float,
    parts: Floats,
    lanes: Floats | float,
    rounds: Floats | None = None,
    fits: NDArray[np.bool_] | None = None,
) -> TileTimes:
    """Times from the parts of a model: the soft maximum of work and traffic, behind the launch.

    Args:
        on_chip: Seconds of the busiest core.
        memory: Seconds of the traffic with memory.
        ideal: Seconds of the products alone.
        launch: Seconds before the first instruction.
        parts: Tiles.
        lanes: Cores.
        rounds: Tiles of the core that takes most; as even as can be if None.
        fits: Where it can run at all; everywhere if None.
    """
    total = launch + soft_maximum(on_chip, memory)
    if fits is not None:
        total = np.where(fits, total, np.inf)
    pieces = np.asarray(parts, dtype=np.float64)
    cores = np.broadcast_to(np.asarray(lanes, dtype=np.float64), total.shape)
    return TileTimes(
        total_s=total,
        on_chip_s=on_chip,
        memory_s=memory,
        ideal_s=ideal,
        parts=pieces,
        lanes=cores,
        rounds=np.ceil(pieces / cores) if rounds is None else rounds,
    )
