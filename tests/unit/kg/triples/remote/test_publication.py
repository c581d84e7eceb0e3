"""A graph in the place of what a store held: one change, and never over somebody else's data."""

from pathlib import Path

import pytest
from pyoxigraph import BlankNode, Literal, NamedNode, Triple

from kg.errors import InputError
from kg.triples.oxigraph_store import OxigraphStore
from kg.triples.remote.publication import copy_graph, publish_graph
from kg.triples.vocabulary import HEADER
from tests.oxigraph_server import oxigraph_server, program

A, B = NamedNode("http://e/a"), NamedNode("http://e/b")


def test_a_publication_changes_what_differs() -> None:
    store = OxigraphStore()
    first = publish_graph(store, [Triple(A, B, Literal(1)), Triple(A, B, Literal(2))])
    assert (first.removed, first.added) == (0, len(HEADER) + 2)
    second = publish_graph(store, [Triple(A, B, Literal(2)), Triple(A, B, Literal(3))])
    assert (second.removed, second.added, second.triples) == (1, 1, len(HEADER) + 2)
    assert set(store.triples()) == {*HEADER, Triple(A, B, Literal(2)), Triple(A, B, Literal(3))}


def test_what_others_keep_in_a_store_stays_unless_forced() -> None:
    store = OxigraphStore()
    store.extend([Triple(A, B, A)])
    with pytest.raises(InputError, match="1 triples of something else"):
        publish_graph(store, [])
    assert list(store.triples()) == [Triple(A, B, A)]
    assert publish_graph(store, [], force=True).removed == 1
    store.extend([Triple(BlankNode(), B, A)])
    with pytest.raises(InputError, match="without a name"):
        publish_graph(store, [], force=True)


def test_a_store_without_anything_is_told(tmp_path: Path) -> None:
    if program() is None:
        pytest.skip("no program oxigraph: pip install '.[test]'")
    with oxigraph_server() as address, pytest.raises(InputError, match="the store is empty"):
        copy_graph(address, tmp_path / "graph.nt")
