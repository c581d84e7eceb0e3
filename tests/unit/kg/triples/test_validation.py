"""The shapes pass what the program writes and name what is wrong with anything else."""

from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Any

import pytest
from pyoxigraph import Literal, NamedNode, Triple

from kg.nouns.effects import Context, Effect
from kg.nouns.entities import Hardware, Kind, Limit, Objective, Source, Workload
from kg.nouns.framework import Framework
from kg.nouns.grid import GreenSchedule, GridRegion
from kg.nouns.knowledge import (
    Assignment,
    Bottleneck,
    Cause,
    CauseEdge,
    Confidence,
    Fact,
    FactKind,
    FaultPattern,
    HardwareProfile,
    Level,
    Model,
    ModelFamily,
    Relation,
    Strategy,
    Symptom,
    VersionBound,
)
from kg.nouns.outcomes import Outcome
from kg.nouns.provenance import Batch
from kg.nouns.recipe import Authority, Recipe, RecipeSetting, Role
from kg.nouns.scope import Caveat, ScopeClause
from kg.nouns.setting import SettingPlace
from kg.nouns.values import Settings
from kg.triples import iris
from kg.triples import vocabulary as names
from kg.triples.iris import literal
from kg.triples.oxigraph_store import OxigraphStore
from kg.triples.serialisation import TABLES, problem_triples, to_triples
from kg.triples.validation import KNOWLEDGE, knowledge_part, validate
from kg.triples.vocabulary import RDF_TYPE, TG, Shared
from tests.samples.problems import make_problem

BOOK = Source(title="A book", url="https://example.org/book", commit="abc", licence="MIT", note="read twice")


def fact(name: str, value: object) -> Fact:
    return Fact(
        name=name,
        value=value,  # type: ignore[arg-type]  # one of several types
        source=BOOK,
        kind=FactKind.DOCUMENTED,
        confidence=Confidence.HIGH,
        note="nominal",
    )


def concept(name: str) -> dict[str, Any]:
    return {
        "id": name,
        "labels": {"en": name.title(), "zh": "名"},
        "aliases": (f"{name} 2",),
        "definition": "What it is.",
    }


PROBLEM = make_problem(
    "pretrain",
    Hardware(name="device", reported="Device", count=8, traits=Settings({"link": "HCCS"})),
    kind="training",
    model="bert-large",
    precision="float16",
    shape={"seq_len": 128, "tiles": [1, 2]},
    traits={"routing": "balanced"},
    metric="throughput",
    unit="samples/s",
    limits=(Limit(metric="peak_memory", maximum=32e9, unit="B"), Limit(metric="loss", maximum=1, unit="1")),
    bottlenecks={"slow-link": 0.25, "bubble": None},
    current={"tp": 8},
    software={"cann": "8.0"},
)
EDGE = CauseEdge(cause="cable", confidence=Confidence.LOW, source=BOOK)
KNOWN = (
    HardwareProfile(**concept("vendor"), level=Level.VENDOR, facts=(fact("link_count", 7),)),
    HardwareProfile(
        **concept("family"), level=Level.FAMILY, broader="vendor", ambiguous=True, assumed="device"
    ),
    HardwareProfile(
        **concept("device"),
        level=Level.DEVICE,
        broader="family",
        facts=(
            fact("memory_bytes", 64),
            fact("clock_hz", 1.5e9),
            fact("memory_type", "HBM"),
            fact("dies", (1, 2)),
        ),
    ),
    HardwareProfile(
        **concept("server"), level=Level.SERVER, broader="vendor", device="device", device_count=8
    ),
    ModelFamily(**concept("bert")),
    Model(
        **concept("bert-large"),
        family="bert",
        architecture="encoder",
        facts=(fact("parameters", 340_000_000),),
    ),
    Bottleneck(**concept("communication")),
    Bottleneck(
        **concept("slow-link"),
        broader="communication",
        symptoms=(
            Symptom(metric="ratio", comparator="below", threshold=0.95, softness=0.05, unit="1", source=BOOK),
        ),
        caused_by=(EDGE,),
    ),
    Cause(**concept("cable"), source=BOOK),
    Strategy(
        **concept("overlap"),
        kind="documented",
        phases=("training",),
        families=("transformer",),
        hardware=("vendor",),
        sets=(
            Assignment(parameter="overlap", value=True, flag="--overlap", software="cann"),
            Assignment(parameter="LEVEL", value=None, environment=True, software="cann"),
        ),
        mitigates=(Relation(target="slow-link", source=BOOK),),
        requires=(Relation(target="bf16", source=BOOK),),
        conflicts_with=(Relation(target="fp16", source=BOOK),),
        applies_when=(ScopeClause(condition="devices > 1", source=BOOK),),
        caveats=(Caveat(text="no gain on one device", source=BOOK),),
        contraindicated_by=(Relation(target="communication", source=BOOK),),
        since=(VersionBound(software="cann", version="8.0", source=BOOK),),
        removed=(VersionBound(software="cann", version="9.0", source=BOOK),),
        accuracy="unchanged",
        sources=(BOOK,),
    ),
    Strategy(**concept("bf16"), kind="claimed", hardware=("vendor",), work="code", sources=(BOOK,)),
    Strategy(
        **concept("fp16"),
        kind="claimed",
        hardware=("vendor",),
        work="code",
        conflicts_with=(Relation(target="overlap", source=BOOK),),
        sources=(BOOK,),
    ),
    Framework(**concept("vllm"), phases=("decode",), hardware=("vendor",), stack=("cann",), sources=(BOOK,)),
    FaultPattern(
        **concept("timeout"),
        codes=("507014",),
        patterns=("EZ9999",),
        cause={"en": "slow", "zh": "慢"},
        remedy={"en": "wait"},
        strategies=("overlap",),
        source=BOOK,
        confidence=Confidence.MEDIUM,
    ),
    GridRegion(**concept("fr")),
    GreenSchedule(region="fr", start_hour=0, end_hour=24, carbon_intensity_g_per_kwh=21.5, source=BOOK),
    Recipe(
        id="guide-decode",
        role=Role.DECODE,
        model="model",
        reported_model="Model-W8A8",
        family="family",
        hardware="device",
        reported_hardware="Device",
        devices=4,
        instances=2,
        framework="vllm-ascend",
        version="1.0",
        context=Settings({"input_len": 2048}),
        precision="w8a8",
        layout=Settings({"tp": 2}),
        settings=(RecipeSetting(where=SettingPlace.FLAG, key="--tensor-parallel-size", value="2"),),
        title="a guide",
        source=BOOK,
        authority=Authority.VENDOR_TUTORIAL,
    ),
)
MEASURED = (
    PROBLEM,
    Batch(number=1, time=datetime(2026, 1, 1, tzinfo=UTC), files=("a",), counts=Settings({"problems": 1})),
    Effect(
        context=Context(bottleneck="slow-link", hardware="device", family="bert"),
        strategy="overlap",
        metric="step_time",
        kind=Kind.MEASURED,
    ).add([0.1, -0.1], now=datetime(2026, 1, 1, tzinfo=UTC)),
    Outcome(
        id="abc",
        problem=PROBLEM.id,
        metric="step_time",
        configuration=Settings({"overlap": True}),
        control=Settings({"overlap": False}),
        verdict="better",
        scheme="randomised",
        pairs=12,
        alpha=0.01,
        margin=0.01,
        time=datetime(2026, 1, 1, tzinfo=UTC),
        source=BOOK,
        gain=0.1,
        low=0.05,
        high=0.15,
        p=0.001,
        strategy="overlap",
        bottleneck="slow-link",
        recommendation="4dcea6b43b7a",
    ),
)


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
    store = OxigraphStore()
    store.extend(triples_of((*KNOWN, *MEASURED)))
    part = set(knowledge_part(store))
    classes = {triple.object for triple in part if triple.predicate == RDF_TYPE}
    assert set(KNOWLEDGE) <= classes
    assert not classes & {TG.PROBLEM, TG.EFFECT, TG.BATCH, TG.OUTCOME}
    assert validate(part) == []


def test_what_a_part_points_at_may_be_in_the_store() -> None:
    store = OxigraphStore()
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
CONFLICT = statement(STRATEGY, TG.CONFLICT)
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
        (DEVICE, Shared.PREF_LABEL, None, "A concept has a name"),
        (DEVICE, Shared.PREF_LABEL, Literal("Device"), "each with its language tag"),
        (DEVICE, TG.KEY, None, "a key that it is found by"),
        (LINK_COUNT, TG.VALUE, literal(0), "a number is above zero, since unknown is left out"),
        (LINK_COUNT, TG.VALUE, literal(-1.5), "a number is above zero, since unknown is left out"),
        (LINK_COUNT, TG.VALUE, literal(""), "exactly one value"),
        (LINK_COUNT, Shared.DERIVED_FROM, None, "A fact names exactly one source"),
        (LINK_COUNT, TG.CONFIDENCE, Literal("certain"), "A fact is trusted high, medium or low"),
        (LINK_COUNT, TG.FACT_KIND, Literal("guessed"), "A fact says how it is known"),
        (STRATEGY, TG.MITIGATES, iris.bottleneck_iri("nowhere"), "mitigates is a bottleneck"),
        (STRATEGY, TG.MITIGATES, iris.bottleneck_iri("cable"), "mitigates is a bottleneck"),
        (STRATEGY, TG.PHASE, Literal("lunch"), "A phase is training"),
        (STRATEGY, TG.WORK, Literal("magic"), "The work that a strategy takes is code"),
        (FP16, TG.WORK, None, "A strategy sets something, or says what kind of work it takes"),
        (FP16, TG.FOR_HARDWARE, None, "A strategy says where it applies"),
        (FP16, TG.CONFLICTS_WITH, None, "A conflict holds both ways"),
        (STRATEGY, Shared.DERIVED_FROM, None, "A strategy names at least one source"),
        (CONFLICT, TG.TARGET, None, "A relation points at one node"),
        (CLAUSE, TG.EXPRESSION, None, "exactly one expression"),
        (CLAUSE, TG.READS_FACT, None, "reads at least one fact"),
        (CLAUSE, Shared.DERIVED_FROM, None, "A condition names exactly one source"),
        (SYMPTOM, TG.COMPARATOR, Literal("near"), "above or below its threshold"),
        (SYMPTOM, TG.SOFTNESS, literal(-0.1), "not below zero"),
        (iris.fault_iri("timeout"), TG.REMEDY, Literal("wait"), "A remedy has a language tag"),
        (iris.schedule_iri("fr-00-24"), TG.END_HOUR, literal(25), "ends at an hour from 1 to 24"),
        (iris.schedule_iri("fr-00-24"), TG.START_HOUR, literal(24), "before it ends"),
        (iris.schedule_iri("fr-00-24"), TG.CARBON_INTENSITY, literal(-1), "A carbon intensity"),
        (iris.model_iri("bert-large"), TG.FAMILY, iris.family_iri("nowhere"), "exactly one family"),
        (iris.problem_iri(PROBLEM.id), TG.OF_WORKLOAD, None, "exactly one workload"),
        (iris.problem_iri(PROBLEM.id), TG.DEVICE_COUNT, literal(0), "at least 1"),
        (iris.workload_iri(PROBLEM.task_id), TG.WORKLOAD_KIND, Literal("game"), "A workload is a kernel"),
        (iris.source_iri(BOOK.id), Shared.TITLE, None, "exactly one title"),
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
        (SETTING, TG.CARRIER, Literal("--config"), "one place where it is written"),
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
