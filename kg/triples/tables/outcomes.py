"""Outcomes of A/B tests."""

from datetime import datetime

from kg.nouns.outcomes import Outcome
from kg.triples import iris
from kg.triples.tables.common import derived_from
from kg.triples.tables.fields import Decoded, LinkField, LiteralField, Packed
from kg.triples.tables.table import NounTable
from kg.triples.vocabulary import TG, XSD_DATE_TIME, Shared

OUTCOME = NounTable(
    Outcome,
    TG.OUTCOME,
    LinkField(name="problem", predicate=Shared.USED, iri=iris.problem_iri),
    LiteralField(name="metric", predicate=TG.METRIC),
    Packed(name="configuration", predicate=TG.TRIED, always=True),
    Packed(name="control", predicate=TG.TRIED_AGAINST),
    LiteralField(name="verdict", predicate=TG.VERDICT),
    LiteralField(name="scheme", predicate=TG.SCHEME),
    LiteralField(name="pairs", predicate=TG.PAIRS, always=True),
    LiteralField(name="alpha", predicate=TG.ALPHA),
    LiteralField(name="margin", predicate=TG.MARGIN),
    Decoded(
        name="time",
        predicate=Shared.ENDED_AT,
        encode=iris.time_text,
        decode=datetime.fromisoformat,
        datatype=XSD_DATE_TIME,
    ),
    derived_from(predicate=Shared.SOURCE),  # an activity is derived from nothing
    LiteralField(name="gain", predicate=TG.LOG_GAIN),
    LiteralField(name="low", predicate=TG.LOG_GAIN_LOW),
    LiteralField(name="high", predicate=TG.LOG_GAIN_HIGH),
    LiteralField(name="p", predicate=TG.P_VALUE),
    LiteralField(name="failures", predicate=TG.FAILED_RUNS),
    LinkField(name="strategy", predicate=TG.OF_STRATEGY, iri=iris.strategy_iri),
    LinkField(name="bottleneck", predicate=TG.OF_BOTTLENECK, iri=iris.bottleneck_iri),
    LiteralField(name="recommendation", predicate=TG.RECOMMENDATION),
    Packed(name="layout", predicate=TG.LAYOUT),
    LinkField(name="recipes", predicate=TG.RESTS_ON, iri=iris.recipe_iri, many=True),
    iri=lambda outcome: iris.outcome_iri(outcome.id),
    from_id=iris.outcome_iri,
    identity="id",
)
