"""Strategies of the graph that fit a question, with the gain to expect and what it rests on."""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property

from kg.nouns.effects import Context, Effect
from kg.nouns.entities import Configuration, Problem, Source
from kg.nouns.framework import Framework
from kg.nouns.gain import Gain
from kg.nouns.knowledge import HYPOTHESIS, REFUTED, FactKind, Level, Model, Strategy
from kg.nouns.values import Settings
from kg.rows.gains import RowGain
from kg.rows.trials import TrialStore
from kg.terms.circumstances import SIZES
from kg.terms.conditions import FactValue, Truth
from kg.terms.metrics import OPERATOR_TIME, SAME_GAIN, metrics_of_same_gain
from kg.triples.finders import ModelFinder, StrategyFinder, broader, sources_of_effect
from kg.triples.graph import GraphStore
from kg.triples.hardware_tree import Distance, HardwareTree
from kg.triples.serialisation import all_of
from recommender.applicability.circumstances import baseline_truth, other_framework
from recommender.applicability.gate import Applicability, judge
from recommender.applicability.question_facts import question_facts
from recommender.applicability.scope import Scope, Scopes, already_set, exclusions, kinds_of, version_conflict
from recommender.ranking.change import SourceInfluence
from recommender.ranking.changes.bottlenecks import Match, ObservedBottlenecks
from recommender.ranking.changes.posterior import EQUAL, KIND_TRUST, Components, ObservedEffect, posterior
from recommender.ranking.changes.prior import Prior, effect_state
from recommender.ranking.changes.ranked_strategy import RankedStrategy, SeenEffect
from recommender.ranking.changes.shares import balanced_effects
from recommender.ranking.changes.treatment_failures import TreatmentFailures
from recommender.ranking.feasibility.feasibility import Refusal
from recommender.ranking.model_traits import accuracy_with

_WITHIN = {
    Level.DEVICE: Distance.SAME_DEVICE,
    Level.SERVER: Distance.SAME_DEVICE,
    Level.FAMILY: Distance.SIBLING,
    Level.ARCHITECTURE: Distance.SAME_ARCHITECTURE,
    Level.VENDOR: Distance.SAME_VENDOR,
}

_CAPACITY = frozenset({"memory-capacity"})
"""Strategies that free memory gain time only if the memory is then used, which no prior can say."""

MOST_HEARD = 32
"""Sources of the greatest weight in all, of which the most influential is sought: each takes a posterior."""


class StrategyRanker:
    """Ranks the strategies of one graph.

    Args:
        graph: The knowledge.
        tree: Its hardware.
        components: How the variance of gains between contexts divides.
        trials: Tell which source reported which gain, so that each has one vote; None to leave that out.
        gains: What the sources told, where that has been read already.
    """

    def __init__(
        self,
        graph: GraphStore,
        tree: HardwareTree,
        components: Components = EQUAL,
        trials: TrialStore | None = None,
        gains: Sequence[tuple[str, RowGain]] | None = None,
    ) -> None:
        self.graph = graph
        self._tree = tree
        self._components = components
        self._trials = trials
        self._gains = gains
        self._strategies = StrategyFinder(graph)
        self._models = ModelFinder(graph)
        self._sources_of: dict[tuple[object, ...], tuple[Source, ...]] = {}

    @cached_property
    def _scopes(self) -> Scopes:
        return Scopes(self.graph)

    @cached_property
    def _frameworks(self) -> list[Framework]:
        return list(all_of(self.graph, Framework))

    @cached_property
    def _effects(self) -> list[Effect]:
        return balanced_effects(self.graph, self._trials, self._gains)

    @cached_property
    def _failures(self) -> TreatmentFailures:
        return TreatmentFailures(self.graph)

    def rank(
        self, problem: Problem, *, beyond: bool = False, traced: bool = True
    ) -> tuple[list[RankedStrategy], list[Refusal]]:
        """Rank all strategies that fit, best first; list those that a rule refuses.

        What is only claimed, without an effect that tells of the question, is neither. Bottlenecks that were
        observed come first; without any, everything that fits is ranked.

        Args:
            problem: The question.
            beyond: Also what is for none of the observed bottlenecks.
            traced: With the source that moves each gain most, which takes a posterior for each source.
        """
        path = self._tree.path(problem.hardware.name)
        fitting = self._fitting(problem, path)
        return self._ranked(problem, fitting, beyond=beyond, traced=traced)

    def elsewhere(self, problem: Problem) -> list[RankedStrategy]:
        """Rank the strategies that would fit if they were not for other hardware only."""
        here = self._fitting(problem, self._tree.path(problem.hardware.name))
        every = {node for scope in self._scopes.by_id.values() for node in scope.hardware}
        others = {
            identifier: scope
            for identifier, scope in self._fitting(problem, tuple(every)).items()
            if identifier not in here
        }
        return self._ranked(problem, others, traced=False)[0]

    def _fitting(self, problem: Problem, path: tuple[str, ...]) -> dict[str, Scope]:
        model = self._models.of(problem)
        return self._scopes.fitting(problem, kinds_of(model), path)

    def _ranked(
        self, problem: Problem, scopes: dict[str, Scope], *, beyond: bool = False, traced: bool = True
    ) -> tuple[list[RankedStrategy], list[Refusal]]:
        family = self._family(problem.workload.model)
        observed = ObservedBottlenecks(self.graph, problem)
        comparable = [effect for effect in self._effects if _weighs(effect, problem)]
        whole = (effect for effect in comparable if effect.metric != OPERATOR_TIME)
        prior = Prior.of(whole, lambda effect: [source.id for source in self._sources(effect)])
        effects: dict[str, list[Effect]] = {}
        for effect in comparable:
            effects.setdefault(effect.strategy, []).append(effect)
        in_use = [
            item for item in map(self._strategies.strategy, scopes) if already_set(item, problem.current)
        ]
        model = self._models.of(problem)
        facts = question_facts(problem, self._tree, model)
        ranked: list[RankedStrategy] = []
        refused: list[Refusal] = []
        for identifier, scope in scopes.items():
            if scope.kind in {HYPOTHESIS, REFUTED}:
                continue
            strategy = self._strategies.strategy(identifier)
            match = observed.match(scope.mitigates)
            seen = self._seen(problem, match, effects.get(identifier, ()), facts)
            if strategy in in_use or (scope.kind == FactKind.CLAIMED and not seen):
                continue
            applies = judge(strategy, self._settled(strategy, model, facts), self._frameworks)
            if applies.truth is Truth.FAILS:
                refused.append(_not_here(strategy, applies))
                continue
            refusal = self._refusal(strategy, problem, in_use)
            if refusal is not None:
                refused.append(refusal)
                continue
            if observed and not match.bottleneck and not beyond:
                continue
            weighed = self._weigh(strategy, problem, family, match, seen, prior, facts, traced=traced)
            ranked.append(replace(weighed, provided=applies.because))
        ranked.sort(
            key=lambda item: (
                bool(item.provided),
                -item.score,
                not item.effects,
                not item.strategy.sets,
                -(item.match.share or 0),
                item.strategy.id,
            )
        )
        return ranked, refused

    @staticmethod
    def _settled(
        strategy: Strategy, model: Model | None, facts: Mapping[str, FactValue]
    ) -> Mapping[str, FactValue]:
        """The facts where published accuracy of the model settles what its weights lose in a format."""
        if model is None or strategy.accuracy == "unchanged" or facts.get("phase") == "training":
            return facts
        if accuracy_with(model.id, strategy.configuration):
            return {"accuracy_budget": True, **facts}
        return facts

    def has_one_for(self, configuration: Configuration) -> bool:
        """Return whether some strategy, fitting or not, sets exactly this configuration."""
        return any(
            strategy.configuration == configuration
            for parameter in list(configuration)[:1]
            for strategy in self._strategies.setting(parameter)
        )

    def ceiling(self, problem: Problem) -> float | None:
        """Return the log gain if all observed bottlenecks vanished; None if a share is unknown."""
        return ObservedBottlenecks(self.graph, problem).ceiling

    def _seen(
        self, problem: Problem, match: Match, effects: Iterable[Effect], facts: Mapping[str, FactValue]
    ) -> list[tuple[SeenEffect, ObservedEffect]]:
        """The effects that tell of a question, as shown and as weighed."""
        found: list[tuple[SeenEffect, ObservedEffect]] = []
        for effect in effects:
            state = effect_state(effect)
            if state is None or (mean := _of_the_whole(state.mean, effect, match)) is None:
                continue
            baseline = baseline_truth(effect.context.against, facts)
            if baseline is Truth.FAILS:  # a gain over what does not run here
                continue
            sources = self._sources(effect)
            trust = min((*(source.trust.weight for source in sources), effect.trust.weight, 1.0))
            trust *= KIND_TRUST.get(effect.kind, 0.0)
            shown = SeenEffect(
                effect=effect,
                trust=trust,
                distance=self._distance(problem.hardware.name, effect.context.hardware),
                sources=sources,
                drift=state.drift,
                runs_baseline=baseline is Truth.HOLDS,
            )
            weighed = ObservedEffect(
                context=effect.context,
                mean=mean,
                n=state.n,
                trust=trust,
                framework=other_framework(effect.context.facts, facts, self._frameworks),
            )
            found.append((shown, weighed))
        return found

    def _weigh(
        self,
        strategy: Strategy,
        problem: Problem,
        family: str,
        match: Match,
        found: Sequence[tuple[SeenEffect, ObservedEffect]],
        prior: Prior,
        facts: Mapping[str, FactValue],
        *,
        traced: bool,
    ) -> RankedStrategy:
        seen, evidence = [one for one, _ in found], [one for _, one in found]
        gain = influence = None
        if (
            evidence
            or problem.objective.metric == "peak_memory"
            or not self._kinds(match.through) >= _CAPACITY
        ):
            context = Context(
                bottleneck=match.bottleneck,
                hardware=problem.hardware.name,
                family=family,
                facts=Settings({name: facts[name] for name in SIZES if name in facts}),
            )
            expected, weights = posterior(prior, evidence, context, self._tree.distance, self._components)
            gain = expected.capped(match.ceiling)

            def without(source: str) -> Gain:
                kept = [
                    item
                    for item, of in zip(evidence, seen, strict=True)
                    if all(other.id != source for other in of.sources)
                ]
                left, _ = posterior(prior, kept, context, self._tree.distance, self._components)
                return left.capped(match.ceiling)

            sources = {source.id: source for item in seen for source in item.sources}
            heard = dict.fromkeys(sources, 0.0)
            for weight, item in zip(weights, seen, strict=True):
                for source in item.sources:
                    heard[source.id] += abs(weight)
            loudest = sorted(heard, key=lambda name: -heard[name])[: MOST_HEARD if traced else 0]
            influence = most_influential(gain, {name: sources[name] for name in loudest}, without)
            seen = [replace(item, weight=weight) for item, weight in zip(seen, weights, strict=True)]
        seen.sort(key=lambda item: (-abs(item.weight), -item.trust, item.effect.context.hardware))
        return RankedStrategy(
            strategy=strategy,
            gain=gain,
            match=match,
            effects=tuple(seen),
            distance=min((item.distance for item in seen), default=None),
            prior=prior,
            conflicts=tuple(sorted(item.target for item in strategy.conflicts_with if item.target)),
            influence=influence,
        )

    def _refusal(self, strategy: Strategy, problem: Problem, in_use: Sequence[Strategy]) -> Refusal | None:
        def refusal(rule: str, reason: str, source: str) -> Refusal:
            return Refusal(
                configuration=strategy.configuration,
                rule=rule,
                reason=f"{strategy.label}: {reason}",
                source=source,
            )

        wrong_version = version_conflict(strategy, problem.software)
        if wrong_version is not None:
            reason, source = wrong_version
            return refusal("the version has it", reason, _cited(source))
        for relation in strategy.contraindicated_by:
            if relation.target and relation.target in problem.bottlenecks:
                return refusal("it does harm there", f"with {relation.target}", _cited(relation.source))
        for other, relation in exclusions(strategy, in_use):
            reason = f"{other.label} is set, and the two exclude each other"
            return refusal("it goes with what is set", reason, _cited(relation.source))
        failed = self._failures.of(strategy.id, problem)
        if failed is not None:
            reason = f"it failed in {failed.failures} runs, and never ran"
            return refusal("it runs there", reason, _cited(failed.source))
        return None

    def _family(self, model: str | None) -> str:
        known_model = self._models.find(model)
        return known_model.family if known_model else ""

    def _distance(self, hardware: str, seen: str) -> Distance:
        """Return the distance of an effect; one of a family or vendor is as far as its members are apart."""
        path = self._tree.path(hardware)
        if seen not in path:
            return self._tree.distance(hardware, seen) if seen else Distance.OTHER_VENDOR
        node = self._tree.node(seen)
        return _WITHIN[node.level] if node else Distance.OTHER_VENDOR

    def _sources(self, effect: Effect) -> tuple[Source, ...]:
        key = (effect.context, effect.strategy, effect.metric, effect.kind, effect.trust)
        if key not in self._sources_of:
            self._sources_of[key] = sources_of_effect(self.graph, effect)
        return self._sources_of[key]

    def _kinds(self, bottleneck: str) -> set[str]:
        """Return a bottleneck and all that it is a kind of."""
        kinds, open_ends = set(), [bottleneck] if bottleneck else []
        while open_ends:
            name = open_ends.pop()
            if name not in kinds:
                kinds.add(name)
                open_ends += broader(self.graph, name)
        return kinds


def _not_here(strategy: Strategy, applies: Applicability) -> Refusal:
    return Refusal(
        configuration=strategy.configuration,
        rule="where it applies",
        reason=f"{strategy.label}: {applies.because}",
        source=applies.source,
    )


def _weighs(effect: Effect, problem: Problem) -> bool:
    kind, metric = problem.workload.kind, problem.objective.metric
    of_step = any(metric in group for group in SAME_GAIN.get(kind, ()))
    return effect.metric in metrics_of_same_gain(metric, kind) or (of_step and effect.metric == OPERATOR_TIME)


def _of_the_whole(mean: float, effect: Effect, match: Match) -> float | None:
    """Convert a gain of an operator to one of the step: ``-ln(1 - share * (1 - exp(-gain)))``."""
    if effect.metric != OPERATOR_TIME:
        return mean
    if match.share is None or not match.bottleneck:
        return None
    return -math.log(max(1e-9, 1 - match.share * -math.expm1(-mean)))


def _cited(source: object) -> str:
    title, url = getattr(source, "title", ""), getattr(source, "url", "")
    return f"{title} {url}".strip()


def most_influential(
    gain: Gain, sources: Mapping[str, Source], without: Callable[[str], Gain]
) -> SourceInfluence | None:
    """The source without which the expected gain would change most; None where there is none.

    An effect that several sources speak for goes with each of them, so that is the most that a source can do.

    Args:
        gain: The expected gain.
        sources: Those it rests on, by id.
        without: The gain to expect without all that a source speaks for.
    """
    left = {name: without(name) for name in sources}
    if not left:
        return None
    name = max(sorted(left), key=lambda name: abs(gain.expected - left[name].expected))
    source = sources[name]
    return SourceInfluence(
        source=" ".join(part for part in (source.title, source.url) if part),
        gain=left[name],
        moved=gain.expected - left[name].expected,
    )
