"""The YAML files beside aiconfigurator's tables: which tables are borrowed, and how they were collected.

``reuse.yaml`` declares that a version has no data of its own for a table and borrows another version's;
``collection_meta.yaml`` says how a table was collected. Both are reported among the guesses of an ingest.
"""

from collections.abc import Iterator
from pathlib import Path

from ingest.door.records import Records
from ingest.files.content import Content, ContentError
from ingest.files.sniffing import Head
from ingest.files.yaml_tree import Faults, parse
from ingest.formats.format import Format
from kg.errors import Fault
from kg.nouns.entities import Case

SMALL = 1 << 20
"""More bytes than any such file has."""

_NAMES = {"reuse.yaml", "collection_meta.yaml", "perf_data_reuse_manifest.yaml"}


def sniff(head: Head) -> bool:
    """True if it is one of these files by its name, or a description of a system by its fields."""
    lines = head.text.splitlines()
    is_system = any(line.startswith("data_dir:") for line in lines) and "gpu:" in lines
    return not head.flaw and (head.name in _NAMES or (head.name.endswith(".yaml") and is_system))


def read(content: Content, records: Records) -> Iterator[Case | Fault]:
    """No cases: the statements of the file are added to the guesses."""
    try:
        text = content.read_all(SMALL).decode("utf-8-sig")
    except ContentError as fault:
        yield Fault(place="", reason=str(fault))
        return
    except UnicodeDecodeError as fault:
        yield Fault(place="", reason=f"no UTF-8 at byte {fault.start + 1}")
        return
    faults = Faults()
    top = parse(text, faults)
    if top is not None:
        for entry in top.entries("reuse"):
            table, origin = entry.scalar("table"), entry.scalar("from_version")
            records.guess(f"table {table}: no data of its own; this version reuses those of {origin}")
        if (tables := top.entry("tables")) is not None:
            for name in tables.names():
                collected = tables.entry(name)
                status = None if collected is None else collected.scalar("status")
                if status != "complete":
                    records.guess(f"table {name}: its collection is {status}")
        if "gpu" in top:
            records.guess("published facts of a system: no cases; hardware comes from the knowledge")
        if "groups" in top:
            records.guess("a manifest of which tables may be shared: no cases")
    yield from faults.all


def reused_tables(folder: Path) -> dict[str, str]:
    """Tables that the ``reuse.yaml`` in a folder declares to be another version's, and whose they are."""
    try:
        with (folder / "reuse.yaml").open("rb") as stream:
            text = stream.read(SMALL).decode()
    except (OSError, UnicodeDecodeError):
        return {}
    top = parse(text, Faults())
    if top is None:
        return {}
    found = {}
    for entry in top.entries("reuse"):
        table, origin = entry.scalar("table"), entry.scalar("from_version")
        if isinstance(table, str):
            found[table] = str(origin)
    return found


FORMAT = Format(
    name="aiconfigurator-notes",
    title="notes of aiconfigurator (reuse.yaml, collection_meta.yaml)",
    sniff=sniff,
    read=read,
)
