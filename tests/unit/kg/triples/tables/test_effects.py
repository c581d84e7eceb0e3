"""An effect of very many sources is read without them, and is the same."""

import pytest
from pyoxigraph import NamedNode, Triple

from kg.nouns.effects import Context, Effect
from kg.nouns.entities import Kind
from kg.triples.finders import effects_of
from kg.triples.graph import GraphStore
from kg.triples.serialisation import to_triples
from kg.triples.tables.effects import EFFECT
from kg.triples.tables.fields import MOST_TRIPLES
from kg.triples.vocabulary import Shared

GAINS = Effect(
    context=Context(hardware="acme-one"), strategy="overlap", metric="step_time", kind=Kind.MEASURED
).add([0.1, -0.02, 0.3])


@pytest.mark.parametrize("sources", [3, 5 * MOST_TRIPLES])
def test_an_effect_is_read_whatever_it_rests_on(sources: int) -> None:
    store, iri = GraphStore(), EFFECT.iri(GAINS)
    store.extend(to_triples(GAINS))
    origins = [NamedNode(f"https://example.org/source/{number}") for number in range(sources)]
    store.extend(Triple(iri, Shared.DERIVED_FROM, origin) for origin in origins)
    node = EFFECT.node(store, iri)
    assert EFFECT.read(node) == GAINS
    assert [*effects_of(store, "overlap")] == [GAINS]
    assert (Shared.DERIVED_FROM in node.values) is (sources < MOST_TRIPLES)
