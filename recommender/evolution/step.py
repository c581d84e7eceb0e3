"""One step of evolution: what the outcomes so far change in the graph, reckoned and not yet written.

Refits how reliable sources are and how far evidence carries, judges hypotheses by their tests, revises
conflicts, ranks strategies for hardware that is new, and proposes what to try next. Same graph, same step.
"""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from kg.effects import Context, Effect
from kg.entities import Hardware, Problem, Source, Trust, WorkloadKind
from kg.errors import UnknownEntityError
from kg.knowledge import Level, Model, Strategy
from kg.serialisation import all_of, from_graph
from recommender.evolution.components import fitted
from recommender.evolution.incompatibilities import failed_strategies, revised
from recommender.evolution.proposing import Opportunity, between, recombined, transferred
from recommender.evolution.reliabilities import Distrusted, distrusted, told
from recommender.evolution.retiring import judged
from recommender.evolution.screening import Screen
from recommender.ranking.posterior import EQUAL, Components, standing
from recommender.ranking.recommendation import factor_text
from recommender.ranking.strategies import StrategyRanker

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from kg.graph import GraphStore
    from kg.hardware_tree import HardwareTree
    from kg.trials import TrialStore
    from recommender.evolution.hypotheses import Hypothesis

_TRIED = """
    SELECT p.id, p.hardware, p.operator, p.model, p.metric FROM problems AS p
    WHERE p.batch <= ?1 AND EXISTS (
        SELECT 1 FROM trials AS t WHERE t.problem = p.key AND t.strategy <> '' AND t.batch <= ?1
    ) ORDER BY p.id
"""
_PHASES = {WorkloadKind.TRAINING: "training", WorkloadKind.SERVING: "inference"}
OF_AN_ORIGIN, OF_A_PARENT = 3, 2
"""New hypotheses of one context that were made alike, and that have a parent in common, at most, in one step:
choices."""

LOOKED_AT = 50
"""Problems of one hardware, operator, model and metric that are looked at for their bottlenecks; of more,
these stand for all."""

SHOWN = 3
"""Strategies that are named for new hardware."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Evolved:
    """What a step changes.

    Attributes:
        strategies: New and changed strategies.
        trusts: Sources that are trusted otherwise from now on.
        components: How the variance between contexts divides.
        hypotheses: What is worth a test, the most valuable first; new ones are among ``strategies``.
        changelog: What changed and why, a line each.
    """

    strategies: tuple[Strategy, ...]
    trusts: dict[str, Trust]
    components: Components
    hypotheses: tuple[Hypothesis, ...]
    changelog: tuple[str, ...]


@dataclass(slots=True)
class _Place:
    """A context with a problem that stands for it."""

    problem: Problem
    family: str
    problems: int = 1


def evolve(
    graph: GraphStore,
    trials: TrialStore,
    tree: HardwareTree,
    *,
    known_hardware: frozenset[str] | None = None,
    components: Components = EQUAL,
    most: int = 10,
) -> Evolved:
    """One step.

    Args:
        graph: The graph; it is only read.
        trials: The rows.
        tree: The hardware.
        known_hardware: Ids of the hardware that the step before knew; None before the first.
        components: As they are now.
        most: New hypotheses at most.
    """
    log: list[str] = []
    now = fitted(all_of(graph, Effect), tree)
    if now != components:
        log.append(
            f"gains differ by hardware {now.hardware:.0%}, by model family {now.family:.0%},"
            f" by neither {now.own:.0%} (before {components.hardware:.0%}, {components.family:.0%},"
            f" {components.own:.0%})"
        )
    sources = {source.id: source for source in all_of(graph, Source)}
    bad = distrusted(told(graph, trials), tree, {key: item.trust for key, item in sources.items()}, now)
    log += [_distrust(item, sources[item.source]) for item in bad]
    changed: dict[str, Strategy] = {}
    for strategy, reason in judged(graph):
        changed[strategy.id] = strategy
        log.append(f"{strategy.kind} {strategy.label} ({strategy.id}): {reason}")
    for strategy in revised(graph, failed_strategies(graph)):
        before = changed.get(strategy.id, strategy)
        changed[strategy.id] = replace(before, conflicts_with=strategy.conflicts_with)
        log.append(f"{strategy.label} excludes {_targets(strategy)}, as tests found")
    log += _drifts(graph)
    ranker = StrategyRanker(graph, tree, now)
    places = _places(graph, trials, tree)
    new = _new_devices(tree, known_hardware)
    fresh = [place for device in new for place in _nearest(device, places, tree)]
    for place in fresh:
        ranked, _ = ranker.rank(place.problem)
        best = "; ".join(f"{item.strategy.label} {factor_text(item.gain)}" for item in ranked[:SHOWN])
        log.append(
            f"{place.problem.hardware.name} is new: for {place.family or 'any model'} {best or 'nothing'}"
        )
    there = {strategy.id for strategy in all_of(graph, Strategy)}
    hypotheses = _hypotheses([*places, *fresh], ranker, Screen(graph, tree), tree, there, log)
    kept = _chosen(hypotheses, most)
    for item in kept:
        changed[item.strategy.id] = item.strategy
        modelled = "" if item.modelled is None else f", modelled {math.exp(item.modelled):.2f}x"
        log.append(
            f"proposed {item.strategy.label} ({item.strategy.id}) on {item.context.hardware}: {item.origin},"
            f" {item.reason}; expected {factor_text(item.gain)}{modelled}; a test is worth"
            f" {100 * item.value:.2f} % a problem"
        )
    return Evolved(
        strategies=tuple(changed.values()),
        trusts={item.source: Trust.LOW for item in bad},
        components=now,
        hypotheses=tuple(kept),
        changelog=tuple(log),
    )


def _places(graph: GraphStore, trials: TrialStore, tree: HardwareTree) -> list[_Place]:
    """The contexts in which strategies were tried, each with a problem that stands for it.

    A test needs a device: what is only known of a family or a vendor is no place for one.
    """
    alike: dict[tuple[str, ...], list[str]] = {}
    for identifier, *shared in trials.file.read(_TRIED, trials.acknowledged):
        alike.setdefault(tuple(map(str, shared)), []).append(str(identifier))
    families = {model.id: model.family for model in all_of(graph, Model)}
    found: dict[tuple[object, ...], _Place] = {}
    for (hardware, *_), identifiers in alike.items():
        node = tree.node(hardware)
        if node is None or node.level not in {Level.DEVICE, Level.SERVER}:
            continue
        looked_at = identifiers[:LOOKED_AT]
        for identifier in looked_at:
            try:
                problem = from_graph(graph, Problem, identifier)
            except UnknownEntityError:
                continue
            if problem.workload.kind not in _PHASES:
                break
            family = families.get(problem.workload.model or "", "")
            key = (
                problem.workload.kind, hardware, family, problem.objective.metric,
                tuple(sorted(problem.bottlenecks)),
            )  # fmt: skip
            place = found.setdefault(key, _Place(problem=problem, family=family, problems=0))
            place.problems += round(len(identifiers) / len(looked_at))
    return list(found.values())


def _new_devices(tree: HardwareTree, known: frozenset[str] | None) -> list[str]:
    if known is None:
        return []
    fresh = [name for name in tree.ids() if name not in known]
    nodes = ((name, tree.node(name)) for name in fresh)
    return [name for name, node in nodes if node is not None and node.level is Level.DEVICE]


def _nearest(device: str, places: Sequence[_Place], tree: HardwareTree) -> list[_Place]:
    """What is asked on the nearest hardware, asked of a new device; nothing where no vendor is shared."""
    distances = [(tree.distance(device, place.problem.hardware.name), place) for place in places]
    nearest = min((distance for distance, _ in distances), default=None)
    if nearest is None or nearest.name == "OTHER_VENDOR":
        return []
    return [
        _Place(
            problem=replace(
                place.problem, hardware=Hardware(name=device, count=place.problem.hardware.count)
            ),
            family=place.family,
        )
        for distance, place in distances
        if distance == nearest
    ]


def _hypotheses(
    places: Iterable[_Place],
    ranker: StrategyRanker,
    screen: Screen,
    tree: HardwareTree,
    there: set[str],
    log: list[str],
) -> list[Hypothesis]:
    found: dict[str, Hypothesis] = {}
    dropped: Counter[str] = Counter()
    for place in places:
        problem = place.problem
        ranked, _ = ranker.rank(problem)
        names = list(problem.bottlenecks)
        setting = Opportunity(
            context=Context(
                bottleneck=names[0] if len(names) == 1 else "",
                hardware=problem.hardware.name,
                family=place.family,
            ),
            ranked=ranked,
            phase=_PHASES[problem.workload.kind],
            problems=place.problems,
            elsewhere=ranker.elsewhere(problem) if problem.bottlenecks else (),
        )
        for item in (*recombined(setting), *transferred(setting, tree), *between(setting)):
            if item.strategy.id in there or item.strategy.id in found:
                continue
            screened = screen.screened(problem, item.strategy.configuration)
            if screened.is_dropped:
                dropped[screened.reason.partition(" 0.")[0]] += 1
                continue
            found[item.strategy.id] = replace(item, modelled=screened.gain)
    for reason, number in dropped.items():
        log.append(f"{number} proposals dropped by the cost model: {reason}")
    return list(found.values())


def _chosen(hypotheses: Sequence[Hypothesis], most: int) -> list[Hypothesis]:
    """The most valuable, of each context and of each parent a few: tests of kin teach the same."""
    used: Counter[object] = Counter()
    kept: list[Hypothesis] = []
    for item in sorted(hypotheses, key=lambda one: (-one.value * one.problems, one.strategy.id)):
        parents = [(item.context, item.origin, parent) for parent in item.strategy.parents]
        alike = (item.context, item.origin)
        is_crowded = used[alike] >= OF_AN_ORIGIN or any(used[one] >= OF_A_PARENT for one in parents)
        if len(kept) < most and item.value > 0 and not is_crowded:
            kept.append(item)
            used.update([alike, *parents])
    return kept


def _drifts(graph: GraphStore) -> list[str]:
    lines = []
    for effect in all_of(graph, Effect):
        known = standing(effect)
        if known is not None and known.drift:
            lines.append(f"{effect.strategy} on {effect.context.hardware}, {effect.metric}: {known.drift}")
    return sorted(lines)


def _distrust(item: Distrusted, source: Source) -> str:
    return (
        f"distrusted {source.title} ({item.source}): its {item.gains} gains are {math.sqrt(item.z2):.1f}"
        f" standard deviations from what all others make one expect"
    )


def _targets(strategy: Strategy) -> str:
    return (
        ", ".join(sorted({item.target for item in strategy.conflicts_with if item.target})) or "nothing more"
    )
