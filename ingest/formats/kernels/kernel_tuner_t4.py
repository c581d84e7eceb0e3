"""T4, the result format of the auto-tuning community: ``results[]`` of configuration, times and validity.

Device, kernel and problem size are in no field of it: they come from the file name and, where it was given
too, from the T1 file of the same benchmark.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ingest.files.content import ContentError
from ingest.files.json_stream import JsonStream, UnfinishedError
from ingest.formats.format import Format
from ingest.formats.kernels.kernel_tuner import single_values, space_of
from kg.errors import Fault
from kg.terms.units import Dimension, unit

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from ingest.door.records import Records
    from ingest.files.content import Content
    from ingest.files.sniffing import Head
    from kg.nouns.entities import Case


SCHEMA_VERSION = "1.0.0"
"""Version of the schema of T4 that is read and written, ``schema/T4/1.0.0`` of Kernel Tuner 1.5."""


def sniff(head: Head) -> bool:
    """True if results with a configuration and their validity are listed."""
    text = head.text
    return text.lstrip().startswith("{") and all(
        name in text for name in ('"results"', '"configuration"', '"invalidity"')
    )


def read(content: Content, records: Records) -> Iterator[Case | Fault]:
    """A case for each result and metric."""
    stream = JsonStream(content)
    metadata: object = None
    version: object = None
    results: list[object] = []
    fault: Fault | None = None
    try:
        for name in stream.members():
            if name == "results":
                results.extend(stream.value() for _ in stream.items())
            elif name == "metadata":
                metadata = stream.value()
            elif name == "schema_version":
                version = stream.value()
            else:
                stream.value()
    except UnfinishedError:
        records.guess(
            "the file is unfinished: it breaks off before its closing braces; the rows before are whole"
        )
    except ContentError as error:
        fault = Fault(place=f"after results[{len(results) - 1}]", reason=str(error))
    if isinstance(version, str) and not version.startswith(SCHEMA_VERSION[:2]):
        records.guess(f"T4 of schema {version[:40]} is read as {SCHEMA_VERSION}, the latest known here")
    yield from _cases(results, metadata, content, records)
    if fault is not None:
        yield fault


def _cases(
    results: list[object], metadata: object, content: Content, records: Records
) -> Iterator[Case | Fault]:
    rows = [_configuration(result) for result in results]
    space = space_of(content, records)
    space.fixed = space.fixed or single_values([row for row in rows if row])
    space.time_unit = _time_unit(metadata, records)
    for number, (result, row) in enumerate(zip(results, rows, strict=True)):
        place = f"results[{number}]"
        if row is None or not isinstance(result, dict):
            yield Fault(place=place, reason="without a configuration")
            continue
        yield from space.cases(row, _readings(result), place, records)


def _configuration(result: object) -> Mapping[str, object] | None:
    found = result.get("configuration") if isinstance(result, dict) else None
    return found if isinstance(found, dict) else None


def _readings(result: dict[str, object]) -> dict[str, object]:
    """The measurements of one result, under the names of the cache format."""
    readings: dict[str, object] = {}
    measurements = result.get("measurements")
    for item in measurements if isinstance(measurements, list) else ():
        if isinstance(item, dict) and isinstance(item.get("name"), str):
            readings[item["name"]] = item.get("value")
    times = result.get("times")
    if isinstance(times, dict):
        readings["times"] = times.get("runtimes")
    invalidity = result.get("invalidity", "correct")
    if invalidity != "correct" and not isinstance(readings.get("time"), str):
        readings["time"] = str(invalidity)
    return readings


def _time_unit(metadata: object, records: Records) -> str:
    stated = metadata.get("timeunit") if isinstance(metadata, dict) else None
    if isinstance(stated, str):
        try:
            if unit(stated).dimension is Dimension.TIME:
                return stated
        except ValueError:
            pass
    records.guess("times are taken as milliseconds: the file names no unit of time")
    return "ms"


FORMAT = Format(
    name="kernel-tuner-t4",
    title="T4 results (results with configuration and invalidity)",
    sniff=sniff,
    read=read,
)
