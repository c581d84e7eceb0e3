"""A graph put into a store on another machine, in the place of what it held before, as one change."""

from __future__ import annotations

import tempfile
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pyoxigraph import BlankNode, RdfFormat, Triple

from kg.errors import InputError
from kg.triples.oxigraph_store import quads_of
from kg.triples.remote.store import RemoteStore
from kg.triples.vocabulary import GRAPH, HEADER

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from kg.triples.graph import GraphStore

_IN_MEMORY_BYTES = 16 << 20
"""How much of a graph is held in memory before it goes to a temporary file."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GraphPublication:
    """How a store was changed.

    Attributes:
        triples: What it holds now.
        removed: How many triples went.
        added: How many triples came.
    """

    triples: int
    removed: int
    added: int


def publish_graph(store: GraphStore, triples: Iterable[Triple], *, force: bool = False) -> GraphPublication:
    """Put a graph in the place of what a store holds; readers of the store see the old graph or the new one.

    Args:
        store: The store.
        triples: The graph.
        force: Also where the store holds something else than a graph of this program.

    Raises:
        InputError: The store holds something else, or nodes without a name.
        FetchError: It does not answer, or refuses.
    """
    wanted = {*HEADER, *triples}
    with tempfile.SpooledTemporaryFile(_IN_MEMORY_BYTES) as copy:
        store.dump(copy, RdfFormat.N_TRIPLES)
        copy.seek(0)
        present = {quad.triple for quad in quads_of(copy, RdfFormat.N_TRIPLES)}
    if present and not force and not any(triple.subject == GRAPH for triple in present):
        raise InputError(
            f"the store holds {len(present):,} triples of something else", hint="--force replaces them"
        )
    removed, added = present - wanted, wanted - present
    if any(isinstance(term, BlankNode) for triple in removed for term in triple):
        raise InputError(
            "the store holds nodes without a name, which no request can remove", hint="empty it first"
        )
    store.replace(removed, added)
    return GraphPublication(triples=len(wanted), removed=len(removed), added=len(added))


def copy_graph(address: str, path: Path, *, token: str = "") -> None:
    """Write what a store holds to a file of N-Triples.

    Raises:
        InputError: The address is neither https nor of this machine, or the store is empty.
        FetchError: It does not answer, or refuses.
    """
    with path.open("wb") as stream:
        RemoteStore(address, token).dump(stream, RdfFormat.N_TRIPLES)
        if not stream.tell():
            raise InputError(f"{address}: the store is empty")
