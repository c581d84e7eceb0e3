"""IRIs follow from names, literals keep their values."""

from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyoxigraph import Literal, NamedNode

from kg.nouns.values import Value
from kg.triples import iris
from kg.triples.vocabulary import NAMESPACE, PREFIXES, RDF_JSON


def xsd(name: str) -> NamedNode:
    return NamedNode(PREFIXES["xsd"] + name)


@pytest.mark.parametrize(
    ("iri", "expected"),
    [
        (iris.hardware_iri("ascend-910b3"), "hardware/ascend-910b3"),
        (iris.model_iri("meta-llama/Llama-3"), "model/meta-llama%2FLlama-3"),
        (iris.family_iri("bert"), "family/bert"),
        (iris.bottleneck_iri("slow-link"), "pattern/slow-link"),
        (iris.fault_iri("timeout"), "fault/timeout"),
        (iris.source_iri("abc"), "source/abc"),
        (iris.context_iri("slow-link", "h100", ""), "context/slow-link/h100/"),
    ],
)
def test_iris_are_readable_and_fixed(iri: NamedNode, expected: str) -> None:
    assert iri.value == NAMESPACE + expected


@given(name=st.text(max_size=20))
def test_a_name_comes_back_from_its_iri(name: str) -> None:
    assert iris.name_of(iris.hardware_iri(name)) == name


@given(one=st.text(max_size=5), other=st.text(max_size=5), third=st.text(max_size=5))
def test_contexts_do_not_run_into_each_other(one: str, other: str, third: str) -> None:
    parts = iris.context_iri(one, other, third).value.removeprefix(f"{NAMESPACE}context/").split("/")
    assert len(parts) == 3


@pytest.mark.parametrize(
    ("value", "text", "datatype"),
    [
        (True, "true", xsd("boolean")),
        (5, "5", xsd("integer")),
        (2**70, str(2**70), xsd("integer")),
        (0.5, "0.5", xsd("double")),
        ("5", "5", xsd("string")),
        (None, "null", RDF_JSON),
        ((1, (2.5, "x")), '[1,[2.5,"x"]]', RDF_JSON),
    ],
)
def test_a_value_keeps_its_type(value: Value, text: str, datatype: NamedNode) -> None:
    term = iris.literal(value)
    assert (term.value, term.datatype) == (text, datatype)
    back = iris.value_of(term)
    assert back == value
    assert type(back) is type(value)


def test_literals_of_other_graphs_are_understood() -> None:
    assert iris.value_of(Literal("1", datatype=xsd("boolean"))) is True
    assert iris.value_of(Literal("2.50", datatype=xsd("decimal"))) == 2.5
    assert iris.value_of(Literal("2026", datatype=xsd("gYear"))) == "2026"
    with pytest.raises(ValueError, match="invalid literal"):
        iris.value_of(Literal("five", datatype=xsd("integer")))


def test_a_moment_has_one_spelling() -> None:
    east = timezone(timedelta(hours=8))
    assert iris.time_text(datetime(2026, 1, 2, 8, tzinfo=east)) == "2026-01-02T00:00:00Z"
    assert iris.time_text(datetime(2026, 1, 2, 0, 0, 0, 500_000, tzinfo=UTC)) == "2026-01-02T00:00:00.5Z"


def test_labels_of_one_language_give_the_first() -> None:
    terms = [
        Literal("b", language="en"),
        Literal("a", language="en"),
        Literal("甲", language="zh"),
        Literal("x"),
    ]
    assert iris.labels_of(terms) == {"en": "a", "zh": "甲"}
