"""Ranked strategies as changes: a few that differ, with what they rest on."""

import math
from collections.abc import Iterable, Sequence

from kg.nouns.entities import Problem, Source, Trust
from kg.nouns.knowledge import Strategy
from recommender.ranking.change import Change, Support, changes, recommendation_id
from recommender.ranking.changes.ranked_strategy import RankedStrategy, SeenEffect

SHOWN_EFFECTS = 4


def choose(ranked: Sequence[RankedStrategy], k: int) -> list[RankedStrategy]:
    """Choose k strategies: the best for each observed bottleneck in turn, none that excludes another.

    Two fixes of one bottleneck do not add up, so the second of a kind waits until each has its first.
    """
    chosen: list[RankedStrategy] = []
    waiting = list(ranked)
    while waiting and len(chosen) < k:
        counts = {item.match.bottleneck: 0 for item in waiting}
        for item in chosen:
            if item.match.bottleneck in counts:
                counts[item.match.bottleneck] += 1
        fewest = min(counts.values())
        item = next(item for item in waiting if counts[item.match.bottleneck] == fewest)
        waiting.remove(item)
        if not any(_exclude(item, other) for other in chosen):
            chosen.append(item)
    return chosen


def as_change(item: RankedStrategy, problem: Problem, version: str) -> Change:
    """Describe a ranked strategy as a change: settings, gain and evidence."""
    strategy = item.strategy
    configuration = changes(strategy.configuration, problem.current)
    ceiling = item.match.ceiling
    return Change(
        id=recommendation_id(problem, configuration, version, strategy.id),
        title=strategy.label,
        how=strategy.definition,
        configuration=configuration,
        flags=tuple(item.text for item in strategy.sets if item.parameter in configuration),
        gain=item.gain,
        against=item.against,
        basis=_basis(item),
        distance_class="" if item.distance is None else item.distance.name.lower(),
        bottleneck=item.match.bottleneck,
        ceiling=None if math.isinf(ceiling) else ceiling,
        parts={
            "closeness to the observed bottleneck": item.match.closeness,
            "prior mean": item.prior.mean,
            "prior deviation between strategies": item.prior.between_strategies,
            "deviation between contexts": item.prior.between_contexts,
            "deviation between problems of a context": item.prior.noise,
            "strategies behind the prior": float(item.prior.strategies),
        },
        evidence=tuple(_evidence(item)),
        conflicts=item.conflicts,
        conditions=(*([f"if {item.provided}"] if item.provided else []), *_conditions(strategy)),
        accuracy=strategy.accuracy,
        strategy=strategy.id,
        trust=max(
            (item.trust for item in strategy.sources), key=lambda trust: trust.weight, default=Trust.MEDIUM
        ),
        influence=item.influence,
    )


def _exclude(one: RankedStrategy, other: RankedStrategy) -> bool:
    return other.strategy.id in one.conflicts or one.strategy.id in other.conflicts


def _basis(item: RankedStrategy) -> str:
    if not item.effects:
        standing = f"{item.strategy.kind}, never measured here"
        if item.gain is None:
            return f"{standing}; it frees memory, and what that is worth here is not known"
        return f"{standing}; gain as of {item.prior.strategies} published strategies"
    number = sum(seen.effect.n for seen in item.effects)
    kinds = sorted({str(seen.effect.kind) for seen in item.effects})
    nearest = item.distance.name.lower().replace("_", " ") if item.distance is not None else "unknown"
    return f"{number} {'/'.join(kinds)} gain{'s' if number > 1 else ''}, nearest: {nearest}"


def _evidence(item: RankedStrategy) -> Iterable[Support]:
    total = sum(abs(seen.weight) for seen in item.effects)
    for seen in item.effects[:SHOWN_EFFECTS]:
        effect = seen.effect
        mean = effect.mean or 0.0
        where = (
            ", ".join(part for part in (effect.context.hardware, effect.context.family) if part) or "unknown"
        )
        place = effect.context
        against = f" against {place.baseline_text}" if place.against else ""
        at = f" at {place.facts_text}" if place.facts else ""
        about = f"{against}{at}{_dated(seen)}"
        yield Support(
            kind=str(effect.kind),
            says=f"{math.exp(mean):.2f}x {effect.metric} on {where} (n={effect.n}){about}",
            weight=abs(seen.weight) / total if total else None,
            source="; ".join(f"{source.title} {_place(source)}".strip() for source in seen.sources[:2]),
        )
    for source in item.strategy.sources[:SHOWN_EFFECTS]:
        yield Support(kind=item.strategy.kind, says=f"described in {source.title}", source=_place(source))


def _dated(seen: SeenEffect) -> str:
    """Describe when a test found the newest gain, and whether the effect has drifted."""
    last = seen.effect.last_evidence
    dated = f", last {last:%Y-%m-%d}" if last is not None and seen.effect.recent else ""
    return dated + (f", {seen.drift}" if seen.drift else "")


def _conditions(strategy: Strategy) -> Iterable[str]:
    for relation in strategy.requires:
        yield f"requires {relation.target}"
    for relation in strategy.contraindicated_by:
        yield f"avoid if {relation.target}"
    yield from (caveat.text for caveat in strategy.caveats)
    for bound in strategy.since:
        yield f"from {bound.software} {bound.version} on"


def _place(source: Source) -> str:
    path = "" if source.path in source.url else source.path
    return " ".join(part for part in (source.url, path, source.note) if part)
