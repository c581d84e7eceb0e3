"""A series of carbon intensity on slots of half an hour, made from what files have."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta

import numpy as np

from ingest.files.times import from_local, zone_of
from ingest.formats.intensity.table import IntensityTable
from kg.errors import InputError
from kg.nouns.entities import Source
from kg.nouns.grid import GreenSchedule, GridRegion
from recommender.green.history import DAY, SLOT_S, Floats

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


def green_windows(
    series: IntensitySeries, days: int = 28, about_waits: str = ""
) -> tuple[GridRegion, list[GreenSchedule]]:
    """The region and how clean its electricity is through the day, as nouns of the graph.

    Args:
        series: A day of it or more; the last weeks count.
        days: How many.
        about_waits: What waits on this grid promised and kept, for the source of the windows.

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
    span = f"{first:%Y-%m-%d} to {series.end:%Y-%m-%d}"
    source = Source(
        title=f"{about} of {series.region}, imported", note="; ".join(filter(None, (span, about_waits)))
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


def series_from(
    tables: Sequence[IntensityTable],
    *,
    region: str = "",
    zone: str = "",
    label: str = "start",
    kind: str = "",
) -> IntensitySeries:
    """Join tables of one region into a series; later ones win where they overlap.

    Forecasts alone give a series without values, which begins with the first of them.

    Args:
        tables: As files have them, oldest first.
        region: Name of the region, where the files give none or another.
        zone: Zone of the region's clock; needed where times carry none.
        label: ``start`` or ``end``: which end of its slot a time stands for.
        kind: ``average`` or ``marginal``, where the files do not say.

    Raises:
        InputError: Times without a zone and none is given, average mixed with marginal, direct with life
            cycle, an unheard-of step, or neither anything measured nor a forecast.
    """
    names = {table.region for table in tables if table.region}
    if not region and len(names) > 1:
        raise InputError(
            f"the files are of several regions: {', '.join(sorted(names))}", hint="--region names one"
        )
    kind = _only(tables, "kind", kind)
    scope = _only(tables, "scope", "")
    tables = [placed(table, zone=zone, label=label) for table in tables]
    clock = zone_of(zone) if zone else UTC
    notes: list[str] = []
    slots: dict[int, tuple[float, float]] = {}
    for table in tables:
        notes += table.notes
        if table.times_s:
            _spread(table, slots, notes)
    first_forecast = min((min(at) for table in tables for at, _ in table.issued.values()), default=None)
    if not slots and first_forecast is None:
        raise InputError("there is no intensity in the files")
    first = min(slots) if slots else math.floor((first_forecast or 0.0) / SLOT_S)
    last = max(slots, default=first - 1)
    values = np.full(last - first + 1, np.nan)
    for slot, (total, weight) in slots.items():
        values[slot - first] = total / weight
    is_filled = np.isnan(values)
    _fill(values)
    if is_filled.any():
        notes.append(f"{int(is_filled.sum())} half hours are missing and were filled")
    if len(values) and not values.min() > 0:
        notes.append("the intensity is zero at times: a job that would emit nothing then starts at once")
    if not slots:
        notes.append("there are only forecasts: nothing is learned, and no saving can be checked")
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


def placed(table: IntensityTable, *, zone: str = "", label: str = "start") -> IntensityTable:
    """A table whose times, of forecasts too, are of the Unix epoch and name the start of their slots.

    Args:
        table: As a file has it.
        zone: Zone of its clock, where its times carry none.
        label: ``start`` or ``end``: which end of its slot a time stands for.

    Raises:
        InputError: Its times carry no zone and none is given, or its step is unheard of.
    """
    if not table.has_zone and not zone:
        raise InputError(
            "the times of the series carry no zone",
            hint="say which clock they are of: --zone Europe/Berlin or --zone UTC",
        )
    clock = UTC if table.has_zone else zone_of(zone)
    step = _step_s(table)
    late = step if label == "end" else 0
    changed = 0

    def moved(times: Sequence[float]) -> list[float]:
        nonlocal changed
        found, count = (list(times), 0) if table.has_zone else from_local(times, clock)
        changed += count
        return found

    times = [time - late for time in moved(table.times_s)]
    issued = {
        None if made is None else moved([made])[0]: ([time - late for time in moved(at)], values)
        for made, (at, values) in table.issued.items()
    }
    notes = list(table.notes)
    if changed:
        notes.append(f"{changed} times of the hour that summer time doubles or skips were put in order")
    return replace(table, has_zone=True, step_s=step, times_s=times, issued=issued, notes=notes)


def _step_s(table: IntensityTable) -> int:
    if table.step_s:
        return table.step_s
    for times in (table.times_s, *(at for at, _ in table.issued.values())):
        steps = np.diff(np.unique(times))
        if len(steps):
            step = int(np.median(steps))
            if step not in STEPS_S:
                raise InputError(f"slots of {step / 60:g} minutes", hint="5, 15, 30 or 60 minutes are read")
            return step
    return SLOT_S


def _spread(table: IntensityTable, slots: dict[int, tuple[float, float]], notes: list[str]) -> None:
    """Spread a table's slots over half hours, weighted by the time they share."""
    step = table.step_s
    fresh: dict[int, tuple[float, float]] = {}
    seen: dict[float, float] = {}
    repeats = 0
    for time, value in zip(table.times_s, table.values, strict=True):
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
