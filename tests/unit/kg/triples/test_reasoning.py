"""A reasoner finds no contradiction in what the graph says, with the axioms of the vocabularies it uses."""

from collections.abc import Iterable
from functools import cache

import owlrl
import rdflib
from owlrl.Namespaces import ERRNS
from pyoxigraph import Triple

import data
from kg.triples import iris
from kg.triples.serialisation import problem_triples, to_triples
from kg.triples.vocabulary import Shared
from tests.samples.every_noun import BOOK, KNOWN, MEASURED, PROBLEM
from tests.unit.kg.nouns.test_outcomes import outcome

AXIOMS = """
@prefix owl: <http://www.w3.org/2002/07/owl#> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
@prefix prov: <http://www.w3.org/ns/prov#> .
@prefix skos: <http://www.w3.org/2004/02/skos/core#> .
prov:Entity owl:disjointWith prov:Activity .
prov:Plan rdfs:subClassOf prov:Entity .
prov:wasDerivedFrom rdfs:domain prov:Entity ; rdfs:range prov:Entity .
prov:wasGeneratedBy rdfs:domain prov:Entity ; rdfs:range prov:Activity .
prov:used rdfs:domain prov:Activity ; rdfs:range prov:Entity .
prov:endedAtTime rdfs:domain prov:Activity .
skos:Concept owl:disjointWith skos:ConceptScheme , skos:Collection .
skos:inScheme rdfs:range skos:ConceptScheme .
skos:broader rdfs:domain skos:Concept ; rdfs:range skos:Concept .
"""
"""Axioms of PROV-O (W3C, 2013) and the SKOS reference (W3C, 2009) about the terms that the graph uses."""
TEST = outcome()


@cache
def said() -> tuple[Triple, ...]:
    """Triples of every kind of noun, with a test and the batch of a problem."""
    generated = Triple(iris.problem_iri(PROBLEM.id), Shared.GENERATED_BY, iris.batch_iri(1))
    nouns = [triple for noun in (*KNOWN, *MEASURED, TEST) for triple in to_triples(noun)]
    return (*nouns, *problem_triples(PROBLEM, 1, [BOOK]), generated)


def contradictions(triples: Iterable[Triple]) -> list[str]:
    """Contradictions in the RL closure of some triples, with the vocabulary and the axioms."""
    graph = rdflib.Graph().parse(data=data.text("ontology/tuning.ttl"), format="turtle")
    graph.parse(data=AXIOMS, format="turtle")
    graph.parse(data="".join(f"{triple} .\n" for triple in triples), format="nt")
    owlrl.DeductiveClosure(owlrl.OWLRL_Semantics, axiomatic_triples=False, datatype_axioms=False).expand(
        graph
    )
    return [str(message) for message in graph.objects(None, ERRNS.error)]


def test_every_kind_of_noun_is_consistent_with_the_vocabularies_of_others() -> None:
    assert contradictions(said()) == []


def test_an_activity_that_is_derived_from_something_is_a_contradiction() -> None:
    derived = Triple(iris.outcome_iri(TEST.id), Shared.DERIVED_FROM, iris.source_iri(BOOK.id))
    [message] = {text[:40] for text in contradictions([*to_triples(TEST), *to_triples(BOOK), derived])}
    assert "disjoint" in message.lower()
