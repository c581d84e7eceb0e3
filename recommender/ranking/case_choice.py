"""Configurations of past cases as recommendations."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
from pyoxigraph import NamedNode

from kg.entities import Source
from kg.serialisation import from_graph
from kg.vocabulary import Shared, name_of, problem_iri
from recommender.ranking.evidence import Question
from recommender.ranking.feasibility import refusals
from recommender.ranking.posterior import NORMAL_90, Gain
from recommender.ranking.recommendation import (
    Recommendation,
    Support,
    changes,
    plain_flags,
    recommendation_id,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from kg.entities import Configuration, Problem
    from kg.graph import GraphStore
    from kg.values import Value
    from recommender.ranking.feasibility import Refusal
    from recommender.ranking.ranker import Ranker, Ranking
    from recommender.retrieval.neighbours import Neighbour

TYPICAL = "the median configuration of similar cases"
CURRENT = "the current configuration"
SHOWN_SOURCES = 3

_REMEMBERED = 50_000


class CaseChooser:
    """Chooses among the configurations of similar cases.

    Args:
        ranker: Ranks the candidates.
        graph: Where sources are looked up.
        version: Identifier of the knowledge.
    """

    def __init__(self, ranker: Ranker, graph: GraphStore, version: str) -> None:
        self._ranker = ranker
        self._graph = graph
        self._version = version
        self._cited: dict[str, str] = {}

    def choose(
        self, problem: Problem, neighbours: Sequence[Neighbour], k: int, model: Mapping[str, Value]
    ) -> tuple[list[Recommendation], list[Refusal]]:
        """The k best configurations, and what was refused on the way.

        Args:
            problem: The question.
            neighbours: The known problems to ask.
            k: How many at most.
            model: Facts of the model, for rules of divisibility.
        """
        refused: list[Refusal] = []

        def feasible(asked: Problem, configuration: Configuration) -> bool:
            broken = list(refusals(asked, configuration, model))
            refused.extend(broken)
            return not broken

        ranking = self._ranker.rank(problem, neighbours, Question(), k, feasible)
        reference = _reference(problem, ranking)
        return [self._recommendation(problem, ranking, place, reference) for place in ranking.order], refused

    def _recommendation(
        self, problem: Problem, ranking: Ranking, place: int, reference: tuple[float, str] | None
    ) -> Recommendation:
        configuration = changes(ranking.configuration(place), problem.current)
        gain = None if reference is None else self._gain(ranking, place, reference[0])
        scores = ranking.scores
        return Recommendation(
            id=recommendation_id(problem, configuration, self._version),
            title="configuration of similar cases" if gain else "choice of others",
            configuration=configuration,
            flags=plain_flags(configuration),
            gain=gain,
            against="" if reference is None else reference[1],
            basis=_basis(ranking, place),
            distance_class="" if ranking.distance is None else ranking.distance.name.lower(),
            parts={
                "expected log regret": float(scores.expected[place]),
                "spread between what is known": float(scores.spread[place]),
                **{name: float(values[place]) for name, (_, values) in list(scores.parts.items())[:8]},
            },
            evidence=tuple(self._evidence(ranking, place)),
            conditions=() if gain else ("published as somebody's choice, without its time",),
        )

    def _gain(self, ranking: Ranking, place: int, reference: float) -> Gain | None:
        if ranking.distance is None:
            return None
        trust = self._ranker.reliability.classes[ranking.distance]
        spread = NORMAL_90 * float(ranking.scores.spread[place])
        gain = reference - float(ranking.scores.expected[place])
        return Gain(expected=gain, low=gain + min(trust.low, -spread), high=gain + max(trust.high, spread))

    def _evidence(self, ranking: Ranking, place: int) -> Iterator[Support]:
        evidence, scores = ranking.evidence, ranking.scores
        column = scores.chosen[place]
        total = float(scores.weights.sum())
        ratios, votes = evidence.ratios[:, column], evidence.votes[:, column]
        saying = np.flatnonzero(np.isfinite(ratios) | votes)
        for row in saying[np.argsort(-scores.weights[saying], kind="stable")][:SHOWN_SOURCES].tolist():
            source, ratio = evidence.sources[row], float(ratios[row])
            count = f" x {source.problem.count}" if source.problem.count else ""
            task = "the same task" if source.same_task else "a similar task"
            is_timed = math.isfinite(ratio)
            said = f"{math.exp(ratio):.2f}x the best time" if is_timed else "the published choice"
            yield Support(
                kind="timed" if is_timed else "winner",
                says=f"{said} of {task} on {source.problem.hardware}{count}",
                weight=float(scores.weights[row]) / total if total > 0 else None,
                problem=source.problem.id,
                source=self._citation(source.problem.id),
            )

    def _citation(self, problem_id: str) -> str:
        """Title and place of the first source of a problem."""
        if problem_id not in self._cited:
            if len(self._cited) > _REMEMBERED:
                self._cited.clear()
            self._cited[problem_id] = ""
            for triple in self._graph.triples(problem_iri(problem_id), Shared.DERIVED_FROM):
                if isinstance(triple.object, NamedNode):
                    source = from_graph(self._graph, Source, name_of(triple.object))
                    parts = (source.title, source.url, source.path)
                    self._cited[problem_id] = " ".join(part for part in parts if part)
                    break
        return self._cited[problem_id]


def _reference(problem: Problem, ranking: Ranking) -> tuple[float, str] | None:
    """Expected log regret that gains are against: of the current configuration if known, else the median."""
    evidence, scores = ranking.evidence, ranking.scores
    if problem.current:
        for position, chosen in enumerate(scores.chosen):
            candidate = evidence.candidates[chosen]
            if all(problem.current.get(name) == value for name, value in candidate.items()):
                return float(scores.expected[position]), CURRENT
    heard = [
        (weight, _median(ratios[np.isfinite(ratios)]))
        for weight, ratios in zip(scores.weights, evidence.ratios, strict=True)
        if weight > 0 and np.isfinite(ratios).any()
    ]
    total = sum(weight for weight, _ in heard)
    return (sum(weight * median for weight, median in heard) / total, TYPICAL) if total > 0 else None


def _median(values: NDArray[np.float64]) -> float:
    """The median of one value or more; NumPy's own brings masked arrays along, 20 ms of a cold answer."""
    ordered, middle = np.sort(values), len(values) // 2
    return float(ordered[middle] if len(values) % 2 else (ordered[middle - 1] + ordered[middle]) / 2)


def _basis(ranking: Ranking, place: int) -> str:
    evidence = ranking.evidence
    column = ranking.scores.chosen[place]
    timed = int(np.isfinite(evidence.ratios[:, column]).sum())
    votes = int(evidence.votes[:, column].sum())
    said = []
    if timed:
        said.append(f"timed in {timed} similar problem{'s' if timed > 1 else ''}")
    if votes:
        said.append(f"the choice of {votes} tuning{'s' if votes > 1 else ''}")
    if not said:
        said.append("expected from similar configurations")
    if ranking.distance is not None:
        said.append(f"nearest: {ranking.distance.name.lower().replace('_', ' ')}")
    return ", ".join(said)
