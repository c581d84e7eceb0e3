"""One step along predicates: what the nodes of a class have under them."""

from kg.nouns.knowledge import HardwareProfile, Level
from kg.triples.graph import GraphStore
from kg.triples.nodes import facts_of
from kg.triples.serialisation import to_triples
from kg.triples.vocabulary import TG, Shared


def test_facts_are_texts_and_names_and_empty_where_there_are_none() -> None:
    graph = GraphStore()
    vendor = HardwareProfile(id="acme", labels={"en": "Acme"}, level=Level.VENDOR)
    chip = HardwareProfile(id="chip", labels={"en": "Chip"}, level=Level.DEVICE, broader="acme")
    for noun in (vendor, chip):
        graph.extend(to_triples(noun))
    found = sorted(facts_of(graph, TG.HARDWARE_PROFILE, (Shared.BROADER, Shared.PREF_LABEL)))
    assert found == [("", "Acme"), ("acme", "Chip")]
    assert list(facts_of(graph, TG.RECIPE, (Shared.BROADER,))) == []
