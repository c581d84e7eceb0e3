"""A format of case files: how a file of it is recognised and read."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from ingest.door.search_space import SearchSpaceFile
from kg.errors import Fault
from kg.nouns.entities import Case
from kg.nouns.recipe import Recipe

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from ingest.door.records import Records
    from ingest.files.content import Content
    from ingest.files.sniffing import Head

Item: TypeAlias = Case | Recipe | Fault | SearchSpaceFile
"""A case, a recipe, a fault or a search space: a reader yields these."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Format:
    """One format of case files.

    A reader never raises for the content of a file, and passes every row through the records.

    Attributes:
        name: Id of the format.
        title: Short description, for the list of formats that were tried.
        sniff: Whether a file with this head is of the format.
        read: Cases or recipes of a file, and its faults.
        first: Read before others, because it completes what they say.
        version: Version of the reader; files of another version are read again.
        beside: Names of files in the same folder that belong to it, ``*`` standing for its own name; None
            where any file may belong to it, so that it is read every time.
        companion: Reason why a file that belongs to one of the format is not read by itself; empty if it does
            not. None where the format has no such files.
    """

    name: str
    title: str
    sniff: Callable[[Head], bool]
    read: Callable[[Content, Records], Iterator[Item]]
    first: bool = False
    version: int = 1
    beside: tuple[str, ...] | None = ()
    companion: Callable[[Head], str] | None = None
