"""A table of carbon intensity as a file has it, and the format that reads it."""

import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from ingest.files.content import Content
from ingest.files.sniffing import Head
from ingest.files.times import epoch_s
from kg.errors import Fault

GRAM_PER_KWH_OF_LB_PER_MWH = 453.59237 / 1000
"""The international pound is 0.45359237 kg exactly."""

UNITS: Mapping[str, float] = {
    "g/kwh": 1.0, "kg/mwh": 1.0, "kg/kwh": 1000.0, "t/mwh": 1000.0, "lb/mwh": GRAM_PER_KWH_OF_LB_PER_MWH
}  # fmt: skip
"""Gram per kilowatt hour of one of each unit."""

_UNIT = re.compile(
    r"\b(g|kg|t|lbs?)[\s_]*+(?:co[2₂](?:[\s_-]*+eq?)?)?[\s_]*+(?:/|per)[\s_]*+(kwh|mwh)\b", re.IGNORECASE
)


@dataclass(slots=True, kw_only=True)
class IntensityTable:
    """Carbon intensity by slot of time, as one file has it.

    Attributes:
        region: As the file names it; empty if it does not.
        kind: ``average`` or ``marginal``; empty if the file does not say.
        scope: ``direct`` or ``life cycle``; empty if the file does not say.
        has_zone: Its times carry their zone; otherwise they are a local clock's.
        step_s: Length of a slot in seconds; 0 where the distance of the times says it.
        times_s: Start of each slot, seconds of the Unix epoch; of a local clock as though it were UTC.
        values: Gram CO2 equivalent per kWh.
        issued: Forecasts by the time at which they were made, each of times and values; None where not said.
        faults: Rows that were left out.
        notes: Assumptions.
    """

    region: str = ""
    kind: str = ""
    scope: str = ""
    has_zone: bool = True
    step_s: int = 0
    times_s: list[float] = field(default_factory=list)
    values: list[float] = field(default_factory=list)
    issued: dict[float | None, tuple[list[float], list[float]]] = field(default_factory=dict)
    faults: list[Fault] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def add(self, place: str, time: object, value: object, factor: float = 1.0) -> None:
        """Take a measured slot, or note why it is none; a cell without a value is a gap."""
        number = self._number(place, value, factor)
        seconds = None if number is None else self._moment(place, time)
        if number is not None and seconds is not None:
            self.times_s.append(seconds)
            self.values.append(number)

    def add_forecast(
        self, place: str, issued: object, time: object, value: object, factor: float = 1.0
    ) -> None:
        """Take a slot of a forecast made at ``issued``; None where the file does not say when."""
        number = self._number(place, value, factor)
        if number is None:
            return
        made = None if issued is None else self._moment(place, issued)
        seconds = self._moment(place, time)
        if seconds is not None and (issued is None or made is not None):
            times, values = self.issued.setdefault(made, ([], []))
            times.append(seconds)
            values.append(number)

    def _number(self, place: str, value: object, factor: float) -> float | None:
        if value is None or (isinstance(value, str) and value.strip().lower() in {"", "nan", "null", "none"}):
            return None
        try:
            number = float(value) * factor if isinstance(value, int | float | str) else math.nan
        except ValueError as fault:
            self.faults.append(Fault(place=place, reason=str(fault)))
            return None
        if not math.isfinite(number) or number < 0:
            self.faults.append(Fault(place=place, reason=f"{value} is no carbon intensity"))
            return None
        return number

    def _moment(self, place: str, text: object) -> float | None:
        """Seconds of a time; the first one decides whether those of this file carry their zone."""
        try:
            seconds, has_zone = epoch_s(str(text))
        except ValueError as fault:
            self.faults.append(Fault(place=place, reason=str(fault)))
            return None
        if not self.times_s and not self.issued:
            self.has_zone = has_zone
        elif has_zone != self.has_zone:
            lacks = "carries a zone, others do not" if has_zone else "carries no zone, others do"
            self.faults.append(Fault(place=place, reason=f"{str(text)[:40]!r} {lacks}"))
            return None
        return seconds


@dataclass(frozen=True, slots=True, kw_only=True)
class SeriesFormat:
    """One format of series.

    Attributes:
        name: Id of the format.
        title: Short description, for the list of formats that were tried.
        sniff: Whether a file with this head is of the format.
        read: Its table; raises nothing for what a file contains.
    """

    name: str
    title: str
    sniff: Callable[[Head], bool]
    read: Callable[[Content], IntensityTable]


def unit_factor(text: str) -> float | None:
    """Gram per kWh of one of the unit that a text names, such as ``lbs_co2_per_mwh``; None for no unit."""
    match = _UNIT.search(text.replace("_", " "))
    if match is None:
        return None
    return UNITS.get(f"{match[1].lower().rstrip('s')}/{match[2].lower()}")
