"""Contexts and the effects seen in them."""

import json
from datetime import datetime
from functools import lru_cache
from typing import Any

from pyoxigraph import NamedNode

from kg.nouns.effects import Context, DatedGain, Effect
from kg.nouns.entities import Kind, Trust
from kg.triples import iris
from kg.triples.tables.fields import Decoded, EnumField, LinkField, LiteralField, Spread, SubjectDraft
from kg.triples.tables.table import NounTable, Refer
from kg.triples.vocabulary import RDF_JSON, TG, XSD_DATE_TIME


@lru_cache(maxsize=1 << 12)
def context_node(context: Context) -> NamedNode:
    """Return the IRI of a context."""
    facts = context.facts.digest if context.facts else ""
    return iris.context_iri(
        context.bottleneck, context.hardware, context.family, context.baseline_text, facts
    )


CONTEXT = NounTable(
    Context,
    TG.CONTEXT,
    LinkField(name="bottleneck", predicate=TG.OF_BOTTLENECK, iri=iris.bottleneck_iri),
    LinkField(name="hardware", predicate=TG.HARDWARE, iri=iris.hardware_iri),
    LinkField(name="family", predicate=TG.FAMILY, iri=iris.family_iri),
    Spread(name="against", path="against"),
    Spread(name="facts", path="circumstance"),
    iri=context_node,
)


class _InContext(Refer):
    """The context of an effect, which has an edge back to it: effects are asked for by context."""

    __slots__ = ()

    def write(self, value: Any, draft: SubjectDraft) -> None:
        """Write an edge each way."""
        draft.others.describe(context_node(value), [(TG.HAS_EFFECT, draft.subject)])
        Refer.write(self, value, draft)


def _recent_text(recent: tuple[DatedGain, ...]) -> str:
    return json.dumps([[iris.time_text(item.time), item.id, item.unats] for item in recent])


def _recent(text: str) -> tuple[DatedGain, ...]:
    return tuple(
        DatedGain(time=datetime.fromisoformat(time), id=key, unats=unats)
        for time, key, unats in json.loads(text)
    )


EFFECT = NounTable(
    Effect,
    TG.EFFECT,
    _InContext(name="context", predicate=TG.OF_CONTEXT, table=CONTEXT),
    LinkField(name="strategy", predicate=TG.OF_STRATEGY, iri=iris.strategy_iri),
    LiteralField(name="metric", predicate=TG.METRIC),
    EnumField(name="kind", predicate=TG.EFFECT_KIND, choices=Kind),
    LiteralField(name="n", predicate=TG.SAMPLES, always=True),
    LiteralField(name="sum_unats", predicate=TG.SUM, always=True),
    LiteralField(name="sum_squares_unats2", predicate=TG.SUM_SQUARES, always=True),
    Decoded(
        name="last_evidence",
        predicate=TG.LAST_EVIDENCE,
        encode=iris.time_text,
        decode=datetime.fromisoformat,
        datatype=XSD_DATE_TIME,
    ),
    EnumField(name="trust", predicate=TG.TRUST, choices=Trust),
    Decoded(
        name="recent",
        predicate=TG.RECENT_GAINS,
        encode=_recent_text,
        decode=_recent,
        datatype=RDF_JSON,
    ),
    iri=lambda effect: iris.effect_iri(
        context_node(effect.context),
        effect.strategy,
        effect.metric,
        effect.kind,
        "" if effect.trust is Trust.MEDIUM else effect.trust.value,
    ),
    is_crowded=True,  # with its sources
)
