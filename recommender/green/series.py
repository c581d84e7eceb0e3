"""A series of carbon intensity on slots of half an hour, made from what files have."""

from __future__ import annotations

import math
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import numpy as np

from kg.errors import InputError
from kg.nouns.entities import Source
from kg.nouns.grid import GreenSchedule, GridRegion
from recommender.green.history import DAY, SLOT_S, Floats

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import tzinfo

    from ingest.formats.intensity.table import IntensityTable

STEPS_S = (300, 900, 1800, 3600)
"""Lengths of slots that grids and services publish."""

_SHORT_GAP = 6
"""Slots of a gap that is filled by a straight line; longer ones by the day before."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class IntensitySeries:
    """Carbon intensity of a region by half hour, without gaps.

    Attributes:
        region: Name of the region.
        start: Start of the first slot, with its zone; the zone is that of the region's clock.
        values: Gram CO2 equivalent per kWh, shape (n,).
        is_filled: Slots that the files do not have, shape (n,).
        kind: ``average``, ``marginal``, or empty where nobody said.
        scope: ``direct``, ``life cycle``, or empty where nobody said.
        notes: Assumptions and repairs.
    """

    region: str
    start: datetime
    values: Floats
    is_filled: np.ndarray
    kind: str = ""
    scope: str = ""
    notes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        """Refuse a start without a zone."""
        if self.start.tzinfo is None:
            raise ValueError("a series needs the zone of its times")

    @property
    def local_start(self) -> datetime:
        """Start as the region's clock shows it, without summer time: days stay 48 slots long."""
        offset = min(
            (moment.astimezone(self.start.tzinfo).utcoffset() or timedelta())
            for moment in (datetime(self.start.year, month, 1, tzinfo=UTC) for month in (1, 7))
        )
        return (self.start.astimezone(UTC) + offset).replace(tzinfo=None)

    @property
    def end(self) -> datetime:
        """End of the last slot."""
        return self.time_of(len(self.values))

    def time_of(self, slot: int) -> datetime:
        """Start of a slot, which may lie beyond the end, in the series' zone."""
        moment = self.start.astimezone(UTC) + timedelta(seconds=SLOT_S * slot)
        return moment.astimezone(self.start.tzinfo)

    def slot_of(self, moment: datetime) -> int:
        """The slot in which a moment lies; it may lie outside the series."""
        return math.floor((moment - self.start).total_seconds() / SLOT_S)


WINDOW_HOURS = 3
"""Length of the windows of the day that the graph keeps."""


def green_windows(series: IntensitySeries, days: int = 28) -> tuple[GridRegion, list[GreenSchedule]]:
    """The region and how clean its electricity is through the day, as nouns of the graph.

    Args:
        series: A day of it or more; the last weeks count.
        days: How many.

    Raises:
        InputError: It has less than a day.
    """
    recent = series.values[-(min(days, len(series.values) // DAY) * DAY) :]
    if len(recent) < DAY or len(series.values) < DAY:
        raise InputError(f"less than a day of {series.region}")
    first = series.time_of(len(series.values) - len(recent))
    hours = np.array([(first + timedelta(seconds=SLOT_S * slot)).hour for slot in range(DAY)])
    profile = recent.reshape(-1, DAY).mean(axis=0)
    about = " ".join(filter(None, (series.kind, series.scope, "carbon intensity")))
    source = Source(
        title=f"{about} of {series.region}, imported", note=f"{first:%Y-%m-%d} to {series.end:%Y-%m-%d}"
    )
    name = series.region.lower().replace("_", "-")
    schedules = [
        GreenSchedule(
            region=name,
            start_hour=hour,
            end_hour=hour + WINDOW_HOURS,
            carbon_intensity_g_per_kwh=round(
                float(profile[(hours >= hour) & (hours < hour + WINDOW_HOURS)].mean()), 1
            ),
            source=source,
        )
        for hour in range(0, 24, WINDOW_HOURS)
    ]
    return GridRegion(id=name, labels={"en": series.region}), schedules


def zone_of(name: str) -> tzinfo:
    """A time zone by its IANA name, ``UTC`` or an offset such as ``+01:00``.

    Raises:
        InputError: There is none of that name.
    """
    if name.upper() in {"UTC", "Z", "GMT"}:
        return UTC
    try:
        if name[:1] in "+-":
            zone = datetime.fromisoformat(f"2000-01-01T00:00:00{name}").tzinfo
            if zone is not None:
                return zone
        return ZoneInfo(name)
    except (ValueError, ZoneInfoNotFoundError, OSError):
        raise InputError(f"no time zone {name!r}", hint="such as Europe/Berlin, UTC or +01:00") from None


def series_from(
    tables: Sequence[IntensityTable],
    *,
    region: str = "",
    zone: str = "",
    label: str = "start",
    kind: str = "",
) -> IntensitySeries:
    """Join tables of one region into a series; later ones win where they overlap.

    Args:
        tables: As files have them, oldest first.
        region: Name of the region, where the files give none or another.
        zone: Zone of the region's clock; needed where times carry none.
        label: ``start`` or ``end``: which end of its slot a time stands for.
        kind: ``average`` or ``marginal``, where the files do not say.

    Raises:
        InputError: Times without a zone and none is given, average mixed with marginal, direct with life
            cycle, an unheard-of step, or nothing measured.
    """
    names = {table.region for table in tables if table.region}
    if not region and len(names) > 1:
        raise InputError(
            f"the files are of several regions: {', '.join(sorted(names))}", hint="--region names one"
        )
    kind = _only(tables, "kind", kind)
    scope = _only(tables, "scope", "")
    if not zone and not all(table.has_zone for table in tables if table.times_s):
        raise InputError(
            "the times of the series carry no zone",
            hint="say which clock they are of: --zone Europe/Berlin or --zone UTC",
        )
    clock = zone_of(zone) if zone else UTC
    notes: list[str] = []
    slots: dict[int, tuple[float, float]] = {}
    for table in tables:
        notes += table.notes
        if table.times_s:
            _spread(table, clock, label, slots, notes)
    if not slots:
        raise InputError("there is no measured intensity, only forecasts")
    first, last = min(slots), max(slots)
    values = np.full(last - first + 1, np.nan)
    for slot, (total, weight) in slots.items():
        values[slot - first] = total / weight
    is_filled = np.isnan(values)
    _fill(values)
    if is_filled.any():
        notes.append(f"{int(is_filled.sum())} half hours are missing and were filled")
    if not values.min() > 0:
        notes.append("the intensity is zero at times: savings are in grams, shares are of the mean")
    start = datetime.fromtimestamp(first * SLOT_S, UTC).astimezone(clock)
    return IntensitySeries(
        region=region or next(iter(names), ""), start=start, values=values, is_filled=is_filled, kind=kind,
        scope=scope, notes=tuple(dict.fromkeys(notes)),
    )  # fmt: skip


def _only(tables: Sequence[IntensityTable], name: str, given: str) -> str:
    found = {value for table in tables if (value := getattr(table, name))} | ({given} if given else set())
    if len(found) > 1:
        raise InputError(
            f"the series mixes {' with '.join(sorted(found))} intensity: they are different quantities",
            hint="import them as two regions",
        )
    return next(iter(found), "")


def _step_s(table: IntensityTable, times: Floats) -> int:
    if table.step_s:
        return table.step_s
    steps = np.diff(np.unique(times))
    if not len(steps):
        return SLOT_S
    step = int(np.median(steps))
    if step not in STEPS_S:
        raise InputError(f"slots of {step / 60:g} minutes", hint="5, 15, 30 or 60 minutes are read")
    return step


def _spread(
    table: IntensityTable, clock: tzinfo, label: str, slots: dict[int, tuple[float, float]], notes: list[str]
) -> None:
    """Spread a table's slots over half hours, weighted by the time they share."""
    times = np.asarray(table.times_s)
    values = np.asarray(table.values)
    if not table.has_zone:
        times, hours_changed = _from_local(times, clock)
        if hours_changed:
            notes.append(
                f"{hours_changed} times of the hour that summer time doubles or skips were put in order"
            )
    step = _step_s(table, times)
    if label == "end":
        times = times - step
    fresh: dict[int, tuple[float, float]] = {}
    seen: dict[float, float] = {}
    repeats = 0
    for time, value in zip(times.tolist(), values.tolist(), strict=True):
        if time in seen:
            repeats += 1
        seen[time] = value
    for time, value in seen.items():
        for slot in range(math.floor(time / SLOT_S), math.ceil((time + step) / SLOT_S)):
            shared = min(time + step, (slot + 1) * SLOT_S) - max(time, slot * SLOT_S)
            total, weight = fresh.get(slot, (0.0, 0.0))
            fresh[slot] = (total + shared * value, weight + shared)
    if repeats:
        notes.append(f"{repeats} times are there twice: the later row counts")
    slots.update(fresh)


def _from_local(times: Floats, clock: tzinfo) -> tuple[Floats, int]:
    """Times of a local clock as UTC; the second pass through the autumn's doubled hour is the later one."""
    result = np.empty_like(times)
    last_wall, seen, changed, fold = -math.inf, set(), 0, 0
    for place, wall in enumerate(times.tolist()):
        naive = datetime.fromtimestamp(wall, UTC).replace(tzinfo=None)
        one = naive.replace(tzinfo=clock, fold=0)
        two = naive.replace(tzinfo=clock, fold=1)
        if one.utcoffset() == two.utcoffset():
            fold = 0
            result[place] = one.timestamp()
        else:
            changed += 1
            fold = 1 if fold or wall in seen or wall < last_wall else 0
            result[place] = (two if fold else one).timestamp()
            seen.add(wall)
        last_wall = wall
    return result, changed


def _fill(values: Floats) -> None:
    """Fill gaps in place: short ones by a straight line, longer ones by the nearest days."""
    missing = np.isnan(values)
    if not missing.any():
        return
    known = np.flatnonzero(~missing)
    line = np.interp(np.arange(len(values)), known, values[known])
    begin = 0
    edges = np.flatnonzero(np.diff(np.concatenate([[0], missing.astype(np.int8), [0]])))
    for begin, end in edges.reshape(-1, 2):
        if end - begin <= _SHORT_GAP:
            values[begin:end] = line[begin:end]
            continue
        for slot in range(begin, end):
            before = values[slot - DAY] if slot >= DAY else math.nan
            values[slot] = line[slot] if math.isnan(before) else before
