"""A document is checked as it would be beside the graph that it joins."""

from pyoxigraph import Literal, NamedNode
from pyoxigraph import Triple as Statement

from kg.nouns.knowledge import HardwareProfile, Level
from kg.triples.graph import GraphStore
from kg.triples.serialisation import to_triples
from kg.triples.union import check_import
from tests.samples.graphs import store_of

MAKER = HardwareProfile(id="acme", labels={"en": "Acme"}, level=Level.VENDOR)
CHIP = HardwareProfile(id="acme-one", labels={"en": "Acme One"}, level=Level.DEVICE, broader="acme")


def store(*nouns: object, more: tuple[Statement, ...] = ()) -> GraphStore:
    made = store_of(*nouns)
    made.extend(more)
    return made


def test_what_nouns_say_comes_in_once() -> None:
    found = check_import(store(), store(MAKER, CHIP))
    assert found.faults == ()
    assert MAKER in found.nouns
    assert CHIP in found.nouns
    assert set(found.added) >= set(to_triples(MAKER))
    again = check_import(store(MAKER, CHIP), store(MAKER, CHIP))
    assert (again.faults, again.added) == ((), ())


def test_what_no_noun_says_is_a_fault_unless_it_is_foreign() -> None:
    node = to_triples(MAKER)[0].subject
    ours = Statement(node, NamedNode("https://w3id.org/tunegraph/ns#nonsense"), Literal(1))
    found = check_import(store(), store(MAKER, more=(ours,)))
    assert any("is said of no noun" in reason for _, reason in found.faults)
    foreign = Statement(
        NamedNode("https://example.org/x"), NamedNode("https://example.org/says"), Literal("y")
    )
    kept = check_import(store(), store(MAKER, more=(foreign,)))
    assert kept.faults == ()
    assert foreign in kept.added
