"""Candidates in the order in which to try them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from kg.nouns.entities import Trust
from recommender.ranking.cases.evidence import CandidateEvidence, CaseQuestion, ConfigurationReader, gather
from recommender.ranking.cases.scoring import Scores, score
from recommender.ranking.cases.selection import cover, select

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from kg.nouns.entities import Configuration, Problem
    from kg.rows.trials import TrialStore
    from kg.triples.hardware_tree import Distance, HardwareTree
    from recommender.calibration.reliability import Reliability
    from recommender.calibration.response import ResponseModels
    from recommender.retrieval.neighbours import Neighbour

    Feasible = Callable[[Problem, Configuration], bool]


COPIED_BELOW = 5_000
"""Timed rows of an operator below which nothing that can be learned from them beats copying the nearest
source: on end-to-end tables of 264 to 2,250 rows a blend lost to it in every class
(benchmarks/answers/unseen.py)."""

DENSE = 200
"""Timed rows of one problem that are a space of their own to learn from, however few the problems are."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ranking:
    """The answer of the cases to one question.

    Attributes:
        order: Candidates to try, indices into ``scores.chosen``, best first.
        evidence: What the neighbours say.
        scores: What is expected of each candidate.
        distance: How far the nearest source of times is; None if there is none.
    """

    order: tuple[int, ...]
    evidence: CandidateEvidence
    scores: Scores
    distance: Distance | None

    def configuration(self, place: int) -> Configuration:
        """Return the configuration at a place of ``scores``."""
        return self.evidence.candidates[int(self.scores.chosen[place])]

    @property
    def configurations(self) -> list[Configuration]:
        """The ranked configurations, best first."""
        return [self.configuration(place) for place in self.order]


class Ranker:
    """Ranks the candidates of neighbours.

    Args:
        trials: What was measured.
        tree: Facts of hardware.
        models: What was learned about operators; None for tables alone.
        reliability: How far each kind of evidence is trusted; also an attribute.
    """

    def __init__(
        self,
        trials: TrialStore,
        tree: HardwareTree,
        models: ResponseModels | None,
        reliability: Reliability,
    ) -> None:
        self._trials = trials
        self._tree = tree
        self._models = models
        self.reliability = reliability
        self._read = ConfigurationReader(trials)

    def rank(
        self,
        problem: Problem,
        neighbours: Sequence[Neighbour],
        question: CaseQuestion,
        k: int,
        feasible: Feasible | None = None,
    ) -> Ranking:
        """Rank the k best configurations; fewer if there are fewer candidates.

        Args:
            problem: The question.
            neighbours: The sources to ask.
            question: What is fixed and what is to be decided.
            k: How many.
            feasible: Whether a configuration can run; infeasible ones are left out.
        """
        evidence = gather(neighbours, question, self._trials, self._read)
        model = self._models.of(problem) if self._models is not None else None
        scores = score(
            problem,
            evidence,
            model,
            self._tree.facts,
            self.reliability,
            words_given=_words_given(evidence),
        )
        timed = [
            source for source, is_timed in zip(evidence.sources, evidence.timed, strict=True) if is_timed
        ]
        distance = min((source.device for source in timed), default=None)
        kept = [
            place
            for place, column in enumerate(scores.chosen)
            if feasible is None or feasible(problem, evidence.candidates[column])
        ]
        drift = 0.0 if distance is None else self.reliability.classes[distance].drift
        order = select(
            [evidence.candidates[scores.chosen[place]] for place in kept], scores.charged[kept], drift, k
        )
        copied = _copied(evidence, scores, kept)
        if model is None or (model.rows < COPIED_BELOW and _largest(evidence) < DENSE):
            covering = cover(scores.best[:, kept], scores.fate, scores.charged[kept], k)
            leader = _leader(evidence)
            known_task = leader is not None and evidence.sources[leader].same_task
            order = _in_turn(copied, covering, order, known_task=known_task)[:k]
        elif drift <= 0:
            order = _backed(order, copied)[:k]
        return Ranking(
            order=tuple(kept[place] for place in order), evidence=evidence, scores=scores, distance=distance
        )


def _in_turn(copied: list[int], covering: list[int], blended: list[int], *, known_task: bool) -> list[int]:
    """Alternate between the nearest source's best and the best of most sources, where little was learned.

    If the nearest source did the very same task its first three lead.
    """
    head = copied[:3] if known_task else copied[:1]
    order = list(head)
    rest = [item for item in copied if item not in head]
    for place in range(max(len(rest), len(covering))):
        order += covering[place : place + 1] + rest[place : place + 1]
    return list(dict.fromkeys([*order, *blended]))


def _backed(blended: list[int], copied: list[int]) -> list[int]:
    """Return the candidates expected to be best, with the nearest source's two best third and fifth.

    A list that has them is never much worse than copying.
    """
    return list(dict.fromkeys([*blended[:2], *copied[:1], *blended[2:3], *copied[1:2], *blended]))


def _largest(evidence: CandidateEvidence) -> int:
    """Return the timed rows of the largest source."""
    return int(np.isfinite(evidence.ratios).sum(axis=1).max(initial=0))


def _leader(evidence: CandidateEvidence) -> int | None:
    """Return the nearest timed source; one of low trust only where no other did as near a task."""
    timed = np.flatnonzero(evidence.timed)
    if not len(timed):
        return None
    first = evidence.sources[timed[0]]
    trusted = (
        int(place)
        for place in timed
        if (source := evidence.sources[place]).problem.trust is not Trust.LOW
        and source.same_task >= first.same_task
    )
    return next(trusted, int(timed[0]))


def _copied(evidence: CandidateEvidence, scores: Scores, kept: Sequence[int]) -> list[int]:
    """Return places in ``kept`` of what the leading source has, its best first."""
    leader = _leader(evidence)
    if leader is None:
        return []
    ratios = evidence.ratios[leader][scores.chosen[list(kept)]]
    return [int(place) for place in np.argsort(ratios, kind="stable") if np.isfinite(ratios[place])]


def _words_given(evidence: CandidateEvidence) -> bool:
    """Return whether the candidates have the same words, and so differ in numbers alone."""
    words = {
        tuple((name, value) for name, value in item.items() if isinstance(value, str))
        for item in evidence.candidates
    }
    return len(words) == 1
