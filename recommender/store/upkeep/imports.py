"""What imports added to the graph, kept beside it so that they can be taken back."""

from __future__ import annotations

import gzip
import os
from io import BytesIO
from typing import TYPE_CHECKING

from kg.archives import gunzip
from kg.errors import InputError, WorkspaceError
from kg.triples.finders import completion_marks, users_of
from kg.triples.knowledge_content import lines, read_lines
from kg.triples.nodes import contains

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kg.triples.graph import GraphStore, Triple
    from recommender.files import WorkspaceFiles


def save_import(layout: WorkspaceFiles, number: int, added: Sequence[Triple]) -> None:
    """Keep what batch ``number`` is about to add.

    Raises:
        WorkspaceError: It cannot be written.
    """
    path = layout.imports / f"{number}.nt.gz"
    beside = path.with_suffix(".new")
    try:
        layout.imports.mkdir(exist_ok=True)
        with gzip.open(beside, "wt", encoding="utf-8") as stream:
            stream.writelines(lines(set(added)))
        with beside.open("rb") as written:
            os.fsync(written.fileno())
        beside.replace(path)
    except OSError as error:
        raise WorkspaceError(f"{path} cannot be written: {error.strerror or error}") from None


def import_to_undo(layout: WorkspaceFiles, graph: GraphStore, number: int) -> list[Triple]:
    """Return the triples that an import added, if they can go.

    Raises:
        InputError: The batch is no import, or what it added has changed or is used since.
        WorkspaceError: The file that names them is damaged.
    """
    marks = completion_marks(graph)
    imported = sorted(int(mark.removeprefix("import/")) for mark in marks if mark.startswith("import/"))
    if number not in imported:
        raise InputError(
            f"batch {number} is no import", hint=f"imports: {', '.join(map(str, imported)) or 'none'}"
        )
    if f"undo/{number}" in marks:
        raise InputError(f"the import of batch {number} was taken back already")
    path = layout.imports / f"{number}.nt.gz"
    try:
        removed = read_lines(BytesIO(gunzip(path)))
    except (OSError, InputError) as error:
        raise WorkspaceError(f"{path} is damaged: {error}") from None
    for triple in removed:
        if not contains(graph, triple):
            raise InputError(f"what batch {number} said of {triple.subject} has changed since")
    if users := users_of(graph, removed):
        raise InputError(
            f"what batch {number} brought is used since by {users[0]}",
            hint="what came later must be taken back first",
        )
    return sorted(removed, key=str)
