"""From a question to ranked recommendations of cases and strategies, or an abstention."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from kg.entities import WorkloadKind
from kg.errors import InfeasibleError, NoEvidenceError
from recommender.ranking.recommendation import Answer, changes
from recommender.ranking.strategy_choice import as_recommendation, choose

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from kg.entities import Problem
    from kg.values import Value
    from recommender.ranking.case_choice import CaseChooser
    from recommender.ranking.feasibility import Refusal
    from recommender.ranking.recommendation import Recommendation
    from recommender.ranking.strategies import RankedStrategy, StrategyRanker
    from recommender.retrieval.neighbours import Neighbour, Retriever

LEAST, MOST = 1, 50
"""How many recommendations may be asked for."""

_BY_STRATEGY = frozenset({WorkloadKind.TRAINING, WorkloadKind.SERVING})


@dataclass(frozen=True, slots=True)
class Recommender:
    """What answers questions.

    Attributes:
        retriever: Finds the nearest known problems.
        cases: Chooses among their configurations.
        strategies: Ranks the strategies of the graph.
        version: Identifier of the knowledge that answers rest on.
    """

    retriever: Retriever
    cases: CaseChooser
    strategies: StrategyRanker
    version: str

    def answer(
        self, problem: Problem, k: int, *, model: Mapping[str, Value], notes: Sequence[str] = ()
    ) -> Answer:
        """The k configurations to try.

        Args:
            problem: The question.
            k: How many at most.
            model: Facts of the model, for rules of divisibility.
            notes: What was assumed when the question was read.

        Raises:
            NoEvidenceError: Nothing known is near enough; the hint says what to measure.
            InfeasibleError: All that is known was refused; the message names the rules.
        """
        k = min(max(k, LEAST), MOST)
        neighbours = self.retriever.find(problem)
        cases, refused = self.cases.choose(problem, neighbours, k, model)
        ranked: list[RankedStrategy] = []
        if problem.workload.kind in _BY_STRATEGY:
            ranked, more = self.strategies.rank(problem)
            refused = [*refused, *more]
        chosen = [as_recommendation(item, problem, self.version) for item in choose(ranked, k)]
        if problem.workload.kind in _BY_STRATEGY:
            cases = [item for item in cases if not self._is_for_strategies(item, ranked, problem)]
        recommendations = _merged(cases, chosen, k)
        if not recommendations:
            raise _nothing(problem, neighbours, refused)
        return Answer(
            problem=problem,
            version=self.version,
            recommendations=tuple(recommendations),
            notes=tuple(dict.fromkeys([*notes, *self.retriever.encoder.notes])),
            unchecked=problem.limits,
            refused=tuple(refused),
            neighbours=tuple(item.to_json() for item in neighbours[:10]),
            ceiling=self.strategies.ceiling(problem),
        )

    def _is_for_strategies(
        self, case: Recommendation, ranked: Sequence[RankedStrategy], problem: Problem
    ) -> bool:
        """Whether a case sets just what a strategy sets: then that one speaks, or was left out with reason.

        Only where a strategy fits and has no gain of its own, the case says more than it does.
        """
        for item in ranked:
            if changes(item.strategy.configuration, problem.current) == case.configuration:
                return bool(item.effects)
        return self.strategies.has_one_for(case.configuration)


def _merged(cases: list[Recommendation], strategies: list[Recommendation], k: int) -> list[Recommendation]:
    """Both kinds by expected gain; what is for an observed bottleneck comes before what is for none."""

    def order(item: Recommendation) -> tuple[object, ...]:
        expected = item.gain.expected if item.gain else 0.0
        return (not item.bottleneck and any(other.bottleneck for other in strategies), -expected)

    return sorted([*cases, *strategies], key=order)[:k]


def _nothing(
    problem: Problem, neighbours: Sequence[Neighbour], refused: Sequence[Refusal]
) -> InfeasibleError | NoEvidenceError:
    what = " ".join(part for part in (problem.workload.model, problem.workload.operator) if part)
    if refused:
        rules = ", ".join(dict.fromkeys(item.rule for item in refused))
        return InfeasibleError(
            f"nothing that is known of {what} can run on {problem.hardware.name}: {rules}",
            hint="see what was refused with --json, or loosen what is fixed",
        )
    if neighbours:
        return NoEvidenceError(
            f"what is known of {what} has no configuration for {problem.hardware.name}",
            hint="measure a few configurations there and ingest them",
        )
    return NoEvidenceError(
        f"no case of {what} decided by {problem.objective.metric} is known, on any hardware",
        hint="ingest cases of it, or ask by another metric with --objective",
    )
