"""Candidates in the order in which to try them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from recommender.calibration.mixture import COPYING, PLACES, ExpertMixture, asks_model, listed
from recommender.ranking.cases.evidence import CandidateEvidence, CaseQuestion, ConfigurationReader, gather
from recommender.ranking.cases.experts import program, situation_of
from recommender.ranking.cases.scoring import Scores, score

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from kg.nouns.entities import Configuration, Problem
    from kg.rows.trials import TrialStore
    from kg.triples.hardware_tree import Distance, HardwareTree
    from recommender.calibration.mixture import EvidenceClass, Weights
    from recommender.calibration.response import ResponseModel
    from recommender.retrieval.neighbours import Neighbour

    Feasible = Callable[[Problem, Configuration], bool]

VOTES: Weights = ((1.0, 0.0, 0.0),) * PLACES
"""Where nothing was timed the most popular leads."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ranking:
    """The answer of the cases to one question.

    Attributes:
        order: Candidates to try, indices into ``scores.chosen``, best first.
        evidence: What the neighbours say.
        scores: What is expected of each candidate.
        kept: Places in ``scores`` of what can run.
        situation: What decides how far copying is to be trusted; None without a source of times.
    """

    order: tuple[int, ...]
    evidence: CandidateEvidence
    scores: Scores
    kept: tuple[int, ...]
    situation: EvidenceClass | None

    @property
    def distance(self) -> Distance | None:
        """How far the nearest source of times is; None if there is none."""
        return None if self.situation is None else self.situation.distance

    def configuration(self, place: int) -> Configuration:
        """Return the configuration at a place of ``scores``."""
        return self.evidence.candidates[int(self.scores.chosen[place])]

    @property
    def configurations(self) -> list[Configuration]:
        """The ranked configurations, best first."""
        return [self.configuration(place) for place in self.order]


class Models(Protocol):
    """The response models that a ranker may ask."""

    def of(self, problem: Problem) -> ResponseModel | None:
        """Return the model for a problem; None if nothing was learned about its operator."""


class Ranker:
    """Ranks the candidates of neighbours.

    Args:
        trials: What was measured.
        tree: Facts of hardware.
        models: What was learned about operators, asked where a list follows it; None for tables alone.
        mixture: How far each expert is followed; what ships if None.

    Raises:
        WorkspaceError: What ships was learned for other experts.
    """

    def __init__(
        self,
        trials: TrialStore,
        tree: HardwareTree,
        models: Models | None,
        mixture: ExpertMixture | None = None,
    ) -> None:
        self.trials = trials
        self._tree = tree
        self._models = models
        self.mixture = ExpertMixture.shipped(program()) if mixture is None else mixture
        self._read = ConfigurationReader(trials)

    def rank(
        self,
        problem: Problem,
        neighbours: Sequence[Neighbour],
        question: CaseQuestion,
        k: int,
        feasible: Feasible | None = None,
        *,
        unseen: bool = False,
    ) -> Ranking:
        """Rank the k best configurations; fewer if there are fewer candidates.

        Args:
            problem: The question.
            neighbours: The sources to ask.
            question: What is fixed and what is to be decided.
            k: How many.
            feasible: Whether a configuration can run; infeasible ones are left out.
            unseen: Follow the experts as was learned without the asked hardware.
        """
        evidence = gather(neighbours, question, self.trials, self._read)
        situation = situation_of(evidence)
        learned = self.mixture.left_out(problem.hardware.name) if unseen else self.mixture.weights
        weights = VOTES if situation is None else learned.get(situation, COPYING)
        model = None
        if self._models is not None and asks_model(weights) and _numbers_alone(evidence):
            model = self._models.of(problem)
        scores = score(problem, evidence, model, self._tree.facts)
        kept = tuple(
            place
            for place, column in enumerate(scores.chosen)
            if feasible is None or feasible(problem, evidence.candidates[column])
        )
        order = listed(scores.opinions[:, list(kept)], weights, k)
        return Ranking(
            order=tuple(kept[place] for place in order),
            evidence=evidence,
            scores=scores,
            kept=kept,
            situation=situation,
        )


def _numbers_alone(evidence: CandidateEvidence) -> bool:
    """Return whether the candidates differ in numbers alone.

    Where words are open, such as the framework, lists that followed the response model as elsewhere lost to
    copying: backends of GEMM on a known device .72 against .84, serving tables more.
    """
    words = {
        tuple((name, value) for name, value in item.items() if isinstance(value, str))
        for item in evidence.candidates
    }
    return len(words) == 1
