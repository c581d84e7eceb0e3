"""Carbon intensity as services answer in JSON: UK Carbon Intensity API, WattTime, Carbon Aware SDK."""

from collections.abc import Callable, Iterator
from typing import Any

from ingest.files.content import Content, ContentError
from ingest.files.documents import load_json
from ingest.files.sniffing import Head
from ingest.formats.intensity.table import IntensityTable, SeriesFormat, unit_factor
from kg.errors import Fault

_LB_PER_MWH = "lb/MWh"


def _records(value: Any, wanted: frozenset[str], depth: int = 0) -> Iterator[dict[str, Any]]:
    """Objects with all the wanted keys, however deep within reason the answer nests them."""
    if isinstance(value, dict):
        if wanted <= value.keys():
            yield value
            return
        value = list(value.values())
    if isinstance(value, list) and depth < 8:
        for item in value:
            yield from _records(item, wanted, depth + 1)


def _document(content: Content, table: IntensityTable) -> Any:
    try:
        return load_json(content)
    except ContentError as fault:
        table.faults.append(Fault(place="", reason=str(fault)))
        return None


def _is_json(head: Head, *words: str) -> bool:
    text = head.text.lstrip()
    return text[:1] in {"{", "["} and all(f'"{word}"' in text for word in words)


def read_uk(content: Content) -> IntensityTable:
    """The UK Carbon Intensity API, half-hourly in UTC: ``actual`` is what came, ``forecast`` its own."""
    table = IntensityTable(kind="average", scope="direct", region="GB", step_s=1800)
    document = _document(content, table)
    for holder in _records(document, frozenset({"shortname", "data"})):
        table.region = str(holder["shortname"])
        break
    for number, item in enumerate(_records(document, frozenset({"from", "intensity"})), 1):
        said = item["intensity"]
        if not isinstance(said, dict):
            table.faults.append(Fault(place=f"entry {number}", reason="its intensity is no object"))
            continue
        table.add(f"entry {number}", item["from"], said.get("actual"))
        table.add_forecast(f"entry {number}", None, item["from"], said.get("forecast"))
    return table


def read_watttime(content: Content) -> IntensityTable:
    """WattTime: marginal rates, lb/MWh unless its meta says otherwise; forecasts say when they were made."""
    table = IntensityTable(kind="marginal", scope="direct")
    document = _document(content, table)
    meta = document.get("meta", {}) if isinstance(document, dict) else {}
    meta = meta if isinstance(meta, dict) else {}
    if meta.get("signal_type") == "co2_aoer":
        table.kind = "average"
    period = meta.get("data_point_period_seconds")
    table.step_s = period if isinstance(period, int) and period > 0 else 0
    named = str(meta.get("units", ""))
    if not named:
        table.notes.append(f"no unit is named: taken as {_LB_PER_MWH}, the unit of WattTime")
    factor = unit_factor(named or _LB_PER_MWH)
    if factor is None:
        table.faults.append(Fault(place="meta", reason=f"unit {named[:40]!r} is no carbon intensity"))
        return table
    issued = meta.get("generated_at")
    for number, item in enumerate(_records(document, frozenset({"point_time", "value"})), 1):
        table.region = table.region or str(meta.get("region") or item.get("ba") or "")
        if issued:
            table.add_forecast(f"entry {number}", issued, item["point_time"], item["value"], factor)
        else:
            table.add(f"entry {number}", item["point_time"], item["value"], factor)
    return table


def read_carbon_aware(content: Content) -> IntensityTable:
    """The Carbon Aware SDK, g/kWh: forecasts as ``forecastData``, emissions as ``rating``."""
    table = IntensityTable()
    document = _document(content, table)
    for forecast in _records(document, frozenset({"forecastData"})):
        table.region = table.region or str(forecast.get("location", ""))
        for number, item in enumerate(
            _records(forecast["forecastData"], frozenset({"timestamp", "value"})), 1
        ):
            place = f"forecastData {number}"
            table.region = table.region or str(item.get("location", ""))
            if isinstance(item.get("duration"), int):
                table.step_s = item["duration"] * 60
            table.add_forecast(place, forecast.get("generatedAt"), item["timestamp"], item["value"])
    for number, item in enumerate(_records(document, frozenset({"time", "rating"})), 1):
        table.region = table.region or str(item.get("location", ""))
        table.add(f"entry {number}", item["time"], item["rating"])
    table.notes.append("the SDK does not say whether its data source is average or marginal")
    return table


def _format(name: str, title: str, read: Callable[[Content], IntensityTable], *words: str) -> SeriesFormat:
    return SeriesFormat(name=name, title=title, sniff=lambda head: _is_json(head, *words), read=read)


FORMATS = (
    _format("uk-carbon-intensity", "UK Carbon Intensity API JSON", read_uk, "from", "intensity"),
    _format("watttime", "WattTime JSON", read_watttime, "point_time", "value"),
    _format("carbon-aware-sdk", "Carbon Aware SDK forecast JSON", read_carbon_aware, "forecastData"),
    _format("carbon-aware-emissions", "Carbon Aware SDK emissions JSON", read_carbon_aware, "rating", "time"),
)
