"""A graph of the nouns that a test needs."""

from kg.triples.graph import GraphStore
from kg.triples.serialisation import to_triples


def store_of(*nouns: object) -> GraphStore:
    """A store in memory that holds some nouns."""
    store = GraphStore()
    for noun in nouns:
        store.extend(to_triples(noun))
    return store
