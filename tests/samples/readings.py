"""Files read through the door of ingest: cases and the report."""

from collections.abc import Callable
from pathlib import Path

from ingest.door.records import NameResolver
from ingest.reading import FileReport, read
from kg.nouns.entities import Case


def ingest(names: NameResolver, path: Path, hardware: str = "") -> tuple[list[Case], FileReport]:
    *cases, report = read([path], names, hardware=hardware)
    assert isinstance(report, FileReport)
    return [case for case in cases if isinstance(case, Case)], report


def corpus(names: NameResolver, shared: Path, name: str) -> dict[tuple[str, str], Case]:
    found = read([shared / f"cases/{name}.jsonl.gz"], names)
    return {(case.problem.id, case.configuration.digest): case for case in found if isinstance(case, Case)}


Reader = Callable[[Path], tuple[list[Case], FileReport]]
