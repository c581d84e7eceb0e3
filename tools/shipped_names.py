"""The names of the shipped knowledge, for tools that make what ships."""

from functools import cache

from kg.triples.graph import GraphStore
from kg.triples.names import Names
from kg.triples.serialisation import to_triples
from recommender.store import shipped_knowledge


@cache
def shipped_names() -> Names:
    """Names of the shipped hardware and models."""
    store = GraphStore()
    for noun in shipped_knowledge.knowledge():
        store.extend(to_triples(noun))
    return Names(store)
