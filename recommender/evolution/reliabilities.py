"""Reliability of sources: their gains compared with those that all others predict.

z: residual of a gain in standard deviations of its prediction from the other sources.

For a reliable source z**2 is 1 on average. One whose mean is far above is not believed on its word any more:
its trust becomes low, which takes its gains into effects of their own (``kg.rows.ledger``).
"""

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from kg.nouns.effects import UNATS_PER_NAT, Context, Effect
from kg.nouns.entities import Kind, Source, Trust
from kg.rows.gains import GainContexts, RowGain
from kg.triples.graph import GraphStore
from kg.triples.hardware_tree import HardwareTree
from kg.triples.serialisation import all_of
from recommender.ranking.changes.posterior import EQUAL, KIND_TRUST, Components, ObservedEffect, posterior
from recommender.ranking.changes.prior import PUBLICATION_SHRINKAGE, Prior, evenly_spread

LEAST = 5
"""Gains that a source must have told before it is judged."""

TOO_FAR = 6.0
"""Mean of z squared above which a source is distrusted. Of five gains of a reliable source it is passed once
in 100,000 if gains are normal (chi-squared, 5 degrees of freedom, 30); tails are heavier, hence no less."""

MOST_JUDGED = 32
"""Contexts of a source that are looked at, evenly over all: so many tell a mean of z squared within a quarter
(relative error sqrt(2 / 32)), and none is distrusted for less than six times what is expected."""

MOST_CONTEXTS = 128
"""Contexts of a strategy in which the other sources are heard, evenly over all: a prediction from n takes a
time of n cubed."""

_Kin = tuple[str, str]  # strategy and metric


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


def source_gains(graph: GraphStore, told: Iterable[tuple[str, RowGain]]) -> list[SourcedGain]:
    """Return gains with their contexts and trust, of those that sources told."""
    contexts = GainContexts(graph)
    trusts = {source.id: source.trust for source in all_of(graph, Source)}
    gains = []
    for source, gain in told:
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
    counts = Counter(item.source for item in gains)
    told: dict[str, dict[_Kin, dict[Context, list[float]]]] = {}
    kin: dict[_Kin, dict[tuple[Context, float], dict[str, list[float]]]] = {}
    for item in gains:
        if item.source not in bad:
            key = (item.strategy, item.metric)
            told.setdefault(item.source, {}).setdefault(key, {}).setdefault(item.context, []).append(
                item.gain
            )
            by_source = kin.setdefault(key, {}).setdefault((item.context, item.trust), {})
            by_source.setdefault(item.source, []).append(item.gain)
    prior = _prior(kin)
    # by context, so that the order in which gains came does not tell which are looked at
    shown = {
        key: evenly_spread(sorted(groups.items(), key=_name), MOST_CONTEXTS) for key, groups in kin.items()
    }
    results = []
    for source, by_kin in sorted(told.items()):
        if counts[source] < LEAST:
            continue
        squares, judged = 0.0, 0
        places = sorted(
            ((key, context) for key, contexts in by_kin.items() for context in contexts), key=repr
        )
        evidence = {key: _evidence(shown[key], source) for key in by_kin}
        for key, context in evenly_spread(places, MOST_JUDGED):
            if not evidence[key]:
                continue
            gain, _ = posterior(prior, evidence[key], context, tree.distance, components)
            squares += sum(((one - gain.expected) / gain.deviation) ** 2 for one in by_kin[key][context])
            judged += len(by_kin[key][context])
        if judged >= LEAST:
            results.append(DistrustedSource(source=source, gains=counts[source], z2=squares / judged))
    return results


def _name(group: tuple[tuple[Context, float], object]) -> str:
    return repr(group[0])


def _evidence(
    groups: Iterable[tuple[tuple[Context, float], Mapping[str, Sequence[float]]]], without: str
) -> list[ObservedEffect]:
    """Return what all sources but one tell of a strategy."""
    found = []
    for (context, trust), by_source in groups:
        gains = [gain for source, told in by_source.items() if source != without for gain in told]
        if gains:
            mean = math.fsum(gains) / len(gains)
            found.append(ObservedEffect(context=context, mean=mean, n=len(gains), trust=trust))
    return found


def _prior(kin: Mapping[_Kin, Mapping[tuple[Context, float], Mapping[str, Sequence[float]]]]) -> Prior:
    """Fit the prior to what is told, a vote a source, so that it need not be fitted without each of them."""
    gains: dict[tuple[Context, str, str], list[float]] = {}
    speakers: dict[tuple[Context, str, str], set[str]] = {}
    for (strategy, metric), groups in kin.items():
        for (context, _), by_source in groups.items():
            key = (context, strategy, metric)
            gains.setdefault(key, []).extend(gain for told in by_source.values() for gain in told)
            speakers.setdefault(key, set()).update(by_source)
    effects = [
        Effect(context=context, strategy=strategy, metric=metric, kind=Kind.MEASURED).add(told)
        for (context, strategy, metric), told in gains.items()
    ]
    return Prior.of(effects, lambda effect: speakers[effect.context, effect.strategy, effect.metric])
