"""Terms of the code are those of the ontology, and are documented."""

import pytest
import rdflib
from rdflib import RDF, RDFS

import data
from kg.terms.units import unit
from kg.triples.tables.common import SCHEMES
from kg.triples.vocabulary import HEADER, TERMS, TG, UNITS, VERSION, Shared


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
        "rdfs": RDFS,
    }
    for name, term in vars(Shared).items():
        if name.isupper():
            iri = rdflib.URIRef(term.value)
            spaces = [space for space in theirs.values() if iri in space]
            assert spaces or term.value == "http://qudt.org/schema/qudt/hasUnit", term


def test_units_that_count_have_the_unit_of_counts() -> None:
    """QUDT has no tokens or images; it has a number per second. What is per device has no unit there."""
    for word in ("tokens", "samples", "images", "frames", "requests", "queries", "steps"):
        symbol = unit(f"{word}/s").symbol
        assert UNITS[symbol].value == "http://qudt.org/vocab/unit/NUM-PER-SEC"
    assert unit("tokens/s/device").symbol not in UNITS


def test_classes_and_properties_are_no_concepts(ontology: rdflib.Graph) -> None:
    """SKOS matches hold between concepts; OWL says what a class or property is."""
    assert not list(ontology.triples((None, rdflib.SKOS.closeMatch, None)))
    for node in ontology.subjects(RDF.type, RDFS.Class):
        assert (node, RDF.type, rdflib.OWL.Class) in ontology
    for node in ontology.subjects(RDF.type, RDF.Property):
        [range_] = ontology.objects(node, RDFS.range)
        is_value = str(range_).startswith((str(rdflib.XSD), str(RDF), str(RDFS)))
        kind = rdflib.OWL.DatatypeProperty if is_value else rdflib.OWL.ObjectProperty
        assert (node, RDF.type, kind) in ontology, node
    conflicts = rdflib.URIRef(f"{TERMS}conflictsWith")
    assert (conflicts, RDF.type, rdflib.OWL.SymmetricProperty) in ontology


def test_an_export_names_the_version_that_the_ontology_has(ontology: rdflib.Graph) -> None:
    [header] = ontology.subjects(RDF.type, rdflib.OWL.Ontology)
    [version] = ontology.objects(header, rdflib.OWL.versionIRI)
    assert str(version) in {getattr(triple.object, "value", "") for triple in HEADER}
    assert [str(info) for info in ontology.objects(header, rdflib.OWL.versionInfo)] == [str(VERSION)]
    assert len(list(ontology.objects(header, rdflib.OWL.imports))) == 2


def test_the_schemes_of_concepts_are_described(ontology: rdflib.Graph) -> None:
    described = {str(node) for node in ontology.subjects(RDF.type, rdflib.SKOS.ConceptScheme)}
    assert described == {scheme.value for scheme in SCHEMES.values()}
