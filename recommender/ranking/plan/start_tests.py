"""Tests of start configurations: what they say of the recipes and the layout behind another start."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TypeVar

from kg.errors import UnknownEntityError
from kg.nouns.effects import Context
from kg.nouns.entities import Problem
from kg.nouns.layout import DEGREES, ParallelLayout
from kg.nouns.outcomes import Outcome
from kg.nouns.values import Settings
from kg.terms.circumstances import SIZE_KINDS, sizes_of_shape
from kg.terms.dialects import statement
from kg.terms.metrics import metrics_of_same_gain
from kg.triples.finders import ModelFinder, start_outcomes
from kg.triples.graph import GraphStore
from kg.triples.hardware_tree import HardwareTree
from kg.triples.serialisation import from_graph
from recommender.ranking.changes.posterior import EQUAL, Components, ObservedEffect, posterior
from recommender.ranking.changes.prior import Prior
from recommender.ranking.starts.situation import StartSituation
from recommender.ranking.starts.starts import StartReliability

Subject = TypeVar("Subject")

NEVER_RAN = -1.0
"""Gain in nats that a start counts for whose runs all failed, a third of the speed; a choice."""
LEAST_CHANCE = 1e-3
"""Chance to help that no test takes from a recipe or a layout: tests are fallible; a choice."""
_SIZES = (*SIZE_KINDS["lengths"], *SIZE_KINDS["batch"])


@dataclass(frozen=True, slots=True)
class StartTest:
    """A start configuration that was tested.

    Attributes:
        outcome: The test.
        problem: On what.
        gain: Log gain over what ran before.
    """

    outcome: Outcome
    problem: Problem
    gain: float


class StartTests:
    """The outcomes of start configurations of one graph, as factors for another start.

    The gain of a start over what ran before counts for each recipe that it rests on as a gain does for a
    strategy: evidence in its context that carries over by what contexts share. So it does for its layout, but
    from one model to another only as between families. A factor is the chance to help here after the
    tests over the chance without any. A layout that lost or never ran in exactly this question, and has not
    won there since, has the factor 0: what was measured is not outvoted by what is modelled.

    Args:
        graph: Holds the outcomes.
        tree: Its hardware.
        components: How the variance of gains between contexts divides.
    """

    def __init__(self, graph: GraphStore, tree: HardwareTree, components: Components = EQUAL) -> None:
        self._graph = graph
        self._tree = tree
        self._components = components
        self._models = ModelFinder(graph)

    def reliability(self, situation: StartSituation) -> StartReliability:
        """The results of tests in a comparable metric, by recipe and by layout.

        Args:
            situation: Where a start is to be used.
        """
        asked = situation.problem
        comparable = metrics_of_same_gain(asked.objective.metric, asked.workload.kind)
        recipes: dict[str, list[ObservedEffect]] = {}
        layouts: dict[tuple[int, ...], list[ObservedEffect]] = {}
        lost: dict[tuple[int, ...], bool] = {}
        for test in self._tests:
            if test.outcome.metric not in comparable:
                continue
            for recipe in test.outcome.recipes:
                recipes.setdefault(recipe, []).append(self._effect(test, self._family(test.problem)))
            split = ParallelLayout.from_json(test.outcome.layout).split
            layouts.setdefault(split, []).append(self._effect(test, _model(test.problem)))
            if test.problem.id == asked.id:
                lost[split] = _is_refuted(test.outcome)
        odds = self._factors(layouts, _context(asked, _model(asked)))
        return StartReliability(
            recipes=self._factors(recipes, _context(asked, self._family(asked))),
            layouts={split: 0.0 if lost.get(split) else factor for split, factor in odds.items()},
        )

    def _factors(
        self, tests: Mapping[Subject, Sequence[ObservedEffect]], context: Context
    ) -> dict[Subject, float]:
        prior = Prior.of(())
        before, _ = posterior(prior, (), context, self._tree.distance, self._components)
        factors = {}
        for subject, effects in tests.items():
            after, _ = posterior(prior, effects, context, self._tree.distance, self._components)
            factors[subject] = max(after.probability_of_gain, LEAST_CHANCE) / before.probability_of_gain
        return factors

    @cached_property
    def _tests(self) -> list[StartTest]:
        tests = []
        for outcome in start_outcomes(self._graph):
            gain = NEVER_RAN if outcome.treatment_never_ran else outcome.gain
            try:
                problem = from_graph(self._graph, Problem, outcome.problem)
            except UnknownEntityError:
                continue  # it was taken back
            if gain is not None:
                tests.append(StartTest(outcome, problem, gain))
        return sorted(tests, key=lambda test: test.outcome.time)

    def _effect(self, test: StartTest, family: str) -> ObservedEffect:
        return ObservedEffect(context=_context(test.problem, family), mean=test.gain, n=1)

    def _family(self, problem: Problem) -> str:
        model = self._models.find(problem.workload.model)
        return model.family if model is not None else ""


def _is_refuted(outcome: Outcome) -> bool:
    """True if a layout failed a test against a control that is divided in another way."""
    before = statement(outcome.control, "").facts
    sizes = {name: before[name] for name in DEGREES if name in before}
    is_same = sizes and all(outcome.layout.get(name, 1) == size for name, size in sizes.items())
    return not is_same and (outcome.treatment_never_ran or outcome.verdict == "worse")


def _model(problem: Problem) -> str:
    return problem.workload.model or ""


def _context(problem: Problem, family: str) -> Context:
    sizes = sizes_of_shape(problem.workload.shape)
    facts = Settings({name: size for name, size in sizes.items() if name in _SIZES})
    return Context(hardware=problem.hardware.name, family=family, facts=facts)
