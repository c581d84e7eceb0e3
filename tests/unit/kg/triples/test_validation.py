"""The shapes pass what the program writes and name what is wrong with anything else."""

from collections.abc import Iterable

import pytest
from pyoxigraph import Literal, NamedNode, Triple

from kg.nouns.effects import Context
from kg.nouns.entities import Objective, Source, Workload
from kg.nouns.knowledge import (
    HardwareProfile,
    Level,
)
from kg.triples import iris
from kg.triples import vocabulary as names
from kg.triples.graph import GraphStore
from kg.triples.iris import literal
from kg.triples.serialisation import TABLES, problem_triples, to_triples
from kg.triples.validation import KNOWLEDGE, knowledge_part, validate
from kg.triples.vocabulary import RDF_TYPE, TG, Shared
from tests.samples.every_noun import BOOK, KNOWN, MEASURED, PROBLEM, concept


def triples_of(nouns: Iterable[object]) -> list[Triple]:
    return [triple for noun in nouns for triple in to_triples(noun)]


def test_every_noun_that_the_program_writes_conforms() -> None:
    nouns = (*KNOWN, *MEASURED)
    written = triples_of(nouns) + problem_triples(PROBLEM, 1, [BOOK], family="bert")
    types = {triple.object for triple in written if triple.predicate == RDF_TYPE}
    only_exported = {TG.EVIDENCE}
    assert types == {term for name, term in vars(TG).items() if name in CLASSES} - only_exported | {
        Shared.CONCEPT
    }
    assert {type(noun) for noun in nouns} >= set(TABLES) - {Context, Objective, Workload, Source}
    assert validate(written) == []


CLASSES = {
    name
    for name, term in vars(TG).items()
    if name.isupper() and term.value.removeprefix(names.TERMS)[0].isupper()
}


def test_the_knowledge_is_checked_without_the_problems() -> None:
    store = GraphStore()
    store.extend(triples_of((*KNOWN, *MEASURED)))
    part = set(knowledge_part(store))
    classes = {triple.object for triple in part if triple.predicate == RDF_TYPE}
    assert set(KNOWLEDGE) <= classes
    assert not classes & {TG.PROBLEM, TG.EFFECT, TG.BATCH, TG.OUTCOME}
    assert validate(part) == []


def test_what_a_part_points_at_may_be_in_the_store() -> None:
    store = GraphStore()
    store.extend(triples_of(KNOWN))
    new = HardwareProfile(**concept("newer"), level=Level.DEVICE, broader="family")
    assert [fault.message for fault in validate(to_triples(new))] == [
        "Hardware is under at most one node, which the graph describes"
    ]
    assert validate(to_triples(new), described_in=store) == []


DEVICE = iris.hardware_iri("device")
STRATEGY = iris.strategy_iri("overlap")
NOWHERE = NamedNode(names.NAMESPACE + "hardware/nowhere")


def statement(subject: NamedNode, predicate: NamedNode) -> NamedNode:
    """One of the statements that KNOWN makes of a subject."""
    found = sorted(
        str(t.object) for t in triples_of(KNOWN) if t.subject == subject and t.predicate == predicate
    )
    return NamedNode(found[0].strip("<>"))


LINK_COUNT = statement(iris.hardware_iri("vendor"), TG.HAS_FACT)
CLAUSE = statement(STRATEGY, TG.APPLIES_WHEN)
FP16 = iris.strategy_iri("fp16")
SETTING = next(
    triple.subject
    for triple in triples_of(KNOWN)
    if triple.predicate == TG.FLAG and isinstance(triple.subject, NamedNode)
)
BROUGHT = statement(STRATEGY, TG.SINCE)
SYMPTOM = statement(iris.bottleneck_iri("slow-link"), TG.HAS_SYMPTOM)


@pytest.mark.parametrize(
    ("subject", "predicate", "term", "message"),
    [
        (DEVICE, TG.LEVEL, Literal("chip"), "Hardware is a vendor, an architecture"),
        (DEVICE, Shared.BROADER, None, "not a vendor is under another node"),
        (DEVICE, Shared.BROADER, NOWHERE, "under at most one node, which the graph describes"),
        (DEVICE, Shared.PREF_LABEL, Literal("Device"), "each with its language tag"),
        (LINK_COUNT, TG.VALUE, literal(0), "a number is above zero, since unknown is left out"),
        (LINK_COUNT, TG.VALUE, literal(""), "exactly one value"),
        (LINK_COUNT, TG.FACT_KIND, Literal("guessed"), "A fact says how it is known"),
        (STRATEGY, TG.MITIGATES, iris.bottleneck_iri("cable"), "mitigates is a bottleneck"),
        (STRATEGY, TG.WORK, Literal("magic"), "The work that a strategy takes is code"),
        (FP16, TG.WORK, None, "A strategy sets something, or says what kind of work it takes"),
        (FP16, TG.CONFLICTS_WITH, None, "A conflict holds both ways"),
        (STRATEGY, Shared.DERIVED_FROM, None, "A strategy names at least one source"),
        (CLAUSE, TG.EXPRESSION, None, "exactly one expression"),
        (SYMPTOM, TG.COMPARATOR, Literal("near"), "above or below its threshold"),
        (iris.fault_iri("timeout"), TG.REMEDY, Literal("wait"), "A remedy has a language tag"),
        (iris.schedule_iri("fr-00-09"), TG.START_HOUR, literal(24), "before it ends"),
        (iris.model_iri("bert-large"), TG.FAMILY, iris.family_iri("nowhere"), "exactly one family"),
        (iris.problem_iri(PROBLEM.id), TG.DEVICE_COUNT, literal(0), "at least 1"),
        (iris.batch_iri(1), Shared.ENDED_AT, Literal("today"), "A batch has exactly one time"),
        (
            iris.effect_iri(
                iris.context_iri("slow-link", "device", "bert"), "overlap", "step_time", "measured"
            ),
            TG.SAMPLES,
            literal(0.5),
            "An effect counts its gains",
        ),
    ],
)
def test_what_is_wrong_is_named(
    subject: NamedNode, predicate: NamedNode, term: NamedNode | Literal | None, message: str
) -> None:
    changed = [t for t in triples_of((*KNOWN, *MEASURED)) if (t.subject, t.predicate) != (subject, predicate)]
    if term is not None:
        changed.append(Triple(subject, predicate, term))
    faults = validate(changed)
    assert [fault for fault in faults if message in fault.message and fault.focus == subject.value], faults


@pytest.mark.parametrize(
    ("subject", "predicate", "term", "message"),
    [
        (SETTING, TG.SOFTWARE, None, "names the software that reads it"),
        (BROUGHT, TG.RELEASE_ORDER, Literal("99999999"), "removed after the release that brought it"),
    ],
)
def test_what_a_strategy_sets_and_when_it_was_there_are_its_own_affair(
    subject: NamedNode, predicate: NamedNode, term: Literal | None, message: str
) -> None:
    changed = [t for t in triples_of(KNOWN) if (t.subject, t.predicate) != (subject, predicate)]
    if term is not None:
        changed.append(Triple(subject, predicate, term))
    assert [fault.focus for fault in validate(changed) if message in fault.message] == [STRATEGY.value]
