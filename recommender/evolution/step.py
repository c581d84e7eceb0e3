"""One step of evolution: what the outcomes so far change in the graph, reckoned and not yet written.

Refits how reliable sources are and how far evidence carries, judges hypotheses by their tests, revises
conflicts, ranks strategies for hardware that is new, and proposes what to try next. Same graph, same step.
"""

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from kg.errors import UnknownEntityError
from kg.nouns.effects import Context, Effect
from kg.nouns.entities import Hardware, Problem, Source, Trust
from kg.nouns.gain import factor_text
from kg.nouns.knowledge import CONFIRMED, HYPOTHESIS, REFUTED, Level, Strategy
from kg.nouns.outcomes import Outcome
from kg.rows.gains import gains_with_sources, problems_with_strategies
from kg.rows.trials import TrialStore
from kg.terms.phases import STEP_PHASE
from kg.triples.finders import families_of_models, outcomes_of
from kg.triples.graph import GraphStore
from kg.triples.hardware_tree import Distance, HardwareTree
from kg.triples.serialisation import all_of, from_graph
from recommender.evolution.components import fit_components
from recommender.evolution.hypotheses import Hypothesis
from recommender.evolution.incompatibilities import failed_strategies, revise_conflicts
from recommender.evolution.proposing import ProposalSetting, interpolate, recombine, transfer
from recommender.evolution.reliabilities import DistrustedSource, distrusted_sources, source_gains
from recommender.evolution.screening import HypothesisScreen
from recommender.ranking.changes.posterior import EQUAL, Components
from recommender.ranking.changes.prior import effect_state
from recommender.ranking.changes.strategies import StrategyRanker
from recommender.ranking.measured.near_runs import NearRuns


def judge_hypotheses(graph: GraphStore) -> list[tuple[Strategy, str]]:
    """Proposed strategies whose state outcomes have changed, as they are now, each with the reason.

    A later outcome may confirm what an earlier refuted, and the other way round.
    """
    changed = []
    for strategy in all_of(graph, Strategy):
        if strategy.kind not in {HYPOTHESIS, CONFIRMED, REFUTED}:
            continue
        outcomes = outcomes_of(graph, strategy.id)
        kind, reason = verdict(outcomes)
        if kind and kind != strategy.kind:
            changed.append((replace(strategy, kind=kind), reason))
    return changed


def verdict(outcomes: Sequence[Outcome]) -> tuple[str, str]:
    """Judge a hypothesis by outcomes, with the reason; empty while no test has decided.

    Each decided test counts once: more that found it better than not confirm it, as many or fewer refute it.
    """
    decided = [item for item in outcomes if item.verdict != "undecided" or item.treatment_never_ran]
    if not decided:
        return "", ""
    better = [item for item in decided if item.verdict == "better" and not item.treatment_never_ran]
    newest = decided[-1]
    if newest.treatment_never_ran and not better:
        return REFUTED, f"it never ran: {newest.failures} runs failed ({newest.source.title})"
    gain = "" if newest.gain is None else f" {math.exp(newest.gain):.3g}x"
    reason = (
        f"{len(better)} of {len(decided)} tests found it better, the newest{gain} ({newest.source.title})"
    )
    return (CONFIRMED if 2 * len(better) > len(decided) else REFUTED), reason


OF_AN_ORIGIN, OF_A_PARENT = 3, 2
"""New hypotheses of one context that were made alike, and that have a parent in common, at most, in one step:
choices."""

LOOKED_AT = 50
"""Problems of one hardware, operator, model and metric that are looked at for their bottlenecks; of more,
these stand for all."""

SHOWN = 3
"""Strategies that are named for new hardware."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EvolutionChanges:
    """The changes of one step of evolution.

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
) -> EvolutionChanges:
    """Compute one step of evolution.

    Args:
        graph: The graph; it is only read.
        trials: The rows.
        tree: The hardware.
        known_hardware: Ids of the hardware that the step before knew; None before the first.
        components: As they are now.
        most: New hypotheses at most.
    """
    log: list[str] = []
    effects = list(all_of(graph, Effect))
    now = fit_components(effects, tree)
    if now != components:
        log.append(
            f"gains differ by hardware {now.hardware:.0%}, by model family {now.family:.0%},"
            f" by neither {now.own:.0%} (before {components.hardware:.0%}, {components.family:.0%},"
            f" {components.own:.0%})"
        )
    sources = {source.id: source for source in all_of(graph, Source)}
    told = list(gains_with_sources(trials))
    bad = distrusted_sources(
        source_gains(graph, told), tree, {key: item.trust for key, item in sources.items()}, now
    )
    log += [_distrust(item, sources[item.source]) for item in bad]
    changed: dict[str, Strategy] = {}
    for strategy, reason in judge_hypotheses(graph):
        changed[strategy.id] = strategy
        log.append(f"{strategy.kind} {strategy.label} ({strategy.id}): {reason}")
    for strategy in revise_conflicts(graph, failed_strategies(graph)):
        before = changed.get(strategy.id, strategy)
        changed[strategy.id] = replace(before, conflicts_with=strategy.conflicts_with)
        log.append(f"{strategy.label} excludes {_targets(strategy)}, as tests found")
    log += _drifts(effects)
    ranker = StrategyRanker(graph, tree, now, trials, told)
    places = _places(graph, trials, tree)
    new = _new_devices(tree, known_hardware)
    fresh = [place for device in new for place in _nearest(device, places, tree)]
    for place in fresh:
        ranked, _ = ranker.rank(place.problem, traced=False)
        best = "; ".join(f"{item.strategy.label} {factor_text(item.gain)}" for item in ranked[:SHOWN])
        log.append(
            f"{place.problem.hardware.name} is new: for {place.family or 'any model'} {best or 'nothing'}"
        )
    there = {strategy.id for strategy in all_of(graph, Strategy)}
    screen = HypothesisScreen(graph, tree, NearRuns(trials, graph, tree).about)
    hypotheses = _hypotheses([*places, *fresh], ranker, screen, tree, there, log)
    kept = _chosen(hypotheses, most)
    for item in kept:
        changed[item.strategy.id] = item.strategy
        modelled = "" if item.modelled is None else f", modelled {math.exp(item.modelled):.2f}x"
        log.append(
            f"proposed {item.strategy.label} ({item.strategy.id}) on {item.context.hardware}: {item.origin},"
            f" {item.reason}; expected {factor_text(item.gain)}{modelled}; a test is worth"
            f" {100 * item.value:.2f} % a problem"
        )
    return EvolutionChanges(
        strategies=tuple(changed.values()),
        trusts={item.source: Trust.LOW for item in bad},
        components=now,
        hypotheses=tuple(kept),
        changelog=tuple(log),
    )


def _places(graph: GraphStore, trials: TrialStore, tree: HardwareTree) -> list[_Place]:
    """Return the contexts in which strategies were tried, each with a problem that stands for it.

    A test needs a device: what is only known of a family or a vendor is no place for one.
    """
    families = families_of_models(graph)
    places: dict[tuple[object, ...], _Place] = {}
    for group in problems_with_strategies(trials):
        hardware, identifiers = group.hardware, group.problems
        node = tree.node(hardware)
        if node is None or node.level not in {Level.DEVICE, Level.SERVER}:
            continue
        looked_at = identifiers[:LOOKED_AT]
        for identifier in looked_at:
            try:
                problem = from_graph(graph, Problem, identifier)
            except UnknownEntityError:
                continue
            if problem.workload.kind not in STEP_PHASE:
                break
            family = families.get(problem.workload.model or "", "")
            key = (
                problem.workload.kind, hardware, family, problem.objective.metric,
                tuple(sorted(problem.bottlenecks)),
            )  # fmt: skip
            place = places.setdefault(key, _Place(problem=problem, family=family, problems=0))
            place.problems += round(len(identifiers) / len(looked_at))
    return list(places.values())


def _new_devices(tree: HardwareTree, before: frozenset[str] | None) -> list[str]:
    if before is None:
        return []
    fresh = [name for name in tree.ids() if name not in before]
    nodes = ((name, tree.node(name)) for name in fresh)
    return [name for name, node in nodes if node is not None and node.level is Level.DEVICE]


def _nearest(device: str, places: Sequence[_Place], tree: HardwareTree) -> list[_Place]:
    """Return the places of the nearest hardware with a new device instead; none where no vendor is shared."""
    distances = [(tree.distance(device, place.problem.hardware.name), place) for place in places]
    nearest = min((distance for distance, _ in distances), default=None)
    if nearest is None or nearest is Distance.OTHER_VENDOR:
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
    screen: HypothesisScreen,
    tree: HardwareTree,
    there: set[str],
    log: list[str],
) -> list[Hypothesis]:
    hypotheses: dict[str, Hypothesis] = {}
    dropped: Counter[str] = Counter()
    for place in places:
        problem = place.problem
        ranked, _ = ranker.rank(problem, traced=False)
        names = list(problem.bottlenecks)
        setting = ProposalSetting(
            context=Context(
                bottleneck=names[0] if len(names) == 1 else "",
                hardware=problem.hardware.name,
                family=place.family,
            ),
            ranked=ranked,
            phase=STEP_PHASE[problem.workload.kind].scope,
            problems=place.problems,
            elsewhere=ranker.elsewhere(problem) if problem.bottlenecks else (),
        )
        for item in (*recombine(setting), *transfer(setting, tree), *interpolate(setting)):
            if item.strategy.id in there or item.strategy.id in hypotheses:
                continue
            screened = screen.check(problem, item.strategy.configuration)
            if screened.is_dropped:
                dropped[screened.reason.partition(" 0.")[0]] += 1
                continue
            hypotheses[item.strategy.id] = replace(item, modelled=screened.gain)
    for reason, number in dropped.items():
        log.append(f"{number} proposals dropped by the cost model: {reason}")
    return list(hypotheses.values())


def _chosen(hypotheses: Sequence[Hypothesis], most: int) -> list[Hypothesis]:
    """Choose the most valuable, a few of each context and parent: tests of kin teach the same."""
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


def _drifts(effects: Iterable[Effect]) -> list[str]:
    lines = []
    for effect in effects:
        state = effect_state(effect)
        if state is not None and state.drift:
            lines.append(f"{effect.strategy} on {effect.context.hardware}, {effect.metric}: {state.drift}")
    return sorted(lines)


def _distrust(item: DistrustedSource, source: Source) -> str:
    return (
        f"distrusted {source.title} ({item.source}): its {item.gains} gains are {math.sqrt(item.z2):.1f}"
        f" standard deviations from what all others make one expect"
    )


def _targets(strategy: Strategy) -> str:
    return (
        ", ".join(sorted({item.target for item in strategy.conflicts_with if item.target})) or "nothing more"
    )
