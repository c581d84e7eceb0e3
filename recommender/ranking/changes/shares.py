"""Effects that several sources share, with one vote for each source, however many gains it told.

The graph counts the gains of an effect together, so a source that tells more would outvote the others there.
Here the mean of each source counts once, and their median takes the place of the common mean. So beside two
or more others one source cannot move an effect out of the range of theirs, whatever it claims; beside one
other it counts half. What no row accounts for, such as an imported effect, counts as one source more. One
of low trust has effects of its own and moves none of these.

Effects of one place that differ in their circumstances alone (lengths, batch, layout) have one level, that
median over all of them, so nobody gains votes by telling of many circumstances. How far each effect lies from
the level is what its sources say of themselves: the mean of their own differences.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from kg.nouns.effects import UNATS_PER_NAT, Effect, to_unats
from kg.rows.gains import GainContexts, RowGain, gains_with_sources
from kg.rows.trials import TrialStore
from kg.triples.finders import sources_of_effect
from kg.triples.graph import GraphStore
from kg.triples.serialisation import all_of
from recommender.ranking.changes.robust import weighted_median


def balanced_effects(
    graph: GraphStore, trials: TrialStore | None, gains: Sequence[tuple[str, RowGain]] | None = None
) -> list[Effect]:
    """Return every effect of a graph, those of several sources with one vote for each source.

    Args:
        graph: The graph.
        trials: Tell which source reported which gain; None leaves the effects as they are.
        gains: What the sources told, where that has been read; else it is read if need be.
    """
    effects = list(all_of(graph, Effect))
    if trials is None:
        return effects
    places: defaultdict[tuple[object, ...], list[Effect]] = defaultdict(list)
    for effect in effects:
        places[effect.context.place, effect.strategy, effect.metric, effect.kind, effect.trust].append(effect)
    shared = [group for group in places.values() if _is_shared(graph, group)]
    if not shared:
        return effects
    told = _told(graph, trials, gains, [effect for group in shared for effect in group])
    moved = {effect.about: effect for group in shared for effect in balanced(group, told)}
    return [moved.get(effect.about, effect) for effect in effects]


def _is_shared(graph: GraphStore, group: Sequence[Effect]) -> bool:
    if sum(effect.n for effect in group) < 2:
        return False
    return len({source.id for effect in group for source in sources_of_effect(graph, effect)}) > 1


def balanced(
    group: Sequence[Effect], told: Mapping[tuple[object, ...], Mapping[str, tuple[int, int]]]
) -> list[Effect]:
    """Return effects of one place whose level has one vote for each source.

    Args:
        group: The effects.
        told: Number and sum of the gains by source, in millionths of a nat, by what each effect is about.
    """
    parts = {effect.about: _parts(effect, told[effect.about]) for effect in group}
    means: defaultdict[str, list[tuple[int, int]]] = defaultdict(list)
    for by_source in parts.values():
        for source, part in by_source.items():
            means[source].append(part)
    levels = {
        source: sum(total for _, total in said) / sum(n for n, _ in said) / UNATS_PER_NAT
        for source, said in means.items()
    }
    if len(levels) < 2:
        return list(group)
    level = weighted_median(list(levels.values()), [1.0] * len(levels))
    moved = []
    for effect in group:
        apart = [total / n / UNATS_PER_NAT - levels[s] for s, (n, total) in parts[effect.about].items()]
        moved.append(_with_mean(effect, level + sum(apart) / len(apart)) if apart else effect)
    return moved


def _parts(effect: Effect, told: Mapping[str, tuple[int, int]]) -> dict[str, tuple[int, int]]:
    """Number and sum of the gains of each source, and of what no row accounts for; empty where it is more."""
    sums = {source: part for source, part in told.items() if part[0]}
    rest = effect.n - sum(n for n, _ in sums.values())
    if rest > 0:
        sums[""] = (rest, effect.sum_unats - sum(total for _, total in sums.values()))
    return sums if rest >= 0 else {}


def _with_mean(effect: Effect, mean: float) -> Effect:
    """The effect with another mean and the same spread."""
    moved = to_unats(mean * effect.n)
    about_mean = effect.n * effect.sum_squares_unats2 - effect.sum_unats**2
    return replace(effect, sum_unats=moved, sum_squares_unats2=-(-(about_mean + moved**2) // effect.n))


def _told(
    graph: GraphStore,
    trials: TrialStore,
    gains: Iterable[tuple[str, RowGain]] | None,
    shared: Iterable[Effect],
) -> dict[tuple[object, ...], dict[str, tuple[int, int]]]:
    """Number and sum of the gains of each source in each of some effects."""
    contexts = GainContexts(graph)
    wanted = {effect.about for effect in shared}
    trusts = {source: trials.trust_of(source) for source in {
        source.id for effect in shared for source in sources_of_effect(graph, effect)
    }}  # fmt: skip
    counts: defaultdict[tuple[object, ...], Counter[str]] = defaultdict(Counter)
    totals: defaultdict[tuple[object, ...], Counter[str]] = defaultdict(Counter)
    for source, gain in gains_with_sources(trials) if gains is None else gains:
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
