"""Carbon intensity of Electricity Maps: CSV by zone, direct and life cycle side by side."""

from collections.abc import Iterable

from ingest.files.content import Content
from ingest.files.csv_rows import csv_rows, header_of
from ingest.files.sniffing import Head
from ingest.formats.intensity.table import IntensityTable, SeriesFormat
from kg.errors import Fault


def _column(header: Iterable[str], *words: str) -> str:
    return next((name for name in header if all(word in name.lower() for word in words)), "")


def sniff(head: Head) -> bool:
    """True if the header is one of Electricity Maps: a UTC time, a zone and an intensity."""
    header = header_of(head.text)
    return bool(
        _column(header, "datetime (utc)") and _column(header, "zone") and _column(header, "carbon intensity")
    )


def read(content: Content) -> IntensityTable:
    """The slots of the first zone; life cycle where the file has it, as the portal shows it."""
    table = IntensityTable(kind="average")
    life = direct = time = zone = estimated = ""
    estimates = others = 0
    for place, row in csv_rows(content):
        if isinstance(row, Fault):
            table.faults.append(row)
            continue
        if not time:
            time = _column(row, "datetime (utc)")
            life = _column(row, "carbon intensity", "life cycle") or _column(row, "carbon intensity", "lca")
            direct = _column(row, "carbon intensity", "direct") or _column(row, "carbon intensity")
            zone = _column(row, "zone id") or _column(row, "zone", "key") or _column(row, "zone")
            estimated = _column(row, "data estimated")
            table.scope = "life cycle" if life else "direct"
            table.region = row[zone]
        if row[zone] != table.region:
            others += 1
            continue
        estimates += bool(estimated) and row[estimated].lower() == "true"
        moment = row[time] if "+" in row[time] or row[time].endswith("Z") else f"{row[time]}Z"
        table.add(place, moment, row[life or direct])
    if life and direct:
        table.notes.append("life-cycle intensity is taken; the direct one is lower and never mixed with it")
    if estimates:
        table.notes.append(f"{estimates} slots are estimates of the provider")
    if others:
        table.notes.append(f"{others} rows of other zones than {table.region} were left out")
    return table


FORMAT = SeriesFormat(
    name="electricity-maps-csv", title="Electricity Maps CSV of a zone", sniff=sniff, read=read
)
