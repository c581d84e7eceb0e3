"""New strategies from known ones: two combined, one carried to another chip, a value between two tested ones.

Nothing here is random: the same graph proposes the same. What is proposed says what it was made from, and is
as specific as the evidence: it is for the one context that it was made for.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations, pairwise

from kg.nouns.effects import Context
from kg.nouns.entities import Source
from kg.nouns.gain import NORMAL_90, Gain
from kg.nouns.knowledge import HYPOTHESIS, REFUTED, Relation, Strategy
from kg.nouns.values import Value, digest
from kg.triples.hardware_tree import HardwareTree
from recommender.applicability.scope import exclusions
from recommender.evolution.hypotheses import BETWEEN, RECOMBINATION, TRANSFER, Hypothesis
from recommender.ranking.changes.ranked_strategy import RankedStrategy
from recommender.ranking.combination import CombinationPart, combine_gains

PARENTS = 8
"""The best strategies of a context that are combined with each other: 28 pairs. A choice."""

SOURCE = Source(title="Proposed by evolution", note="a hypothesis: not tested yet")
_NONE = Relation(target="", source=SOURCE)


@dataclass(frozen=True, slots=True, kw_only=True)
class ProposalSetting:
    """A context in which something may be proposed.

    Attributes:
        context: Bottleneck, hardware and family.
        ranked: The strategies that fit there, best first.
        phase: Training, or inference for serving.
        problems: How many known problems are of it.
        elsewhere: Strategies for other hardware that are for the same bottleneck.
    """

    context: Context
    ranked: Sequence[RankedStrategy]
    phase: str
    problems: int = 1
    elsewhere: Sequence[RankedStrategy] = ()

    @property
    def best(self) -> float:
        """Expected log gain of the best that is known; 0, as it is now, where nothing gains."""
        return max((item.gain.expected for item in self.ranked if item.gain is not None), default=0.0)


def recombine(setting: ProposalSetting) -> Iterator[Hypothesis]:
    """Propose two strategies at once that exclude each other in nothing."""
    able = [
        item
        for item in setting.ranked
        if item.gain is not None and item.gain.expected > 0 and item.strategy.sets and item.effects
    ]
    for one, other in combinations(able[:PARENTS], 2):
        clash = set(one.strategy.configuration) & set(other.strategy.configuration)
        if clash or any(exclusions(one.strategy, [other.strategy])):
            continue
        proposal = _strategy(
            f"{one.strategy.id}+{other.strategy.id}",
            f"{one.strategy.label} with {other.strategy.label}",
            (one.strategy, other.strategy),
            setting,
            sets={**_values(one.strategy), **_values(other.strategy)},
        )
        yield Hypothesis(
            strategy=proposal,
            origin=RECOMBINATION,
            context=setting.context,
            gain=_together(one, other),
            best=setting.best,
            reason=f"{one.strategy.id} and {other.strategy.id} gain apart and exclude each other in nothing",
            problems=setting.problems,
        )


def transfer(setting: ProposalSetting, tree: HardwareTree) -> Iterator[Hypothesis]:
    """Propose strategies known on other hardware only, where the same bottleneck is."""
    for item in setting.elsewhere:
        if item.gain is None or not item.strategy.sets or not item.strategy.hardware:
            continue
        near = min(
            (tree.distance(setting.context.hardware, node) for node in item.strategy.hardware), default=None
        )
        if near is None:
            continue
        proposal = _strategy(
            f"{item.strategy.id}@{setting.context.hardware}",
            f"{item.strategy.label} on {setting.context.hardware}",
            (item.strategy,),
            setting,
            sets=_values(item.strategy),
        )
        yield Hypothesis(
            strategy=proposal,
            origin=TRANSFER,
            context=setting.context,
            gain=item.gain,
            best=setting.best,
            reason=f"it is for {item.match.through} on {', '.join(item.strategy.hardware)},"
            f" {near.name.lower().replace('_', ' ')}",
            problems=setting.problems,
        )


def interpolate(setting: ProposalSetting) -> Iterator[Hypothesis]:
    """Propose a value between two tested values of the same parameter."""
    single: dict[str, list[tuple[float, RankedStrategy]]] = {}
    for item in setting.ranked:
        if len(item.strategy.sets) == 1 and item.gain is not None and item.effects:
            [assigned] = item.strategy.sets
            if isinstance(assigned.value, int | float) and not isinstance(assigned.value, bool):
                single.setdefault(assigned.parameter, []).append((float(assigned.value), item))
    for parameter, tested in single.items():
        tested.sort(key=lambda pair: pair[0])
        for (low, one), (high, other) in pairwise(tested):
            middle = value_between(low, high)
            if middle is None or one.gain is None or other.gain is None:
                continue
            proposal = _strategy(
                f"{parameter}={middle:g}",
                f"{parameter} = {middle:g}",
                (one.strategy, other.strategy),
                setting,
                sets={parameter: middle},
            )
            spread = abs(one.gain.expected - other.gain.expected)
            width = max(one.gain.high - one.gain.low, other.gain.high - other.gain.low) / 2
            mean = (one.gain.expected + other.gain.expected) / 2
            reach = math.hypot(width, NORMAL_90 * spread / 2)
            yield Hypothesis(
                strategy=proposal,
                origin=BETWEEN,
                context=setting.context,
                gain=Gain(expected=mean, low=mean - reach, high=mean + reach),
                best=setting.best,
                reason=f"{parameter} was tried at {low:g} and {high:g}",
                problems=setting.problems,
            )


def value_between(low: float, high: float) -> int | float | None:
    """Return a value between two: the geometric mean of sizes, a power of two between two of them.

    None where nothing lies between: two whole numbers in a row, or two powers of two in a row.
    """
    if not low < high:
        return None
    if low.is_integer() and high.is_integer():
        if low > 0 and _is_power(low) and _is_power(high):
            steps = math.log2(high / low)
            return int(low * 2 ** (steps // 2)) if steps >= 2 else None
        middle = round(math.sqrt(low * high)) if low > 0 else round((low + high) / 2)
        return middle if low < middle < high else None
    return math.sqrt(low * high) if low > 0 else (low + high) / 2


def _is_power(value: float) -> bool:
    return value >= 1 and math.log2(value).is_integer()


def _together(one: RankedStrategy, other: RankedStrategy) -> Gain:
    parts = [
        CombinationPart(
            id=item.strategy.id,
            bottleneck=item.match.bottleneck
            or min(item.strategy.mitigates, key=_target, default=_NONE).target,
            gain=item.gain,
            share=item.match.share if item.match.bottleneck else None,
        )
        for item in (one, other)
        if item.gain is not None
    ]
    return combine_gains(parts)


def _target(relation: Relation) -> str:
    return relation.target


def _values(strategy: Strategy) -> dict[str, Value]:
    return {item.parameter: item.value for item in strategy.sets}


def _strategy(
    name: str, label: str, parents: Sequence[Strategy], setting: ProposalSetting, *, sets: Mapping[str, Value]
) -> Strategy:
    context = setting.context
    first = parents[0]
    assigned = {item.parameter: item for parent in parents for item in parent.sets}
    return replace(
        first,
        id=f"h-{digest(name, context.hardware, context.family, context.bottleneck)[:10]}",
        labels={"en": label},
        aliases=(),
        definition=f"Proposed: {name}",
        kind=HYPOTHESIS,
        phases=(setting.phase,),
        families=(context.family,) if context.family else first.families,
        hardware=(context.hardware,) if context.hardware else first.hardware,
        applies_when=tuple(dict.fromkeys(item for parent in parents for item in parent.applies_when)),
        caveats=tuple(dict.fromkeys(item for parent in parents for item in parent.caveats)),
        sets=tuple(replace(assigned[parameter], value=value) for parameter, value in sets.items()),
        mitigates=tuple(dict.fromkeys(item for parent in parents for item in parent.mitigates)),
        requires=tuple(dict.fromkeys(item for parent in parents for item in parent.requires)),
        conflicts_with=tuple(dict.fromkeys(item for parent in parents for item in parent.conflicts_with)),
        contraindicated_by=tuple(
            dict.fromkeys(item for parent in parents for item in parent.contraindicated_by)
        ),
        since=tuple(dict.fromkeys(item for parent in parents for item in parent.since)),
        removed=tuple(dict.fromkeys(item for parent in parents for item in parent.removed)),
        accuracy=_accuracy(parents),
        sources=(SOURCE,),
        parents=tuple(parent.id for parent in parents if parent.kind != REFUTED),
    )


def _accuracy(parents: Sequence[Strategy]) -> str:
    for answer in ("may-change", "unknown"):
        if any(parent.accuracy == answer for parent in parents):
            return answer
    return "unchanged"
