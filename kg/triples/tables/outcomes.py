"""Outcomes of A/B tests."""

from __future__ import annotations

from datetime import datetime

from kg.nouns.outcomes import Outcome
from kg.triples import vocabulary as names
from kg.triples.tables.common import derived_from
from kg.triples.tables.fields import Decoded, LinkField, Packed, Plain
from kg.triples.tables.table import NounTable
from kg.triples.vocabulary import TG, XSD_DATE_TIME, Shared

OUTCOME = NounTable(
    Outcome,
    TG.OUTCOME,
    LinkField(name="problem", predicate=Shared.USED, iri=names.problem_iri),
    Plain(name="metric", predicate=TG.METRIC),
    Packed(name="configuration", predicate=TG.TRIED, always=True),
    Packed(name="control", predicate=TG.TRIED_AGAINST),
    Plain(name="verdict", predicate=TG.VERDICT),
    Plain(name="scheme", predicate=TG.SCHEME),
    Plain(name="pairs", predicate=TG.PAIRS, always=True),
    Plain(name="alpha", predicate=TG.ALPHA),
    Plain(name="margin", predicate=TG.MARGIN),
    Decoded(
        name="time",
        predicate=Shared.ENDED_AT,
        encode=names.time_text,
        decode=datetime.fromisoformat,
        datatype=XSD_DATE_TIME,
    ),
    derived_from(),
    Plain(name="gain", predicate=TG.LOG_GAIN),
    Plain(name="low", predicate=TG.LOG_GAIN_LOW),
    Plain(name="high", predicate=TG.LOG_GAIN_HIGH),
    Plain(name="p", predicate=TG.P_VALUE),
    Plain(name="failures", predicate=TG.FAILED_RUNS),
    LinkField(name="strategy", predicate=TG.OF_STRATEGY, iri=names.strategy_iri),
    LinkField(name="bottleneck", predicate=TG.OF_BOTTLENECK, iri=names.bottleneck_iri),
    Plain(name="recommendation", predicate=TG.RECOMMENDATION),
    iri=lambda outcome: names.outcome_iri(outcome.id),
    from_id=names.outcome_iri,
    identity="id",
)
