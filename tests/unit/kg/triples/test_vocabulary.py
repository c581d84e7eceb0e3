"""Terms of the code are those of the ontology, and are documented."""

from __future__ import annotations

import pytest
import rdflib
from rdflib import RDF, RDFS

import data
from kg.triples.vocabulary import TERMS, TG, Shared

RDF_PROPERTY = str(RDF.Property)


@pytest.fixture(scope="module")
def ontology() -> rdflib.Graph:
    return rdflib.Graph().parse(data=data.text("ontology/tuning.ttl"), format="turtle")


def declared(ontology: rdflib.Graph) -> set[str]:
    return {str(node) for node in ontology.subjects() if str(node).startswith(TERMS)}


def used() -> set[str]:
    return {term.value for name, term in vars(TG).items() if name.isupper()}


def test_every_term_of_the_code_is_in_the_ontology_and_no_other(ontology: rdflib.Graph) -> None:
    assert used() == declared(ontology)


def test_every_term_has_a_label_and_a_comment(ontology: rdflib.Graph) -> None:
    for term in declared(ontology):
        node = rdflib.URIRef(term)
        languages = {getattr(label, "language", None) for label in ontology.objects(node, RDFS.label)}
        assert "en" in languages, term
        assert (node, RDFS.comment, None) in ontology, term
        if (node, RDF.type, RDFS.Class) in ontology:
            assert "zh" in languages, term
        else:
            assert (node, RDF.type, RDF.Property) in ontology, term
            assert (node, RDFS.range, None) in ontology, term


def test_shapes_use_declared_terms_and_cover_every_class(ontology: rdflib.Graph) -> None:
    shapes = rdflib.Graph().parse(data=data.text("ontology/shapes.ttl"), format="turtle")
    mentioned = {str(term) for triple in shapes for term in triple if str(term).startswith(TERMS)}
    assert mentioned <= declared(ontology)
    classes = {str(node) for node in ontology.subjects(RDF.type, RDFS.Class)}
    covered = {str(node) for node in shapes.objects(None, rdflib.SH.targetClass)}
    assert covered == classes


def test_every_shape_of_a_property_says_what_should_be(ontology: rdflib.Graph) -> None:
    shapes = rdflib.Graph().parse(data=data.text("ontology/shapes.ttl"), format="turtle")
    of_nodes = {
        node
        for shape in shapes.subjects(RDF.type, rdflib.SH.NodeShape)
        for node in shapes.objects(shape, rdflib.SH.property)
    }
    assert len(of_nodes) > 80
    for node in of_nodes:
        assert (node, rdflib.SH.message, None) in shapes, list(shapes.objects(node, rdflib.SH.path))


def test_terms_of_other_vocabularies_are_theirs() -> None:
    theirs = {
        "skos": rdflib.SKOS,
        "prov": rdflib.PROV,
        "dcterms": rdflib.DCTERMS,
    }
    for name, term in vars(Shared).items():
        if name.isupper():
            iri = rdflib.URIRef(term.value)
            spaces = [space for space in theirs.values() if iri in space]
            assert spaces or term.value == "http://qudt.org/schema/qudt/hasUnit", term
