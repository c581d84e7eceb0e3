"""The formats of carbon intensity that can be read, in the order in which they are tried."""

from pathlib import Path

from ingest.files.content import Content
from ingest.files.sniffing import Head, read_head
from ingest.formats.intensity import electricity_maps, plain_csv, services
from ingest.formats.intensity.table import IntensityTable, SeriesFormat
from kg.errors import CaseFormatError, Fault, InputError

_NO_ROWS = "no row has a time and a carbon intensity"
INTENSITY_FORMATS: tuple[SeriesFormat, ...] = (
    electricity_maps.FORMAT,
    plain_csv.FORMAT,
    *services.FORMATS,
)
"""All formats; the first that recognises a file reads it."""


def recognise_intensity(head: Head) -> SeriesFormat | None:
    """The format of a file, or None."""
    return next((known for known in INTENSITY_FORMATS if known.sniff(head)), None)


def read_intensity(path: Path) -> IntensityTable:
    """The carbon intensity in a file.

    Raises:
        InputError: It cannot be read, or is in no format of carbon intensity.
        CaseFormatError: No slot of it can be used.
    """
    try:
        head = read_head(path)
        known = recognise_intensity(head)
        if known is None:
            titles = "; ".join(item.title for item in INTENSITY_FORMATS)
            raise InputError(
                f"{path}: {head.flaw or 'no carbon intensity is recognised'}", hint=f"looked for: {titles}"
            )
        with Content(path) as content:
            table = known.read(content)
    except OSError as fault:
        raise InputError(f"{path}: {(fault.strerror or str(fault)).lower()}") from fault
    if not table.times_s and not table.issued:
        raise CaseFormatError(str(path), table.faults or [Fault(place="", reason=_NO_ROWS)])
    return table
