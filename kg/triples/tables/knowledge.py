"""Hardware, models, bottlenecks and causes, grid regions and their schedules."""

from collections.abc import Iterator
from urllib.parse import quote

from pyoxigraph import NamedNode

from kg.nouns.grid import GreenSchedule, GridRegion
from kg.nouns.knowledge import (
    Bottleneck,
    Cause,
    CauseEdge,
    Confidence,
    Fact,
    FactKind,
    HardwareProfile,
    Level,
    Model,
    ModelFamily,
    Symptom,
)
from kg.triples import iris
from kg.triples import vocabulary as names
from kg.triples.iris import iri_of, literal
from kg.triples.tables.common import concept_fields, concept_keys, derived_from, unit_of
from kg.triples.tables.descriptions import Pair
from kg.triples.tables.fields import EnumField, Field, LinkField, LiteralField
from kg.triples.tables.table import NounTable, Statements
from kg.triples.vocabulary import TG, Shared


def _fact_unit(fact: Fact) -> Iterator[Pair]:
    for suffix, symbol in _FACT_UNITS:
        if fact.name.endswith(suffix):
            yield Shared.UNIT, names.UNITS[symbol]
            return


_FACT_UNITS = (
    ("_bytes_per_s", "B/s"),
    ("_bytes", "B"),
    ("_flops", "FLOP/s"),
    ("_ops", "OP/s"),
    ("_hz", "Hz"),
    ("_w", "W"),
    ("_s", "s"),
    ("_share", "1"),
)
"""Units that the names of facts end in, the longer ending first; see docs/knowledge-format.md."""


FACT = NounTable(
    Fact,
    TG.FACT,
    LiteralField(name="name", predicate=TG.FACT_NAME),
    LiteralField(name="value", predicate=TG.VALUE),
    derived_from(),
    EnumField(name="kind", predicate=TG.FACT_KIND, choices=FactKind),
    EnumField(name="confidence", predicate=TG.CONFIDENCE, choices=Confidence),
    LiteralField(name="note", predicate=Shared.NOTE),
    derived=_fact_unit,
)


_PAGES = {
    "pci_id": "https://pci-ids.ucw.cz/read/PC/{}",
    "hugging_face": "https://huggingface.co/{}",
}
"""Where others describe what they call so; a PCI id is ``vendor:device``, and there may be several."""

_OF_ADDRESSES = "/:?#[]@!$&'()*+,;=~%"
"""Marks that an address has as they are."""


def _keys_and_matches(concept: HardwareProfile | Model) -> Iterator[Pair]:
    """Yield the keys of a concept, and the pages of others that are about it."""
    yield from concept_keys(concept)
    for fact in concept.facts:
        if fact.name in _PAGES:
            for name in str(fact.value).split():
                address = _PAGES[fact.name].format(quote(name.replace(":", "/")))
                yield Shared.CLOSE_MATCH, NamedNode(address)
        elif fact.name == "page" and str(fact.value).startswith(("https://", "http://")):
            yield Shared.SEE_ALSO, NamedNode(quote(str(fact.value), safe=_OF_ADDRESSES))


def _facts() -> Field:
    return Statements(
        name="facts",
        predicate=TG.HAS_FACT,
        table=FACT,
        plain=lambda fact: (iri_of("property", fact.name), literal(fact.value)),
    )


CAUSE_EDGE = NounTable(
    CauseEdge,
    TG.CAUSE_EDGE,
    LinkField(name="cause", predicate=TG.TARGET, iri=iris.cause_iri),
    EnumField(name="confidence", predicate=TG.CONFIDENCE, choices=Confidence),
    derived_from(),
)


def _causes() -> Field:
    return Statements(
        name="caused_by",
        predicate=TG.HAS_CAUSE_EDGE,
        table=CAUSE_EDGE,
        plain=lambda edge: (TG.CAUSED_BY, iris.cause_iri(edge.cause)),
    )


SYMPTOM = NounTable(
    Symptom,
    TG.SYMPTOM,
    LiteralField(name="metric", predicate=TG.METRIC),
    LiteralField(name="comparator", predicate=TG.COMPARATOR),
    LiteralField(name="threshold", predicate=TG.THRESHOLD),
    LiteralField(name="softness", predicate=TG.SOFTNESS),
    LiteralField(name="unit", predicate=TG.UNIT_SYMBOL),
    derived_from(),
    derived=unit_of,
)

HARDWARE_PROFILE = NounTable(
    HardwareProfile,
    TG.HARDWARE_PROFILE,
    *concept_fields(),
    EnumField(name="level", predicate=TG.LEVEL, choices=Level),
    LinkField(name="broader", predicate=Shared.BROADER, iri=iris.hardware_iri),
    _facts(),
    LiteralField(name="ambiguous", predicate=TG.AMBIGUOUS),
    LinkField(name="assumed", predicate=TG.ASSUMED_DEVICE, iri=iris.hardware_iri),
    LinkField(name="device", predicate=TG.CONTAINS_DEVICE, iri=iris.hardware_iri),
    LiteralField(name="device_count", predicate=TG.DEVICE_COUNT),
    iri=lambda profile: iris.hardware_iri(profile.id),
    from_id=iris.hardware_iri,
    derived=_keys_and_matches,
    identity="id",
)

MODEL_FAMILY = NounTable(
    ModelFamily,
    TG.MODEL_FAMILY,
    *concept_fields(),
    iri=lambda family: iris.family_iri(family.id),
    from_id=iris.family_iri,
    derived=concept_keys,
    identity="id",
)

MODEL = NounTable(
    Model,
    TG.MODEL,
    *concept_fields(),
    LinkField(name="family", predicate=TG.FAMILY, iri=iris.family_iri),
    LiteralField(name="architecture", predicate=TG.ARCHITECTURE),
    _facts(),
    iri=lambda model: iris.model_iri(model.id),
    from_id=iris.model_iri,
    derived=_keys_and_matches,
    identity="id",
)

BOTTLENECK = NounTable(
    Bottleneck,
    TG.BOTTLENECK,
    *concept_fields(),
    LinkField(name="broader", predicate=Shared.BROADER, iri=iris.bottleneck_iri),
    Statements(name="symptoms", predicate=TG.HAS_SYMPTOM, table=SYMPTOM),
    _causes(),
    iri=lambda bottleneck: iris.bottleneck_iri(bottleneck.id),
    from_id=iris.bottleneck_iri,
    derived=concept_keys,
    identity="id",
)

CAUSE = NounTable(
    Cause,
    TG.CAUSE,
    *concept_fields(),
    derived_from(),
    _causes(),
    iri=lambda cause: iris.cause_iri(cause.id),
    from_id=iris.cause_iri,
    derived=concept_keys,
    identity="id",
)

GRID_REGION = NounTable(
    GridRegion,
    TG.GRID_REGION,
    *concept_fields(),
    iri=lambda region: iris.region_iri(region.id),
    from_id=iris.region_iri,
    derived=concept_keys,
    identity="id",
)

GREEN_SCHEDULE = NounTable(
    GreenSchedule,
    TG.GREEN_SCHEDULE,
    LinkField(name="region", predicate=TG.REGION, iri=iris.region_iri),
    LiteralField(name="start_hour", predicate=TG.START_HOUR),
    LiteralField(name="end_hour", predicate=TG.END_HOUR),
    LiteralField(name="carbon_intensity_g_per_kwh", predicate=TG.CARBON_INTENSITY),
    derived_from(),
    iri=lambda schedule: iris.schedule_iri(schedule.id),
    from_id=iris.schedule_iri,
)
