"""Energy as a meter's log has it, each amount with how it is known."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from enum import StrEnum
from itertools import pairwise
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from ingest.files.content import Content
    from ingest.files.sniffing import Head
    from kg.errors import Fault


class Knowledge(StrEnum):
    """How an amount of energy is known."""

    MEASURED = "measured"
    MODELLED = "modelled"
    ASSUMED = "assumed"


@dataclass(frozen=True, slots=True, kw_only=True)
class MeteredEnergy:
    """Energy of one part of a machine over a time.

    Attributes:
        part: Which, such as ``npu 0`` or ``cpu``.
        energy_j: Joule.
        duration_s: Seconds that it covers.
        start_s: Its beginning, Unix seconds; None where the log has no times.
        kind: How it is known.
        samples: Readings that it was made from; 1 for a counter's difference or a tracker's row.
        gap_s: Longest time between two readings.
    """

    part: str
    energy_j: float
    duration_s: float
    start_s: float | None
    kind: Knowledge
    samples: int = 1
    gap_s: float = 0.0


@dataclass(slots=True, kw_only=True)
class MeterLog:
    """What a log of a meter has.

    Attributes:
        energies: By part.
        faults: Rows that were left out.
        notes: Assumptions.
    """

    energies: list[MeteredEnergy] = field(default_factory=list)
    faults: list[Fault] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True, kw_only=True)
class MeterFormat:
    """One format of logs.

    Attributes:
        name: Id of the format.
        title: Short description.
        sniff: Whether a file with this head is of the format.
        read: Its energies; ``interval_s`` is between readings without times. Raises nothing for its content.
    """

    name: str
    title: str
    sniff: Callable[[Head], bool]
    read: Callable[[Content, float], MeterLog]


def integrate(
    part: str, samples: Iterable[tuple[float, float]], kind: Knowledge, *, has_times: bool = True
) -> MeteredEnergy | None:
    """Energy of power readings, by trapezia between their times; None of fewer than two.

    Args:
        part: Which part.
        samples: Seconds and watt, in any order.
        kind: How the power is known.
        has_times: Whether the seconds are of the Unix epoch.
    """
    ordered = sorted(set(samples))
    if len(ordered) < 2:
        return None
    steps = [later[0] - earlier[0] for earlier, later in pairwise(ordered)]
    energy = math.fsum(
        step * (earlier[1] + later[1]) / 2
        for step, earlier, later in zip(steps, ordered[:-1], ordered[1:], strict=True)
    )
    return MeteredEnergy(
        part=part,
        energy_j=energy,
        duration_s=ordered[-1][0] - ordered[0][0],
        start_s=ordered[0][0] if has_times else None,
        kind=kind,
        samples=len(ordered),
        gap_s=max(steps),
    )


def counted(
    part: str, samples: Iterable[tuple[float, float]], kind: Knowledge, *, range_j: float | None = None
) -> MeteredEnergy | None:
    """Energy of a counter's readings: differences, so that a counter that begins anew adds nothing false.

    Args:
        part: Which part.
        samples: Unix seconds and joule.
        kind: How the energy is known.
        range_j: Where the counter wraps; None where a fall means that it began anew.
    """
    ordered = sorted(set(samples))
    if len(ordered) < 2:
        return None
    energy = 0.0
    for (_, earlier), (_, later) in pairwise(ordered):
        rise = later - earlier
        energy += rise if rise >= 0 else rise + range_j if range_j is not None else later
    steps = [later[0] - earlier[0] for earlier, later in pairwise(ordered)]
    return MeteredEnergy(
        part=part,
        energy_j=energy,
        duration_s=ordered[-1][0] - ordered[0][0],
        start_s=ordered[0][0],
        kind=kind,
        samples=len(ordered),
        gap_s=max(steps),
    )
