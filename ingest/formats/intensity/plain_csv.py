"""Carbon intensity as a plain table, such as ``Time,Carbon Intensity``."""

import re

from ingest.files.content import Content
from ingest.files.csv_rows import csv_rows, header_of
from ingest.files.sniffing import Head
from ingest.formats.intensity.table import IntensityTable, SeriesFormat, unit_factor
from kg.errors import Fault

_TIME = re.compile(
    r"(date)?_?time(stamp)?|date|(utc|local)[ _]time|time[ _]\(?(utc|local)\)?|point_time", re.IGNORECASE
)
_VALUE = re.compile(
    r"carbon[ _]intensity(_avg|_actual)?|actual|intensity|avg_ci|ci|co2[ _]intensity|emission[ _]factor",
    re.IGNORECASE,
)
_BRACKET = re.compile(r"[(\[].*|(?<!\s)\s++k?g?(lb)?s?(CO2).*", re.IGNORECASE)
_ISSUE = re.compile(r"issue[ds]?_?(time|at)|generated_?at", re.IGNORECASE)
_TARGET = re.compile(r"target_?time", re.IGNORECASE)
_FORECAST = re.compile(r"forecast", re.IGNORECASE)


def _column(header: list[str], pattern: re.Pattern[str]) -> str:
    return next((name for name in header if pattern.fullmatch(_BRACKET.sub("", name).strip() or name)), "")


def _columns(header: list[str]) -> tuple[str, str, str, str]:
    """Columns of the time, the value, the time of issue and the forecast; empty where there is none."""
    issue, forecast = _column(header, _ISSUE), _column(header, _FORECAST)
    time = _column(header, _TARGET) if issue else _column(header, _TIME)
    return time, _column(header, _VALUE), issue, forecast if issue else ""


def sniff(head: Head) -> bool:
    """True if the header has a time and a carbon intensity."""
    if not head.text or head.text.lstrip()[:1] in "[{":
        return False
    time, value, issue, forecast = _columns(header_of(head.text))
    return bool(time and (value or (issue and forecast)))


def read(content: Content) -> IntensityTable:
    """The slots of the table; a forecast with its time of issue beside what came is read too."""
    table = IntensityTable()
    columns: tuple[str, str, str, str] | None = None
    factor, is_utc = 1.0, False
    seen: set[str] = set()
    for place, row in csv_rows(content):
        if isinstance(row, Fault):
            table.faults.append(row)
            continue
        if columns is None:
            columns = _columns(list(row))
            factor = unit_factor(columns[1]) or 1.0
            if unit_factor(columns[1]) is None:
                table.notes.append("no unit is named: taken as g/kWh")
            is_utc = "utc" in columns[0].lower()
        time, value, issue, forecast = columns
        moment = row[time] + ("Z" if is_utc and not row[time].endswith("Z") and "+" not in row[time] else "")
        if value and moment not in seen:
            table.add(place, moment, row[value], factor)
            if issue:
                seen.add(moment)
        if issue and forecast:
            table.add_forecast(place, row[issue], moment, row[forecast], factor)
    return table


FORMAT = SeriesFormat(
    name="intensity-csv", title="CSV with a time and a carbon intensity", sniff=sniff, read=read
)
