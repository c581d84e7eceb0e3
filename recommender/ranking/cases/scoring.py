"""Expected log regret of each candidate, from tables of the neighbours and the response model.

y[s, c]: log cost of candidate c over the best of source s.
w[s]: weight of source s.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from recommender.ranking.cases.experts import WORST, opinions, predictions, voices

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from numpy.typing import NDArray

    from kg.nouns.entities import Problem
    from kg.nouns.values import Value
    from recommender.calibration.response import ResponseModel
    from recommender.ranking.cases.evidence import CandidateEvidence

    Facts = Callable[[str], Mapping[str, Value]]

CANDIDATES = 400
"""Candidates that the response model is asked about; those the tables favour come first."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Scores:
    """What is expected of each candidate.

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
