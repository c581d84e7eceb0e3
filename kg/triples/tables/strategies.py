"""Strategies with what they set and go with, frameworks, and known faults."""

from collections.abc import Callable, Iterator

from pyoxigraph import Literal, NamedNode

from kg.nouns.framework import Framework
from kg.nouns.knowledge import Assignment, Confidence, FaultPattern, Relation, Strategy, VersionBound
from kg.nouns.release import release_order
from kg.nouns.scope import Caveat, ScopeClause
from kg.terms.conditions import Condition
from kg.triples import iris
from kg.triples import vocabulary as names
from kg.triples.tables.common import concept_fields, concept_keys, derived_from, keys
from kg.triples.tables.descriptions import Pair
from kg.triples.tables.fields import EnumField, Field, Labels, LinkField, LiteralField, TextsField
from kg.triples.tables.table import NounTable, Statements
from kg.triples.vocabulary import TG, Shared


def _about_parameter(name: str) -> Iterator[Pair]:
    yield names.RDF_TYPE, TG.PARAMETER
    yield Shared.NOTATION, Literal(name)
    yield from keys(name)


def _facts_read(clause: ScopeClause) -> Iterator[Pair]:
    """The facts that a condition reads, so that a query finds the strategies that one decides."""
    for fact in sorted(Condition(clause.condition).facts):
        yield TG.READS_FACT, Literal(fact)


ASSIGNMENT = NounTable(
    Assignment,
    TG.ASSIGNMENT,
    LinkField(name="parameter", predicate=TG.OF_PARAMETER, iri=iris.parameter_iri, about=_about_parameter),
    LiteralField(name="value", predicate=TG.VALUE),
    LiteralField(name="flag", predicate=TG.FLAG),
    LiteralField(name="environment", predicate=TG.ENVIRONMENT),
    LiteralField(name="carrier", predicate=TG.CARRIER),
    LiteralField(name="software", predicate=TG.SOFTWARE),
)


def _in_order(bound: VersionBound) -> Iterator[Pair]:
    """A text that sorts releases, so that a shape can tell which came first."""
    if order := release_order(bound.version):
        yield TG.RELEASE_ORDER, Literal(order)


VERSION_BOUND = NounTable(
    VersionBound,
    TG.VERSION_BOUND,
    LiteralField(name="software", predicate=TG.SOFTWARE),
    LiteralField(name="version", predicate=TG.VERSION),
    derived_from(),
    derived=_in_order,
)


SCOPE_CLAUSE = NounTable(
    ScopeClause,
    TG.CONDITION,
    LiteralField(name="condition", predicate=TG.EXPRESSION),
    LiteralField(name="reason", predicate=TG.IN_WORDS),
    derived_from(),
    derived=_facts_read,
)

CAVEAT = NounTable(Caveat, TG.CAVEAT, LiteralField(name="text", predicate=TG.IN_WORDS), derived_from())


def _relation_to(iri: Callable[[str], NamedNode]) -> NounTable[Relation]:
    return NounTable(
        Relation,
        TG.RELATION,
        LinkField(name="target", predicate=TG.TARGET, iri=iri),
        derived_from(),
    )


def _relations(name: str, statement: NamedNode, direct: NamedNode, iri: Callable[[str], NamedNode]) -> Field:
    return Statements(
        name=name,
        predicate=statement,
        table=_relation_to(iri),
        plain=lambda relation: (direct, iri(relation.target)),
    )


STRATEGY = NounTable(
    Strategy,
    TG.STRATEGY,
    *concept_fields(),
    LiteralField(name="kind", predicate=TG.STRATEGY_KIND),
    TextsField(name="phases", predicate=TG.PHASE),
    TextsField(name="families", predicate=TG.FOR_FAMILY),
    LinkField(name="hardware", predicate=TG.FOR_HARDWARE, iri=iris.hardware_iri, many=True),
    Statements(name="applies_when", predicate=TG.APPLIES_WHEN, table=SCOPE_CLAUSE),
    Statements(name="caveats", predicate=TG.HAS_CAVEAT, table=CAVEAT),
    Statements(name="sets", predicate=TG.SETS, table=ASSIGNMENT),
    LiteralField(name="work", predicate=TG.WORK),
    _relations("mitigates", TG.MITIGATION, TG.MITIGATES, iris.bottleneck_iri),
    _relations("requires", TG.REQUIREMENT, TG.REQUIRES, iris.strategy_iri),
    _relations("conflicts_with", TG.CONFLICT, TG.CONFLICTS_WITH, iris.strategy_iri),
    _relations("contraindicated_by", TG.CONTRAINDICATION, TG.CONTRAINDICATED_BY, iris.bottleneck_iri),
    Statements(name="since", predicate=TG.SINCE, table=VERSION_BOUND),
    Statements(name="removed", predicate=TG.REMOVED_IN, table=VERSION_BOUND),
    LiteralField(name="accuracy", predicate=TG.ACCURACY, always=True),
    derived_from("sources", many=True),
    LinkField(name="parents", predicate=TG.MADE_FROM, iri=iris.strategy_iri, many=True),
    iri=lambda strategy: iris.strategy_iri(strategy.id),
    from_id=iris.strategy_iri,
    derived=concept_keys,
    identity="id",
)


def _fault_keys(fault: FaultPattern) -> Iterator[Pair]:
    yield names.RDF_TYPE, Shared.CONCEPT
    yield from keys(fault.id, *fault.codes, *fault.labels.values(), *fault.aliases)


FAULT = NounTable(
    FaultPattern,
    TG.FAULT,
    *concept_fields(),
    TextsField(name="codes", predicate=TG.CODE),
    TextsField(name="patterns", predicate=TG.LOG_TEXT),
    Labels(name="cause", predicate=TG.EXPLANATION),
    Labels(name="remedy", predicate=TG.REMEDY),
    LinkField(name="strategies", predicate=TG.REMEDIED_BY, iri=iris.strategy_iri, many=True),
    derived_from(),
    EnumField(name="confidence", predicate=TG.CONFIDENCE, choices=Confidence),
    iri=lambda fault: iris.fault_iri(fault.id),
    from_id=iris.fault_iri,
    derived=_fault_keys,
    identity="id",
)

FRAMEWORK = NounTable(
    Framework,
    TG.FRAMEWORK,
    *concept_fields(),
    TextsField(name="phases", predicate=TG.PHASE),
    LinkField(name="hardware", predicate=TG.FOR_HARDWARE, iri=iris.hardware_iri, many=True),
    TextsField(name="stack", predicate=TG.STACK),
    derived_from("sources", many=True),
    iri=lambda framework: iris.framework_iri(framework.id),
    from_id=iris.framework_iri,
    derived=concept_keys,
    identity="id",
)
