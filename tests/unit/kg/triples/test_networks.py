"""Circles of causes and of trees are found and named."""

from kg.nouns.entities import Source
from kg.nouns.knowledge import Bottleneck, Cause, CauseEdge, Confidence, HardwareProfile, Level
from kg.triples.iris import cause_iri, hardware_iri
from kg.triples.networks import circles
from kg.triples.validation import knowledge_violations
from kg.triples.vocabulary import TG, Shared
from tests.samples.graphs import store_of

SOURCE = Source(title="a document", url="https://example.org", licence="MIT")


def causes(*names: str) -> tuple[CauseEdge, ...]:
    return tuple(CauseEdge(cause=name, confidence=Confidence.MEDIUM, source=SOURCE) for name in names)


CHAIN = (
    Bottleneck(id="wait", labels={"en": "wait"}, caused_by=causes("link")),
    Cause(id="link", labels={"en": "link"}, caused_by=causes("cable"), source=SOURCE),
    Cause(id="cable", labels={"en": "cable"}, caused_by=causes("dust"), source=SOURCE),
)


def test_a_chain_of_causes_is_no_circle() -> None:
    dust = Cause(id="dust", labels={"en": "dust"}, source=SOURCE)
    assert list(circles(store_of(*CHAIN, dust))) == []


def test_a_circle_of_causes_is_a_violation_that_names_it() -> None:
    store = store_of(*CHAIN, Cause(id="dust", labels={"en": "dust"}, caused_by=causes("link"), source=SOURCE))
    assert list(circles(store)) == [(TG.CAUSED_BY, tuple(map(cause_iri, ("cable", "dust", "link"))))]
    messages = [item.message for item in knowledge_violations(store)]
    assert "a circle: cable > dust > link > cable" in messages


def test_a_circle_of_the_hardware_tree_is_found() -> None:
    store = store_of(
        HardwareProfile(id="a", labels={"en": "a"}, level=Level.FAMILY, broader="b"),
        HardwareProfile(id="b", labels={"en": "b"}, level=Level.ARCHITECTURE, broader="a"),
    )
    assert list(circles(store)) == [(Shared.BROADER, (hardware_iri("a"), hardware_iri("b")))]
