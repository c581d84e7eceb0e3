"""Strategies of the graph that fit a question, with the gain to expect and what it rests on."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

from pyoxigraph import NamedNode

from kg.nouns.effects import Context, Effect
from kg.nouns.entities import Source, WorkloadKind
from kg.nouns.knowledge import HYPOTHESIS, REFUTED, Level, Model, Strategy
from kg.triples.hardware_tree import Distance
from kg.triples.serialisation import all_of, from_graph
from kg.triples.tables.effects import EFFECT
from kg.triples.vocabulary import TG, Shared, bottleneck_iri, name_of, parameter_iri
from recommender.applicability.scope import Scopes, already_set, exclusions, version_conflict
from recommender.ranking.changes.bottlenecks import Observed
from recommender.ranking.changes.influence import most_influential
from recommender.ranking.changes.posterior import (
    EQUAL,
    KIND_TRUST,
    ObservedEffect,
    Prior,
    posterior,
    standing,
)
from recommender.ranking.changes.treatment_failures import TreatmentFailures
from recommender.ranking.feasibility.feasibility import Refusal

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from kg.nouns.entities import Configuration, Problem
    from kg.nouns.gain import Gain
    from kg.triples.graph import GraphStore
    from kg.triples.hardware_tree import HardwareTree
    from recommender.applicability.scope import Scope
    from recommender.ranking.changes.bottlenecks import Match
    from recommender.ranking.changes.posterior import Components
    from recommender.ranking.recommendation import SourceInfluence

WHOLE = {
    WorkloadKind.TRAINING: frozenset(
        {"throughput", "step_time", "run_time", "compute_rate", "total_throughput"}
    ),
    WorkloadKind.SERVING: frozenset(
        {
            *(
                "throughput",
                "output_throughput",
                "total_throughput",
                "decode_throughput",
                "prefill_throughput",
            ),
            *("e2e_latency", "latency", "run_time", "tpot", "ttft", "time_per_output_token"),
            *("time_to_first_token", "prefill_time", "decode_time"),
        }
    ),
}
"""Metrics of a whole step or request: a gain in one stands for a gain in another."""

OPERATOR_TIME = "operator_time"
"""A gain in the time of one operator, which is a gain of the step only by the operator's share."""

_WITHIN = {
    Level.DEVICE: Distance.SAME_DEVICE,
    Level.SERVER: Distance.SAME_DEVICE,
    Level.FAMILY: Distance.SIBLING,
    Level.ARCHITECTURE: Distance.SAME_ARCHITECTURE,
    Level.VENDOR: Distance.SAME_VENDOR,
}

_CAPACITY = frozenset({"memory-capacity"})
"""What frees memory gains time only if the memory is then used: that is not for a prior to say."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SeenEffect:
    """An effect and how far it is trusted here.

    Attributes:
        effect: What was seen.
        trust: How far its sources and its kind are trusted, 0 to 1.
        distance: How far its hardware is.
        sources: Who says so.
        weight: How much the expected gain moves with it, 0 to 1.
        drift: When and how it changed, in words; empty if it did not.
    """

    effect: Effect
    trust: float
    distance: Distance
    sources: tuple[Source, ...] = ()
    weight: float = 0.0
    drift: str = ""

    def to_json(self) -> dict[str, object]:
        """Plain content."""
        mean = self.effect.mean
        return {
            "hardware": self.effect.context.hardware or None,
            "model_family": self.effect.context.family or None,
            "metric": self.effect.metric,
            "kind": str(self.effect.kind),
            "n": self.effect.n,
            "mean_factor": None if mean is None else round(math.exp(mean), 4),
            "distance_class": self.distance.name.lower(),
            "trust": round(self.trust, 4),
            "weight": round(self.weight, 4),
            "last_evidence": None
            if self.effect.last_evidence is None
            else self.effect.last_evidence.isoformat(timespec="seconds"),
            "drift": self.drift or None,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class RankedStrategy:
    """A strategy for one question.

    Attributes:
        strategy: What.
        gain: What to expect, within its ceiling; None for what frees memory and was never timed.
        match: Which observed bottleneck it is for.
        effects: What was seen of it elsewhere; empty if its gain rests on the prior alone.
        distance: Of the nearest effect; None without any.
        prior: What is expected of any strategy.
        conflicts: Ids of strategies that it excludes.
        influence: The source without which the expected gain would change most; None without any.
    """

    strategy: Strategy
    gain: Gain | None
    match: Match
    effects: tuple[SeenEffect, ...]
    distance: Distance | None
    prior: Prior
    conflicts: tuple[str, ...]
    influence: SourceInfluence | None = None

    @property
    def score(self) -> float:
        """Expected gain, less for what is for a more distant bottleneck."""
        expected = min(self.prior.mean, self.match.ceiling) if self.gain is None else self.gain.expected
        return expected * self.match.closeness


class StrategyRanker:
    """Ranks the strategies of one graph.

    Args:
        graph: The knowledge.
        tree: Its hardware.
        components: How the variance of gains between contexts divides.
    """

    def __init__(self, graph: GraphStore, tree: HardwareTree, components: Components = EQUAL) -> None:
        self._graph = graph
        self._tree = tree
        self._components = components
        self._read: dict[str, Strategy] = {}
        self._models: dict[str, Model | None] = {}
        self._cited: dict[str, tuple[Source, ...]] = {}
        self._cited_ids: dict[str, tuple[str, ...]] = {}

    @cached_property
    def _scopes(self) -> Scopes:
        return Scopes(self._graph)

    @cached_property
    def _effects(self) -> list[Effect]:
        return list(all_of(self._graph, Effect))

    @cached_property
    def _failures(self) -> TreatmentFailures:
        return TreatmentFailures(self._graph)

    def rank(
        self, problem: Problem, *, with_hypotheses: bool = False
    ) -> tuple[list[RankedStrategy], list[Refusal]]:
        """All strategies that fit, best first, and those that were refused with the rule.

        Bottlenecks that were observed come first; without any, everything that fits is ranked.

        Args:
            problem: The question.
            with_hypotheses: Also what was proposed and no test has confirmed yet.
        """
        path = self._tree.path(problem.hardware.name)
        return self._ranked(problem, self._fitting(problem, path), with_hypotheses=with_hypotheses)

    def elsewhere(self, problem: Problem) -> list[RankedStrategy]:
        """Strategies that would fit, were they not for other hardware only; best first."""
        here = self._fitting(problem, self._tree.path(problem.hardware.name))
        every = {node for scope in self._scopes.by_id.values() for node in scope.hardware}
        others = {
            identifier: scope
            for identifier, scope in self._fitting(problem, tuple(every)).items()
            if identifier not in here
        }
        return self._ranked(problem, others, with_hypotheses=False)[0]

    def outcomes(self, problem: Problem) -> int:
        """How many dated gains are known on the hardware and model family of a problem."""
        where = (problem.hardware.name, self._family(problem.workload.model))
        return sum(
            len(effect.recent)
            for effect in self._effects
            if (effect.context.hardware, effect.context.family) == where
        )

    def _fitting(self, problem: Problem, path: tuple[str, ...]) -> dict[str, Scope]:
        model = None if problem.workload.model is None else self._model(problem.workload.model)
        family, architecture = (model.family, model.architecture) if model else ("", "")
        return self._scopes.fitting(problem, family, architecture, path)

    def _ranked(
        self, problem: Problem, scopes: dict[str, Scope], *, with_hypotheses: bool
    ) -> tuple[list[RankedStrategy], list[Refusal]]:
        family = self._family(problem.workload.model)
        observed = Observed(self._graph, problem)
        comparable = [effect for effect in self._effects if _weighs(effect, problem)]
        whole = (effect for effect in comparable if effect.metric != OPERATOR_TIME)
        prior = Prior.of(whole, self._source_ids)
        effects: dict[str, list[Effect]] = {}
        for effect in comparable:
            effects.setdefault(effect.strategy, []).append(effect)
        in_use = [item for item in map(self._strategy, scopes) if already_set(item, problem.current)]
        ranked: list[RankedStrategy] = []
        refused: list[Refusal] = []
        for identifier, scope in scopes.items():
            if scope.kind == REFUTED or (scope.kind == HYPOTHESIS and not with_hypotheses):
                continue
            strategy = self._strategy(identifier)
            if strategy in in_use:
                continue
            refusal = self._refusal(strategy, problem, in_use)
            if refusal is not None:
                refused.append(refusal)
                continue
            match = observed.match(scope.mitigates)
            if observed and not match.bottleneck:
                continue
            ranked.append(
                self._weigh(strategy, scope, problem, family, match, effects.get(identifier, ()), prior)
            )
        ranked.sort(
            key=lambda item: (-item.score, not item.effects, -(item.match.share or 0), item.strategy.id)
        )
        return ranked, refused

    def has_one_for(self, configuration: Configuration) -> bool:
        """Whether some strategy, fitting or not, sets just this configuration."""
        for parameter in list(configuration)[:1]:
            for assigned in self._graph.triples(None, TG.OF_PARAMETER, parameter_iri(parameter)):
                if not isinstance(assigned.subject, NamedNode):
                    continue
                for sets in self._graph.triples(None, TG.SETS, assigned.subject):
                    if (
                        isinstance(sets.subject, NamedNode)
                        and self._strategy(name_of(sets.subject)).configuration == configuration
                    ):
                        return True
        return False

    def ceiling(self, problem: Problem) -> float | None:
        """Log gain if all that was observed went away wholly; None if the shares do not say."""
        return Observed(self._graph, problem).ceiling

    def _weigh(
        self,
        strategy: Strategy,
        scope: Scope,
        problem: Problem,
        family: str,
        match: Match,
        effects: Iterable[Effect],
        prior: Prior,
    ) -> RankedStrategy:
        seen: list[SeenEffect] = []
        evidence: list[ObservedEffect] = []
        for effect in effects:
            known = standing(effect)
            if known is None or (mean := _of_the_whole(known.mean, effect, match)) is None:
                continue
            distance = self._distance(problem.hardware.name, effect.context.hardware)
            sources = self._sources(effect)
            trust = min((*(source.trust.weight for source in sources), effect.trust.weight, 1.0))
            trust *= KIND_TRUST.get(effect.kind, 0.0)
            seen.append(
                SeenEffect(effect=effect, trust=trust, distance=distance, sources=sources, drift=known.drift)
            )
            evidence.append(ObservedEffect(context=effect.context, mean=mean, n=known.n, trust=trust))
        own_prior = prior if scope.kind != "claimed" or evidence else _halved(prior)
        gain = influence = None
        if (
            evidence
            or problem.objective.metric == "peak_memory"
            or not self._kinds(match.through) >= _CAPACITY
        ):
            asked = Context(bottleneck=match.bottleneck, hardware=problem.hardware.name, family=family)
            found, weights = posterior(own_prior, evidence, asked, self._tree.distance, self._components)
            gain = found.capped(match.ceiling)

            def without(source: str) -> Gain:
                kept = [
                    item
                    for item, of in zip(evidence, seen, strict=True)
                    if all(other.id != source for other in of.sources)
                ]
                told = posterior(own_prior, kept, asked, self._tree.distance, self._components)[0]
                return told.capped(match.ceiling)

            influence = most_influential(gain, {s.id: s for item in seen for s in item.sources}, without)
            seen = [replace(item, weight=weight) for item, weight in zip(seen, weights, strict=True)]
        seen.sort(key=lambda item: (-abs(item.weight), -item.trust, item.effect.context.hardware))
        return RankedStrategy(
            strategy=strategy,
            gain=gain,
            match=match,
            effects=tuple(seen),
            distance=min((item.distance for item in seen), default=None),
            prior=own_prior,
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
        failed = self._failures.of(strategy.id, problem, self._family)
        if failed is not None:
            reason = f"it failed in {failed.failures} runs, and never ran"
            return refusal("it runs there", reason, _cited(failed.source))
        return None

    def _family(self, model: str | None) -> str:
        found = None if model is None else self._model(model)
        return found.family if found else ""

    def _distance(self, asked: str, seen: str) -> Distance:
        """How far an effect is; one of a whole family or vendor is as far as its members are apart."""
        path = self._tree.path(asked)
        if seen not in path:
            return self._tree.distance(asked, seen) if seen else Distance.OTHER_VENDOR
        node = self._tree.node(seen)
        return _WITHIN[node.level] if node else Distance.OTHER_VENDOR

    def _sources(self, effect: Effect) -> tuple[Source, ...]:
        node = EFFECT.iri(effect)
        if node.value not in self._cited:
            self._cited[node.value] = tuple(
                from_graph(self._graph, Source, name) for name in self._source_ids(effect)
            )
        return self._cited[node.value]

    def _source_ids(self, effect: Effect) -> tuple[str, ...]:
        node = EFFECT.iri(effect)
        if node.value not in self._cited_ids:
            self._cited_ids[node.value] = tuple(
                name_of(triple.object)
                for triple in self._graph.triples(node, Shared.DERIVED_FROM)
                if isinstance(triple.object, NamedNode)
            )
        return self._cited_ids[node.value]

    def _kinds(self, bottleneck: str) -> set[str]:
        """A bottleneck and all that it is a kind of."""
        found, open_ends = set(), [bottleneck] if bottleneck else []
        while open_ends:
            name = open_ends.pop()
            if name not in found:
                found.add(name)
                broader = self._graph.triples(bottleneck_iri(name), Shared.BROADER)
                open_ends += [name_of(t.object) for t in broader if isinstance(t.object, NamedNode)]
        return found

    def _strategy(self, identifier: str) -> Strategy:
        if identifier not in self._read:
            self._read[identifier] = from_graph(self._graph, Strategy, identifier)
        return self._read[identifier]

    def _model(self, name: str) -> Model | None:
        from kg.errors import UnknownEntityError

        if name not in self._models:
            try:
                self._models[name] = from_graph(self._graph, Model, name)
            except UnknownEntityError:
                self._models[name] = None
        return self._models[name]


def _weighs(effect: Effect, problem: Problem) -> bool:
    metric = problem.objective.metric
    group = WHOLE.get(problem.workload.kind, frozenset({metric}))
    wanted = group if metric in group else {metric}
    return effect.metric in wanted or (metric in group and effect.metric == OPERATOR_TIME)


def _of_the_whole(mean: float, effect: Effect, match: Match) -> float | None:
    """A gain of an operator as a gain of the step: ``-ln(1 - share * (1 - exp(-gain)))``."""
    if effect.metric != OPERATOR_TIME:
        return mean
    if match.share is None or not match.bottleneck:
        return None
    return -math.log(max(1e-9, 1 - match.share * -math.expm1(-mean)))


def _halved(prior: Prior) -> Prior:
    """What only promotional text claims is expected to gain half of what published strategies do."""
    return replace(prior, mean=prior.mean / 2)


def _cited(source: object) -> str:
    title, url = getattr(source, "title", ""), getattr(source, "url", "")
    return f"{title} {url}".strip()
