"""Candidates in the order in which to try them."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from kg.nouns.entities import Configuration, Problem
from kg.nouns.values import Value
from kg.rows.trials import TrialStore
from kg.triples.hardware_tree import Distance, HardwareTree
from recommender.calibration.mixture import (
    COPYING,
    PLACES,
    EvidenceClass,
    ExpertMixture,
    Weights,
    asks_model,
    listed,
)
from recommender.calibration.response import ResponseModel
from recommender.ranking.cases.evidence import CandidateEvidence, CaseQuestion, ConfigurationReader, gather
from recommender.ranking.cases.experts import WORST, opinions, predictions, program, situation_of, voices
from recommender.retrieval.neighbours import Neighbour

Feasible = Callable[[Problem, Configuration], bool]
Facts = Callable[[str], Mapping[str, Value]]


CANDIDATES = 400
"""Candidates that the response model is asked about; those the tables favour come first."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Scores:
    """Expected value of each candidate.

    Attributes:
        chosen: Which candidates were scored, indices into the evidence, shape (n,).
        opinions: The nearest case's opinion and the experts', shape (1 + E, n); they order the list.
        expected: Expected log regret, shape (n,).
        spread: Standard deviation between what the parts say, shape (n,).
        weights: Weight of each source's table, shape (S,).
        parts: What each part says: name to shape (n,), and its weight.
    """

    chosen: NDArray[np.intp]
    opinions: NDArray[np.float64]
    expected: NDArray[np.float64]
    spread: NDArray[np.float64]
    weights: NDArray[np.float64]
    parts: Mapping[str, tuple[float, NDArray[np.float64]]]


def score(
    problem: Problem,
    evidence: CandidateEvidence,
    model: ResponseModel | None,
    facts: Facts,
) -> Scores:
    """Compute opinions on the candidates, and their expected log regret.

    All tables together weigh as much as the response model.

    Args:
        problem: The question.
        evidence: What the neighbours say.
        model: What was learned about the operator, where candidates differ in numbers alone; None if nothing.
        facts: Facts by hardware id.
    """
    heard = voices(evidence)
    weights = heard * evidence.timed
    chosen = _favoured(evidence, heard, weights)
    parts: dict[str, tuple[float, NDArray[np.float64]]] = {}
    predicted = np.zeros((0, len(chosen)))
    model_weights = np.zeros(0)
    modelled = None
    if model is not None and len(chosen) > 1:
        candidates = [evidence.candidates[place] for place in chosen]
        devices, predicted, model_weights = predictions(problem, evidence, candidates, model, facts)
        modelled = model_weights @ predicted / model_weights.sum()
        model_weights = model_weights / model_weights.sum() * (float(weights.sum()) or 1.0)
        for place, name in enumerate(devices):
            parts[f"model for {name}"] = (float(model_weights[place]), predicted[place])
    copied = _copied(evidence, chosen, weights, modelled)
    everything = np.concatenate([copied, predicted])
    all_weights = np.concatenate([weights, model_weights])
    total = float(all_weights.sum())
    if total <= 0:  # nothing but votes
        expected = np.zeros(len(chosen))
        spread = np.full(len(chosen), WORST)
    else:
        expected = all_weights @ everything / total
        spread = np.sqrt(all_weights @ (everything - expected) ** 2 / total)
    for place, source in enumerate(evidence.sources):
        if weights[place] > 0:
            parts[f"table {source.problem.id}"] = (float(weights[place]), copied[place])
    return Scores(
        chosen=chosen,
        opinions=opinions(evidence, chosen, heard, modelled),
        expected=expected,
        spread=spread,
        weights=weights,
        parts=parts,
    )


def _favoured(
    evidence: CandidateEvidence, heard: NDArray[np.float64], weights: NDArray[np.float64]
) -> NDArray[np.intp]:
    """Return the candidates to compare, those that the tables favour first: of equals the earlier leads."""
    if weights.sum() > 0:
        capped = np.where(
            np.isfinite(evidence.ratios), np.minimum(np.nan_to_num(evidence.ratios), WORST), WORST
        )
        tables = weights @ capped
    else:
        tables = -(heard @ evidence.votes)
    order = np.argsort(tables, kind="stable")
    if len(order) <= CANDIDATES:
        return order
    chosen = list(order[: CANDIDATES // 2])
    rank = np.empty(len(order), np.intp)
    rank[order] = np.arange(len(order))
    # The best of each value of each parameter: another device may turn a choice around.
    by_value: dict[tuple[str, object], list[int]] = {}
    for place in order:
        for item in evidence.candidates[place].items():
            members = by_value.setdefault(item, [])
            if len(members) < CANDIDATES:
                members.append(int(place))
    groups = sorted(by_value.values(), key=lambda members: int(rank[members[0]]))
    seen = set(chosen)
    depth = 0
    while len(seen) < CANDIDATES and depth < CANDIDATES:
        for members in groups:
            if depth < len(members) and members[depth] not in seen and len(seen) < CANDIDATES:
                seen.add(members[depth])
        depth += 1
    return np.array(sorted(seen, key=lambda place: int(rank[place])), np.intp)


def _copied(
    evidence: CandidateEvidence,
    chosen: NDArray[np.intp],
    weights: NDArray[np.float64],
    modelled: NDArray[np.float64] | None,
) -> NDArray[np.float64]:
    """Return each table's costs of the candidates; what it lacks is as the model or the others say."""
    ratios = evidence.ratios[:, chosen]
    finite = np.isfinite(ratios)
    capped = np.where(finite, np.minimum(np.nan_to_num(ratios), WORST), WORST)
    silent = modelled
    if silent is None:
        heard = weights @ finite
        silent = np.where(
            heard > 0, weights @ np.where(finite, capped, 0.0) / np.maximum(heard, 1e-12), WORST
        )
    return np.where(evidence.failed[:, chosen], WORST, np.where(finite, capped, silent))


VOTES: Weights = ((1.0, 0.0, 0.0),) * PLACES
"""Where nothing was timed the most popular leads."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ranking:
    """The answer of the cases to one question.

    Attributes:
        order: Candidates to try, indices into ``scores.chosen``, best first.
        evidence: What the neighbours say.
        scores: What is expected of each candidate.
        runnable: Places in ``scores`` of what can run.
        situation: What decides how far copying is to be trusted; None without a source of times.
    """

    order: tuple[int, ...]
    evidence: CandidateEvidence
    scores: Scores
    runnable: tuple[int, ...]
    situation: EvidenceClass | None

    @property
    def distance(self) -> Distance | None:
        """Distance of the nearest source of times; None if there is none."""
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
            runnable=kept,
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
