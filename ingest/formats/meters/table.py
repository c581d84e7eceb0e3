"""Energy as a meter's log has it, each amount with how it is known."""

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from itertools import pairwise

from ingest.files.content import Content
from ingest.files.sniffing import Head
from ingest.files.times import epoch_s, from_local, zone_of
from kg.errors import Fault

NO_ZONE = "its times carry no zone and are taken as UTC: --zone says which clock they are of"


class Knowledge(StrEnum):
    """Ways in which an amount of energy is known."""

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
        has_zone: The beginning is sure; otherwise the log's clock was taken as UTC.
        kind: How it is known.
        samples: Readings that it was made from; 1 for a counter's difference or a tracker's row.
        gap_s: Longest time between two readings.
    """

    part: str
    energy_j: float
    duration_s: float
    start_s: float | None
    kind: Knowledge
    has_zone: bool = True
    samples: int = 1
    gap_s: float = 0.0


@dataclass(slots=True, kw_only=True)
class MeterLog:
    """Contents of a log of a meter.

    Attributes:
        energies: By part.
        faults: Rows that were left out.
        notes: Assumptions.
    """

    energies: list[MeteredEnergy] = field(default_factory=list)
    faults: list[Fault] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True, kw_only=True)
class MeterClock:
    """Clock of a log whose times do not state it.

    Attributes:
        interval_s: Seconds between readings, where the log has no times.
        zone: Zone of times that carry none; empty for UTC, which is then said.
    """

    interval_s: float = 1.0
    zone: str = ""


@dataclass(slots=True)
class LogTimes:
    """The times of one log: the first one decides whether they carry their zone.

    Attributes:
        clock: What the log does not say.
        has_zone: Whether its times carry their zone; None before the first one.
    """

    clock: MeterClock
    has_zone: bool | None = None

    def read(self, text: str) -> float:
        """Seconds of the Unix epoch, or of the log's own clock as though it were UTC.

        Raises:
            ValueError: It is no time, or one with a zone among those without.
        """
        seconds, has_zone = epoch_s(text)
        if self.has_zone is None:
            self.has_zone = has_zone
        if has_zone != self.has_zone:
            raise ValueError(f"{text[:40]!r}: some times carry a zone, others do not")
        return seconds

    def settle(self, walls: Sequence[float]) -> list[float]:
        """Times that were read, in the order of the log, as seconds of the Unix epoch."""
        if self.has_zone is not False or not self.clock.zone:
            return list(walls)
        return from_local(walls, zone_of(self.clock.zone))[0]

    @property
    def is_sure(self) -> bool:
        """True if the zone is stated, in the log or beside it."""
        return self.has_zone is not False or bool(self.clock.zone)


@dataclass(frozen=True, slots=True, kw_only=True)
class MeterFormat:
    """One format of logs.

    Attributes:
        name: Id of the format.
        title: Short description.
        sniff: Whether a file with this head is of the format.
        read: Its energies. Raises nothing for its content.
    """

    name: str
    title: str
    sniff: Callable[[Head], bool]
    read: Callable[[Content, MeterClock], MeterLog]


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
    part: str,
    samples: Iterable[tuple[float, float]],
    kind: Knowledge,
    *,
    range_j: float | None = None,
    has_times: bool = True,
) -> MeteredEnergy | None:
    """Energy of a counter's readings: differences, so that a counter that begins anew adds nothing false.

    Args:
        part: Which part.
        samples: Unix seconds and joule.
        kind: How the energy is known.
        range_j: Where the counter wraps; None where a fall means that it began anew.
        has_times: Whether the seconds are of the Unix epoch.
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
        start_s=ordered[0][0] if has_times else None,
        kind=kind,
        samples=len(ordered),
        gap_s=max(steps),
    )
