"""Effects that several sources share, with one vote for each source, however many gains it told.

The graph counts the gains of an effect together, so a source that tells more would outvote the others there.
Here the mean of each source counts once, and their median takes the place of the common mean. So beside two
or more others one source cannot move an effect out of the range of theirs, whatever it claims; beside one
other it counts half. What no row accounts for, such as an imported effect, counts as one source more. One
of low trust has effects of its own and moves none of these.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import replace
from typing import TYPE_CHECKING

from kg.nouns.effects import UNATS_PER_NAT, Effect, to_unats
from kg.rows.gains import GainContexts, gains_with_sources
from kg.triples.finders import sources_of_effect
from kg.triples.serialisation import all_of
from recommender.ranking.changes.robust import weighted_median

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from kg.rows.trials import TrialStore
    from kg.triples.graph import GraphStore


def balanced_effects(graph: GraphStore, trials: TrialStore | None) -> list[Effect]:
    """Return every effect of a graph, those of several sources with one vote for each source.

    Args:
        graph: The graph.
        trials: Tell which source reported which gain; None leaves the effects as they are.
    """
    effects = list(all_of(graph, Effect))
    shared = [effect for effect in effects if effect.n > 1 and len(sources_of_effect(graph, effect)) > 1]
    if trials is None or not shared:
        return effects
    told = _told(graph, trials, shared)
    by_identity = {effect.about: balanced(effect, told[effect.about]) for effect in shared}
    return [by_identity.get(effect.about, effect) for effect in effects]


def balanced(effect: Effect, told: Mapping[str, tuple[int, int]]) -> Effect:
    """Return an effect whose mean has one vote for each source.

    Args:
        effect: The effect.
        told: Number and sum of the gains in it by source, in millionths of a nat.
    """
    sums = [(n, total) for n, total in told.values() if n]
    rest = effect.n - sum(n for n, _ in sums)
    if rest > 0:
        sums.append((rest, effect.sum_unats - sum(total for _, total in sums)))
    if rest < 0 or len(sums) < 2:
        return effect
    means = [total / n / UNATS_PER_NAT for n, total in sums]
    moved = to_unats(weighted_median(means, [1.0] * len(means)) * effect.n)
    about_mean = effect.n * effect.sum_squares_unats2 - effect.sum_unats**2
    return replace(effect, sum_unats=moved, sum_squares_unats2=-(-(about_mean + moved**2) // effect.n))


def _told(
    graph: GraphStore, trials: TrialStore, shared: Iterable[Effect]
) -> dict[tuple[object, ...], dict[str, tuple[int, int]]]:
    """Number and sum of the gains of each source in each of some effects."""
    contexts = GainContexts(graph)
    wanted = {effect.about for effect in shared}
    trusts = {source: trials.trust_of(source) for source in {
        source.id for effect in shared for source in sources_of_effect(graph, effect)
    }}  # fmt: skip
    counts: defaultdict[tuple[object, ...], Counter[str]] = defaultdict(Counter)
    totals: defaultdict[tuple[object, ...], Counter[str]] = defaultdict(Counter)
    for source, gain in gains_with_sources(trials):
        if source not in trusts:
            continue
        identity = (contexts.of(gain), gain.strategy, gain.metric, gain.kind, trusts[source])
        if identity in wanted:
            counts[identity][source] += 1
            totals[identity][source] += gain.unats
    return {
        identity: {source: (n, totals[identity][source]) for source, n in counts[identity].items()}
        for identity in wanted
    }
