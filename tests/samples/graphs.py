"""A graph of the nouns that a test needs."""

from kg.triples.oxigraph_store import OxigraphStore
from kg.triples.serialisation import to_triples


def store_of(*nouns: object) -> OxigraphStore:
    """A store in memory that holds some nouns."""
    store = OxigraphStore()
    for noun in nouns:
        store.extend(to_triples(noun))
    return store
