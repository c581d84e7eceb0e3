"""Reading of files and folders: their cases, and a report on each file."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from ingest.door.plausibility import mark_implausible
from ingest.door.records import DEFAULTS, NameResolver, Records
from ingest.files.content import Content
from ingest.files.sniffing import Head, read_head
from ingest.formats.cases.mapped_csv import FORMAT as MAPPED_CSV
from ingest.formats.cases.mapped_csv import UNMAPPED, is_table
from ingest.formats.registry import companion_reason, nearest_titles, recognise
from kg.errors import Fault, InputError
from kg.nouns.entities import Case
from kg.nouns.recipe import Recipe

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from pathlib import Path

    from ingest.completion import Completion
    from ingest.door.context import IngestContext
    from ingest.door.plausibility import Facts
    from ingest.door.search_space import SearchSpaceFile
    from ingest.formats.format import Format

MAXIMUM_DEPTH = 100
"""Folders in folders beyond which nobody keeps results."""

_UNKNOWN = "in no format that is known"

KEPT_FAULTS = 100
"""Faults of a file that are listed one by one; the others are counted."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FileReport:
    """The report on one file: its rows, faults and guesses.

    Attributes:
        path: The file.
        format: Name of its format; empty if nothing reads it.
        size: Length on disk, in bytes.
        digest: SHA-256 of the unpacked content of this file alone; empty if it was not read. What lies
            beside it and belongs to it counts in ``key``.
        good: Rows that became cases or recipes.
        bad: Faults met, which is the number of bad rows in formats that have rows.
        faults: The first hundred of them.
        guesses: Assumptions of the reader.
        skipped: Reason why it was not read; empty if it was.
        key: Key under which it is remembered, so that it is not read again; empty if it has to be.
        is_known: It was taken in before and not read again; ``good`` counts its rows of then.
        space: The search space that the file declares; None for one with cases.
    """

    path: Path
    format: str
    size: int
    digest: str = ""
    good: int = 0
    bad: int = 0
    faults: tuple[Fault, ...] = ()
    guesses: tuple[str, ...] = ()
    skipped: str = ""
    key: str = ""
    is_known: bool = False
    space: SearchSpaceFile | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadableFile:
    """A file to be read, or to be skipped with a reason."""

    path: Path
    size: int
    format: Format | None
    skipped: str = ""


def discover(paths: Iterable[Path], *, mapping: Path | None = None) -> list[ReadableFile]:
    """All files under ``paths``, sorted, each once, with the format that reads them.

    Args:
        paths: Files and folders. Folders are walked through symbolic links, each folder once; hidden
            files are passed over. A file that is read together with another (the settings of a trial, a
            configuration that a table links) is skipped with the reason.
        mapping: Mapping file for CSV tables that no reader recognises.

    Raises:
        InputError: A path that does not exist or cannot be read, or a file given by name that nothing reads.
    """
    found: list[ReadableFile] = []
    seen: set[tuple[int, int]] = set()
    for path in paths:
        try:
            status = path.stat()
        except OSError as fault:
            raise InputError(f"{path}: {(fault.strerror or str(fault)).lower()}") from fault
        if path.is_dir():
            found.extend(_walk(path, seen, mapping))
        elif (status.st_dev, status.st_ino) not in seen:
            seen.add((status.st_dev, status.st_ino))
            item = _identify(path, mapping)
            if item.format is None:
                raise InputError(f"{path}: {item.skipped}", hint=_hint(item))
            found.append(item)
    return found


def read(
    paths: Iterable[Path],
    names: NameResolver,
    *,
    on_progress: Callable[[int], None] | None = None,
    context: IngestContext = DEFAULTS,
    facts: Facts | None = None,
    completed: Completion | None = None,
) -> Iterator[Case | Recipe | FileReport]:
    """The cases and recipes of files and folders; after those of a file, its report.

    Args:
        paths: Files and folders.
        names: Resolves names of hardware and models.
        on_progress: Called with the bytes read since its last call, of the sizes that ``discover`` gives.
        context: What the user says of the files.
        facts: Facts of hardware by its id; with them, times that no hardware reaches are marked.
        completed: Files that need not be read again; None to read all.

    Raises:
        InputError: As for ``discover``, before anything is read. What a file contains never raises.
    """
    records = Records(names, context)
    return _read(discover(paths, mapping=context.mapping), records, on_progress, facts, completed)


def _read(
    found: list[ReadableFile],
    records: Records,
    on_progress: Callable[[int], None] | None,
    facts: Facts | None,
    completed: Completion | None,
) -> Iterator[Case | Recipe | FileReport]:
    for item in sorted(found, key=lambda item: item.format is None or not item.format.first):
        if item.format is None:
            yield FileReport(path=item.path, format="", size=item.size, skipped=item.skipped)
        else:
            key = _key(item, item.format, records, completed)
            if completed is not None and not completed.again and key in completed.rows_by_file:
                if on_progress is not None:
                    on_progress(item.size)
                yield FileReport(
                    path=item.path,
                    format=item.format.name,
                    size=item.size,
                    good=completed.rows_by_file[key],
                    key=key,
                    is_known=True,
                )
            else:
                yield from _read_file(item, item.format, records, on_progress, facts, key)


def _key(item: ReadableFile, known: Format, records: Records, completed: Completion | None) -> str:
    try:
        return completed.key(item.path, known, records.spaces) if completed is not None else ""
    except OSError:  # the reader will say so
        return ""


def _read_file(
    item: ReadableFile,
    known: Format,
    records: Records,
    on_progress: Callable[[int], None] | None,
    facts: Facts | None,
    key: str,
) -> Iterator[Case | Recipe | FileReport]:
    good = bad = 0
    faults: list[Fault] = []
    space: SearchSpaceFile | None = None
    records.start_file(item.path)
    try:
        with Content(item.path, on_progress=on_progress) as content:
            rows = known.read(content, records)
            for row in rows if facts is None else mark_implausible(rows, facts, records):
                if isinstance(row, Case | Recipe):
                    good += 1
                    yield row
                elif isinstance(row, Fault):
                    bad += 1
                    if len(faults) < KEPT_FAULTS:
                        faults.append(row)
                else:
                    space = row
            digest = content.digest()
    except OSError as fault:
        reason = f"cannot be read ({fault.strerror or fault})"
        yield FileReport(path=item.path, format="", size=item.size, skipped=reason)
        return
    yield FileReport(
        path=item.path,
        format=known.name,
        size=item.size,
        digest=digest,
        good=good,
        bad=bad,
        faults=tuple(faults),
        guesses=tuple(records.guesses),
        key="" if bad or not good else key,
        space=space,
    )


def _walk(
    folder: Path, seen: set[tuple[int, int]], mapping: Path | None, depth: int = 0
) -> Iterator[ReadableFile]:
    if depth > MAXIMUM_DEPTH:
        reason = f"more than {MAXIMUM_DEPTH} levels deep"
        yield ReadableFile(path=folder, size=0, format=None, skipped=reason)
        return
    try:
        status = folder.stat()
        entries = sorted(folder.iterdir())
    except OSError as fault:
        yield ReadableFile(
            path=folder, size=0, format=None, skipped=f"cannot be read ({fault.strerror or fault})"
        )
        return
    if (status.st_dev, status.st_ino) in seen:
        return
    seen.add((status.st_dev, status.st_ino))
    for path in entries:
        if path.name.startswith("."):
            continue
        if path.is_dir():
            if path.is_symlink():  # it may lead to all of a disk
                reason = "a link to a folder; give that folder to read it"
                yield ReadableFile(path=path, size=0, format=None, skipped=reason)
            else:
                yield from _walk(path, seen, mapping, depth + 1)
            continue
        try:
            inode = path.stat()
        except OSError as fault:
            yield ReadableFile(
                path=path, size=0, format=None, skipped=f"cannot be read ({fault.strerror or fault})"
            )
            continue
        if (inode.st_dev, inode.st_ino) not in seen:
            seen.add((inode.st_dev, inode.st_ino))
            yield _identify(path, mapping)


def _identify(path: Path, mapping: Path | None) -> ReadableFile:
    if not path.is_file():
        return ReadableFile(path=path, size=0, format=None, skipped="no regular file")
    try:
        head: Head = read_head(path)
    except OSError as fault:
        return ReadableFile(
            path=path, size=0, format=None, skipped=f"cannot be read ({fault.strerror or fault})"
        )
    known = recognise(head)
    if known is None and mapping is not None and is_table(head):
        known = MAPPED_CSV
    skipped = "" if known else companion_reason(head) or head.flaw or _UNKNOWN
    return ReadableFile(path=path, size=head.size, format=known, skipped=skipped)


def _hint(item: ReadableFile) -> str:
    """A hint at the next step for a file that was named and not read."""
    if item.skipped == UNMAPPED:
        return f"a draft of one: tunegraph ingest {item.path} --suggest-mapping"
    if item.skipped != _UNKNOWN:
        return ""
    near = "; ".join(nearest_titles(read_head(item.path)))
    return f"nearest of those known: {near}; all: docs/formats.md"
