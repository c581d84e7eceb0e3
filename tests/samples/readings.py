"""Files read through the door of ingest: cases or recipes, and the report."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

from ingest.door.context import IngestContext
from ingest.door.records import NameResolver
from ingest.reading import FileReport, read
from kg.nouns.entities import Case
from kg.nouns.recipe import Recipe

T = TypeVar("T", Case, Recipe)


def _taken(kind: type[T], names: NameResolver, path: Path, **stated: Any) -> tuple[list[T], FileReport]:
    *items, report = read([path], names, context=IngestContext(**stated))
    assert isinstance(report, FileReport)
    return [item for item in items if isinstance(item, kind)], report


def ingest(
    names: NameResolver, path: Path, hardware: str = "", **stated: Any
) -> tuple[list[Case], FileReport]:
    return _taken(Case, names, path, hardware=hardware, **stated)


def recipes_of(names: NameResolver, path: Path, text: str, **stated: Any) -> tuple[list[Recipe], FileReport]:
    path.write_text(text, encoding="utf-8")
    return _taken(Recipe, names, path, **stated)


def written(
    path: Path, text: str, names: NameResolver, hardware: str = "", **stated: Any
) -> tuple[list[Case], FileReport]:
    path.write_text(text, encoding="utf-8")
    return ingest(names, path, hardware, **stated)


def ingest_all(names: NameResolver, *paths: Path, hardware: str = "") -> tuple[list[Case], list[FileReport]]:
    items = list(read(paths, names, context=IngestContext(hardware=hardware)))
    reports = [item for item in items if isinstance(item, FileReport)]
    return [item for item in items if isinstance(item, Case)], reports


def corpus(names: NameResolver, shared: Path, name: str) -> dict[tuple[str, str], Case]:
    found = read([shared / f"cases/{name}.jsonl.gz"], names)
    return {(case.problem.id, case.configuration.digest): case for case in found if isinstance(case, Case)}


Reader = Callable[[Path], tuple[list[Case], FileReport]]
