"""The formats of power and energy logs that can be read, in the order in which they are tried."""

from pathlib import Path

from ingest.files.content import Content
from ingest.files.sniffing import read_head
from ingest.files.times import zone_of
from ingest.formats.meters import energy_logs, power_logs
from ingest.formats.meters.table import MeterClock, MeterFormat, MeterLog
from kg.errors import CaseFormatError, InputError

METER_FORMATS: tuple[MeterFormat, ...] = (*power_logs.FORMATS, *energy_logs.FORMATS)
"""All formats; the first that recognises a file reads it."""


def read_meter(path: Path, *, interval_s: float = 1.0, zone: str = "") -> MeterLog:
    """The energies in a log.

    Args:
        path: The log.
        interval_s: Seconds between readings, where the log has no times.
        zone: Zone of times that carry none, such as ``Europe/Berlin``.

    Raises:
        InputError: There is no such zone, or the log cannot be read, or is in no format of meters.
        CaseFormatError: No energy can be made of it.
    """
    if zone:
        zone_of(zone)
    try:
        head = read_head(path)
        known = next((item for item in METER_FORMATS if item.sniff(head)), None)
        if known is None:
            titles = "; ".join(item.title for item in METER_FORMATS)
            raise InputError(
                f"{path}: {head.flaw or 'no log of a meter is recognised'}", hint=f"looked for: {titles}"
            )
        with Content(path) as content:
            log = known.read(content, MeterClock(interval_s=interval_s, zone=zone))
    except OSError as fault:
        raise InputError(f"{path}: {(fault.strerror or str(fault)).lower()}") from fault
    if not log.energies:
        raise CaseFormatError(str(path), log.faults)
    return log
