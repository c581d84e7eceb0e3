"""Reliability of sources: their gains compared with those that all others predict.

z: residual of a gain in standard deviations of its prediction from the other sources.

For a reliable source z**2 is 1 on average. One whose mean is far above is not believed on its word any more:
its trust becomes low, which takes its gains into effects of their own (``kg.rows.ledger``).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from kg.nouns.effects import UNATS_PER_NAT, Context, Effect
from kg.nouns.entities import Kind, Source, Trust
from kg.rows.gains import GainContexts, gains_with_sources
from kg.triples.serialisation import all_of
from recommender.ranking.changes.posterior import EQUAL, KIND_TRUST, Components, ObservedEffect, posterior
from recommender.ranking.changes.prior import PUBLICATION_SHRINKAGE, Prior

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kg.rows.trials import TrialStore
    from kg.triples.graph import GraphStore
    from kg.triples.hardware_tree import HardwareTree

LEAST = 5
"""Gains that a source must have told before it is judged."""

TOO_FAR = 6.0
"""Mean of z squared above which a source is distrusted. Of five gains of a reliable source it is passed once
in 100,000 if gains are normal (chi-squared, 5 degrees of freedom, 30); tails are heavier, hence no less."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SourcedGain:
    """A gain and who told it.

    Attributes:
        source: Id of the source.
        strategy: Id of the strategy.
        metric: What was measured.
        context: Where.
        gain: Log gain in nats, published ones shrunk.
        trust: How far its source and kind are trusted now, 0 to 1.
    """

    source: str
    strategy: str
    metric: str
    context: Context
    gain: float
    trust: float = 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class DistrustedSource:
    """A source that is too far from all others.

    Attributes:
        source: Its id.
        gains: How many gains it told.
        z2: Mean square of their residuals.
    """

    source: str
    gains: int
    z2: float


def source_gains(graph: GraphStore, trials: TrialStore) -> list[SourcedGain]:
    """Return every gain of every source in the rows."""
    contexts = GainContexts(graph)
    trusts = {source.id: source.trust for source in all_of(graph, Source)}
    gains = []
    for source, gain in gains_with_sources(trials):
        shrinkage = PUBLICATION_SHRINKAGE if gain.kind is Kind.PUBLISHED else 1.0
        trust = min(trusts.get(source, Trust.MEDIUM).weight, 1.0) * KIND_TRUST.get(gain.kind, 0.0)
        if trust <= 0:
            continue
        gains.append(
            SourcedGain(
                source=source,
                strategy=gain.strategy,
                metric=gain.metric,
                context=contexts.of(gain),
                gain=gain.unats / UNATS_PER_NAT * shrinkage,
                trust=trust,
            )
        )
    return gains


def distrusted_sources(
    gains: Sequence[SourcedGain],
    tree: HardwareTree,
    trusts: dict[str, Trust],
    components: Components = EQUAL,
) -> list[DistrustedSource]:
    """Return the sources that should be distrusted and are not yet, the farthest off first.

    One at a time is taken out and the others are judged again without it: a single bad source makes its
    neighbours look bad.
    """
    low = {source for source, trust in trusts.items() if trust is Trust.LOW}
    judged: list[DistrustedSource] = []
    while True:
        bad = low | {item.source for item in judged}
        candidates = [item for item in _residuals(gains, tree, components, bad) if item.z2 > TOO_FAR]
        if not candidates:
            return judged
        judged.append(max(candidates, key=lambda item: (item.z2, item.source)))


def _residuals(
    gains: Sequence[SourcedGain], tree: HardwareTree, components: Components, bad: set[str]
) -> list[DistrustedSource]:
    counts: dict[str, int] = {}
    for item in gains:
        counts[item.source] = counts.get(item.source, 0) + 1
    good = [item for item in gains if item.source not in bad]
    results = []
    for source, count in sorted(counts.items()):
        if count < LEAST or source in bad:
            continue
        others = [item for item in good if item.source != source]
        prior = Prior.of(_effects(others))
        kin: dict[tuple[str, str], list[SourcedGain]] = {}
        for item in others:
            kin.setdefault((item.strategy, item.metric), []).append(item)
        squares, judged = 0.0, 0
        for item in (one for one in gains if one.source == source):
            evidence = _evidence(kin.get((item.strategy, item.metric), ()))
            if not evidence:
                continue
            gain, _ = posterior(prior, evidence, item.context, tree.distance, components)
            deviation = gain.deviation
            squares += ((item.gain - gain.expected) / deviation) ** 2
            judged += 1
        if judged >= LEAST:
            results.append(DistrustedSource(source=source, gains=count, z2=squares / judged))
    return results


def _evidence(kin: Sequence[SourcedGain]) -> list[ObservedEffect]:
    grouped: dict[tuple[Context, float], list[float]] = {}
    for item in kin:
        grouped.setdefault((item.context, item.trust), []).append(item.gain)
    return [
        ObservedEffect(context=context, mean=math.fsum(gains) / len(gains), n=len(gains), trust=trust)
        for (context, trust), gains in grouped.items()
    ]


def _effects(sourced: Sequence[SourcedGain]) -> list[Effect]:
    grouped: dict[tuple[Context, str, str], list[float]] = {}
    for item in sourced:
        grouped.setdefault((item.context, item.strategy, item.metric), []).append(item.gain)
    return [
        Effect(context=context, strategy=strategy, metric=metric, kind=Kind.MEASURED).add(gains)
        for (context, strategy, metric), gains in grouped.items()
    ]
