"""Terms are documented, IRIs follow from names, literals keep their values."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone
from typing import TYPE_CHECKING

import pytest
import rdflib
from hypothesis import given
from hypothesis import strategies as st
from pyoxigraph import Literal, NamedNode
from rdflib import RDF, RDFS

import data
from kg.triples import vocabulary as names
from kg.triples.vocabulary import NAMESPACE, TERMS, TG, Shared

if TYPE_CHECKING:
    from kg.nouns.values import Value

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


@pytest.mark.parametrize(
    ("iri", "expected"),
    [
        (names.hardware_iri("ascend-910b3"), "hardware/ascend-910b3"),
        (names.model_iri("meta-llama/Llama-3"), "model/meta-llama%2FLlama-3"),
        (names.family_iri("bert"), "family/bert"),
        (names.bottleneck_iri("slow-link"), "pattern/slow-link"),
        (names.cause_iri("slow-link"), "pattern/slow-link"),
        (names.strategy_iri("昇腾"), "strategy/%E6%98%87%E8%85%BE"),
        (names.fault_iri("timeout"), "fault/timeout"),
        (names.problem_iri("abc"), "problem/abc"),
        (names.workload_iri("abc"), "workload/abc"),
        (names.source_iri("abc"), "source/abc"),
        (names.batch_iri(7), "batch/7"),
        (names.dimension_iri("seq len"), "dimension/seq%20len"),
        (names.context_iri("slow-link", "h100", ""), "context/slow-link/h100/"),
        (
            names.effect_iri(names.context_iri("a", "b", "c"), "overlap", "step_time", "measured"),
            "effect/a/b/c/overlap/step_time/measured",
        ),
        (names.hardware_iri(".."), "hardware/%2E%2E"),
    ],
)
def test_iris_are_readable_and_fixed(iri: NamedNode, expected: str) -> None:
    assert iri.value == NAMESPACE + expected


@given(name=st.text(max_size=20))
def test_a_name_comes_back_from_its_iri(name: str) -> None:
    assert names.name_of(names.hardware_iri(name)) == name


@given(one=st.text(max_size=5), other=st.text(max_size=5), third=st.text(max_size=5))
def test_contexts_do_not_run_into_each_other(one: str, other: str, third: str) -> None:
    parts = names.context_iri(one, other, third).value.removeprefix(f"{NAMESPACE}context/").split("/")
    assert len(parts) == 3


@pytest.mark.parametrize(
    ("value", "text", "datatype"),
    [
        (True, "true", names.XSD_BOOLEAN),
        (5, "5", names.XSD_INTEGER),
        (2**70, str(2**70), names.XSD_INTEGER),
        (0.5, "0.5", names.XSD_DOUBLE),
        ("5", "5", names.XSD_STRING),
        (None, "null", names.RDF_JSON),
        ((1, (2.5, "x")), '[1,[2.5,"x"]]', names.RDF_JSON),
    ],
)
def test_a_value_keeps_its_type(value: Value, text: str, datatype: NamedNode) -> None:
    term = names.literal(value)
    assert (term.value, term.datatype) == (text, datatype)
    back = names.value_of(term)
    assert back == value
    assert type(back) is type(value)


def test_literals_of_other_graphs_are_understood() -> None:
    assert names.value_of(Literal("1", datatype=names.XSD_BOOLEAN)) is True
    assert names.value_of(Literal("2.50", datatype=NamedNode(names.PREFIXES["xsd"] + "decimal"))) == 2.5
    assert names.value_of(Literal("2026", datatype=NamedNode(names.PREFIXES["xsd"] + "gYear"))) == "2026"
    with pytest.raises(ValueError, match="invalid literal"):
        names.value_of(Literal("five", datatype=names.XSD_INTEGER))


def test_a_moment_has_one_spelling() -> None:
    east = timezone(timedelta(hours=8))
    assert names.time_text(datetime(2026, 1, 2, 8, tzinfo=east)) == "2026-01-02T00:00:00Z"
    assert names.time_text(datetime(2026, 1, 2, 0, 0, 0, 500_000, tzinfo=UTC)) == "2026-01-02T00:00:00.5Z"


def test_labels_of_one_language_give_the_first() -> None:
    terms = [
        Literal("b", language="en"),
        Literal("a", language="en"),
        Literal("甲", language="zh"),
        Literal("x"),
    ]
    assert names.labels_of(terms) == {"en": "a", "zh": "甲"}
