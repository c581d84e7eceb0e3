"""Hardware, models, bottlenecks and causes, grid regions and their schedules."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kg.nouns.knowledge import (
    Bottleneck,
    Cause,
    CauseEdge,
    Confidence,
    Fact,
    FactKind,
    GreenSchedule,
    GridRegion,
    HardwareProfile,
    Level,
    Model,
    ModelFamily,
    Symptom,
)
from kg.triples import vocabulary as names
from kg.triples.tables.common import concept_fields, concept_keys, derived_from, unit_of
from kg.triples.tables.fields import EnumField, LinkField, Plain
from kg.triples.tables.table import NounTable, Statements
from kg.triples.vocabulary import TG, Shared, literal, named

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kg.triples.tables.fields import Field, Pair


def _fact_unit(fact: Fact) -> Iterator[Pair]:
    for suffix, symbol in _FACT_UNITS:
        if fact.name.endswith(suffix):
            yield Shared.UNIT, names.UNITS[symbol]
            return


_FACT_UNITS = (
    ("_bytes", "B"),
    ("_flops", "1/s"),
    ("_ops", "1/s"),
    ("_hz", "Hz"),
    ("_w", "W"),
)
"""Units that the names of facts end in; see docs/knowledge-format.md."""


FACT = NounTable(
    Fact,
    TG.FACT,
    Plain(name="name", predicate=TG.FACT_NAME),
    Plain(name="value", predicate=TG.VALUE),
    derived_from(),
    EnumField(name="kind", predicate=TG.FACT_KIND, choices=FactKind),
    EnumField(name="confidence", predicate=TG.CONFIDENCE, choices=Confidence),
    Plain(name="note", predicate=Shared.NOTE),
    derived=_fact_unit,
)


def _facts() -> Field:
    return Statements(
        name="facts",
        predicate=TG.HAS_FACT,
        table=FACT,
        plain=lambda fact: (named("property", fact.name), literal(fact.value)),
    )


CAUSE_EDGE = NounTable(
    CauseEdge,
    TG.CAUSE_EDGE,
    LinkField(name="cause", predicate=TG.TARGET, iri=names.cause_iri),
    EnumField(name="confidence", predicate=TG.CONFIDENCE, choices=Confidence),
    derived_from(),
)


def _causes() -> Field:
    return Statements(
        name="caused_by",
        predicate=TG.HAS_CAUSE_EDGE,
        table=CAUSE_EDGE,
        plain=lambda edge: (TG.CAUSED_BY, names.cause_iri(edge.cause)),
    )


SYMPTOM = NounTable(
    Symptom,
    TG.SYMPTOM,
    Plain(name="metric", predicate=TG.METRIC),
    Plain(name="comparator", predicate=TG.COMPARATOR),
    Plain(name="threshold", predicate=TG.THRESHOLD),
    Plain(name="softness", predicate=TG.SOFTNESS),
    Plain(name="unit", predicate=TG.UNIT_SYMBOL),
    derived_from(),
    derived=unit_of,
)

HARDWARE_PROFILE = NounTable(
    HardwareProfile,
    TG.HARDWARE_PROFILE,
    *concept_fields(),
    EnumField(name="level", predicate=TG.LEVEL, choices=Level),
    LinkField(name="broader", predicate=Shared.BROADER, iri=names.hardware_iri),
    _facts(),
    Plain(name="ambiguous", predicate=TG.AMBIGUOUS),
    LinkField(name="assumed", predicate=TG.ASSUMED_DEVICE, iri=names.hardware_iri),
    LinkField(name="device", predicate=TG.CONTAINS_DEVICE, iri=names.hardware_iri),
    Plain(name="device_count", predicate=TG.DEVICE_COUNT),
    iri=lambda profile: names.hardware_iri(profile.id),
    from_id=names.hardware_iri,
    derived=concept_keys,
    identity="id",
)

MODEL_FAMILY = NounTable(
    ModelFamily,
    TG.MODEL_FAMILY,
    *concept_fields(),
    iri=lambda family: names.family_iri(family.id),
    from_id=names.family_iri,
    derived=concept_keys,
    identity="id",
)

MODEL = NounTable(
    Model,
    TG.MODEL,
    *concept_fields(),
    LinkField(name="family", predicate=TG.FAMILY, iri=names.family_iri),
    Plain(name="architecture", predicate=TG.ARCHITECTURE),
    _facts(),
    iri=lambda model: names.model_iri(model.id),
    from_id=names.model_iri,
    derived=concept_keys,
    identity="id",
)

BOTTLENECK = NounTable(
    Bottleneck,
    TG.BOTTLENECK,
    *concept_fields(),
    LinkField(name="broader", predicate=Shared.BROADER, iri=names.bottleneck_iri),
    Statements(name="symptoms", predicate=TG.HAS_SYMPTOM, table=SYMPTOM),
    _causes(),
    iri=lambda bottleneck: names.bottleneck_iri(bottleneck.id),
    from_id=names.bottleneck_iri,
    derived=concept_keys,
    identity="id",
)

CAUSE = NounTable(
    Cause,
    TG.CAUSE,
    *concept_fields(),
    derived_from(),
    _causes(),
    iri=lambda cause: names.cause_iri(cause.id),
    from_id=names.cause_iri,
    derived=concept_keys,
    identity="id",
)

GRID_REGION = NounTable(
    GridRegion,
    TG.GRID_REGION,
    *concept_fields(),
    iri=lambda region: names.region_iri(region.id),
    from_id=names.region_iri,
    derived=concept_keys,
    identity="id",
)

GREEN_SCHEDULE = NounTable(
    GreenSchedule,
    TG.GREEN_SCHEDULE,
    LinkField(name="region", predicate=TG.REGION, iri=names.region_iri),
    Plain(name="start_hour", predicate=TG.START_HOUR),
    Plain(name="end_hour", predicate=TG.END_HOUR),
    Plain(name="carbon_intensity_g_per_kwh", predicate=TG.CARBON_INTENSITY),
    derived_from(),
    iri=lambda schedule: names.schedule_iri(schedule.id),
    from_id=names.schedule_iri,
)
