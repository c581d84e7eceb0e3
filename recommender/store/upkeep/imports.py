"""Imports taken back: what one added to the graph stands among the statements of its batch."""

from __future__ import annotations

from io import BytesIO
from typing import TYPE_CHECKING

from kg.errors import InputError
from kg.rows.batches import change_of
from kg.triples.finders import completion_marks, users_of
from kg.triples.iris import batch_iri
from kg.triples.knowledge_content import read_lines
from kg.triples.nodes import contains

if TYPE_CHECKING:
    from kg.rows.trials_file import TrialsFile
    from kg.triples.graph import GraphStore, Triple


def import_to_undo(file: TrialsFile, graph: GraphStore, number: int) -> list[Triple]:
    """Return the triples that an import added, if they can go.

    Raises:
        InputError: The batch is no import, or what it added has changed or is used since.
        WorkspaceError: The batch is damaged.
    """
    marks = completion_marks(graph)
    imported = sorted(int(mark.removeprefix("import/")) for mark in marks if mark.startswith("import/"))
    if number not in imported:
        raise InputError(
            f"batch {number} is no import", hint=f"imports: {', '.join(map(str, imported)) or 'none'}"
        )
    if f"undo/{number}" in marks:
        raise InputError(f"the import of batch {number} was taken back already")
    change, node = change_of(file, number), batch_iri(number)
    if change is None:
        raise InputError(
            f"what batch {number} brought is not known",
            hint="it came before this workspace was carried over to its form of today",
        )
    added = read_lines(BytesIO(change.added.encode()))
    removed = {triple for triple in added if triple.subject != node}  # that it was there stays said
    for triple in removed:
        if not contains(graph, triple):
            raise InputError(f"what batch {number} said of {triple.subject} has changed since")
    if users := users_of(graph, removed):
        raise InputError(
            f"what batch {number} brought is used since by {users[0]}",
            hint="what came later must be taken back first",
        )
    return sorted(removed, key=str)
