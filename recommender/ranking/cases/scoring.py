"""Expected log regret of each candidate, from tables of the neighbours and the response model.

y[s, c]: log cost of candidate c over the best of source s.
w[s]: weight of source s.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from kg.triples.hardware_tree import Distance
from recommender.calibration.design import device_row

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from numpy.typing import NDArray

    from kg.nouns.entities import Problem
    from kg.nouns.values import Value
    from recommender.calibration.reliability import Reliability
    from recommender.calibration.response import ResponseModel
    from recommender.ranking.cases.evidence import CandidateEvidence
    from recommender.retrieval.neighbours import Neighbour

    Facts = Callable[[str], Mapping[str, Value]]

WORST = 1.5
"""No single row counts as worse than this (a factor of 4.5): one bad or false source moves a mean by so much
at most."""

UNTRIED = 0.3
"""What a candidate is charged where a source of the same task does not have it, in nats."""

FAILED = 1.5
"""What a failure counts as, in nats."""

CANDIDATES = 400
"""Candidates that the response model is asked about; those the tables favour come first."""

RELAXED = 0.1
"""Weight of a source that has what is fixed otherwise, beside one that has it."""

_VIRTUAL = 3
"""Devices, besides the target, that the response model answers for."""

_EXTRAPOLATED = 0.5
"""Weight of the model answering for an unseen device by its facts, beside the nearest device it has seen."""

_COMPARED = 3
_LIKENESS = 1.0
"""Devices are compared by their first facts (units, bandwidth, operations); weights fall by e where these
differ by so much in all, in nats."""

SMALL = 32
"""Candidates up to which it is counted how often each was among the best elsewhere. In a large space being
best is luck between near equals, and nearly every row was measured; in a small one it tells what works."""

_OFTEN_BEST = 0.3
"""What a candidate is charged that was never near the best in comparable sources, in nats."""

_NEAR_BEST = 0.1
"""Log ratio to the best at which a candidate counts 1/e as one of the best."""

_SHARED_FATE = {
    Distance.SAME_DEVICE: 1.0,
    Distance.SIBLING: 0.7,
    Distance.SAME_ARCHITECTURE: 0.6,
    Distance.SAME_VENDOR: 0.4,
    Distance.OTHER_VENDOR: 0.2,
}
"""Weight by distance class in that count: it asks what is there at all, which changes less than times do."""

_SUPPORT_REACH = 2.0
"""Distance between tasks at which it counts half whether a source has a candidate at all."""

_PUBLISHED = 0.8
"""How far a published choice without a time counts as one of the best."""

_VOTE = 0.01
"""What each published choice without a time is worth, in nats: it breaks ties."""

_FEW = 10
"""Candidates up to which a table's best is taken at its word. The best of many is partly luck, so with more
candidates the smoother model weighs more, by the decimal logarithm."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Scores:
    """The expected regret of each candidate.

    Attributes:
        chosen: Which candidates were scored, indices into the evidence, shape (n,).
        expected: Expected log regret, shape (n,).
        charged: The same with charges for what was not tried or never among the best; orders the list.
        spread: Standard deviation between what the parts say, shape (n,).
        weights: Weight of each source's table, shape (S,).
        parts: What each part says: name to shape (n,), and its weight.
        best: How far each candidate is among the best of each source, 0 to 1, shape (S, n).
        fate: Weight of each source in that count; they sum to 1, shape (S,).
    """

    chosen: NDArray[np.intp]
    expected: NDArray[np.float64]
    charged: NDArray[np.float64]
    spread: NDArray[np.float64]
    weights: NDArray[np.float64]
    best: NDArray[np.float64]
    fate: NDArray[np.float64]
    parts: Mapping[str, tuple[float, NDArray[np.float64]]]


def source_weights(
    problem: Problem, evidence: CandidateEvidence, facts: Facts, reliability: Reliability
) -> NDArray[np.float64]:
    """Return the weight of each source's table, shape (S,): by hardware, distance of its task, and trust.

    Sources of one device say much the same, so together they weigh what the best of them does. A device
    whose tables are copies of another's is that other one here.
    """
    weights = np.zeros(len(evidence.sources))
    best: dict[str, float] = {}
    sums: dict[str, float] = {}
    alike = _alike(problem, evidence.sources, facts)
    for place, (source, timed) in enumerate(zip(evidence.sources, evidence.timed, strict=True)):
        if timed:
            name = source.problem.measured_on
            device = reliability.classes[source.device].copied * alike[source.problem.hardware]
            near = _nearness(source, reliability.reach) + 1e-6
            relaxed = RELAXED if evidence.relaxed[place] else 1.0
            weights[place] = device * near * relaxed * source.problem.trust.weight
            best[name] = max(best.get(name, 0.0), weights[place])
            sums[name] = sums.get(name, 0.0) + weights[place]
    for place, source in enumerate(evidence.sources):
        name = source.problem.measured_on
        if weights[place]:
            weights[place] *= best[name] / sums[name]
    return weights


def _voices(sources: Sequence[Neighbour]) -> NDArray[np.float64]:
    """Return the votes of each source where sources are counted, shape (S,).

    A voice weighs as its source is trusted; a table and its copies under other devices share one.
    """
    tables = [
        (source.problem.measured_on, source.problem.task_id, source.problem.count) for source in sources
    ]
    devices: dict[tuple[str, str, int | None], set[str]] = {}
    for table, source in zip(tables, sources, strict=True):
        devices.setdefault(table, set()).add(source.problem.hardware)
    return np.array(
        [
            source.problem.trust.weight / len(devices[table])
            for table, source in zip(tables, sources, strict=True)
        ]
    )


def _nearness(source: Neighbour, reach: float) -> float:
    """Return 1 for the same task on as many devices, halved at a distance of ``reach``."""
    if source.same_task and source.same_count:
        return 1.0
    return float(np.exp2(-((source.apart / reach) ** 2)))


def _alike(problem: Problem, sources: Sequence[Neighbour], facts: Facts) -> dict[str, float]:
    """Return the likeness of each device to the target within its distance class; 1 for the most alike."""
    target = device_row(facts, problem.hardware.name)[:_COMPARED]
    raw: dict[str, float] = {}
    most: dict[Distance, float] = {}
    for source in sources:
        name = source.problem.hardware
        if name not in raw:
            apart = np.abs(device_row(facts, name)[:_COMPARED] - target)
            finite = apart[np.isfinite(apart)]
            mean = float(finite.mean()) if len(finite) else 1.0
            raw[name] = math.exp(-_COMPARED * mean * math.log(2) / _LIKENESS)
        most[source.device] = max(most.get(source.device, 0.0), raw[name])
    return {source.problem.hardware: raw[source.problem.hardware] / most[source.device] for source in sources}


def score(
    problem: Problem,
    evidence: CandidateEvidence,
    model: ResponseModel | None,
    facts: Facts,
    reliability: Reliability,
    *,
    words_given: bool = False,
) -> Scores:
    """Compute the expected log regret of the candidates.

    Args:
        problem: The question.
        evidence: What the neighbours say.
        model: What was learned about the operator; None if nothing.
        facts: Facts by hardware id.
        reliability: How far each kind of evidence is trusted.
        words_given: The question fixes what has no scale, such as the framework.
    """
    weights = source_weights(problem, evidence, facts, reliability)
    chosen = _favoured(evidence, _tables(evidence, weights))
    parts: dict[str, tuple[float, NDArray[np.float64]]] = {}
    predicted = np.zeros((0, len(chosen)))
    model_weights = np.zeros(0)
    if model is not None and len(chosen) > 1:
        devices, model_weights = _asked(problem, evidence, model, facts, reliability)
        model_weights = model_weights * np.log10(max(_FEW, len(evidence.candidates)))
        candidates = [evidence.candidates[place] for place in chosen]
        predicted = model.predict(problem, candidates, devices, facts, words_given=words_given)
        predicted = predicted - predicted.min(axis=1, keepdims=True)
        for place, name in enumerate(devices):
            parts[f"model for {name}"] = (float(model_weights[place]), predicted[place])
    copied = _copied(evidence, chosen, weights, predicted, model_weights)
    total = weights.sum() + model_weights.sum()
    everything = np.concatenate([copied, predicted])
    all_weights = np.concatenate([weights, model_weights])
    if total <= 0:  # nothing but votes
        expected = np.zeros(len(chosen))
        spread = np.full(len(chosen), WORST)
    else:
        expected = all_weights @ everything / total
        spread = np.sqrt(all_weights @ (everything - expected) ** 2 / total)
    for place, source in enumerate(evidence.sources):
        if weights[place] > 0:
            parts[f"table {source.problem.id}"] = (float(weights[place]), copied[place])
    charged = expected + UNTRIED * (1 - _support(evidence, chosen))
    charged = charged - _VOTE * (_voices(evidence.sources) @ evidence.votes[:, chosen])
    best, fate = _best_of(evidence, chosen, reliability.reach)
    if len(chosen) <= SMALL or total <= 0:
        charged = charged + _OFTEN_BEST * (1 - fate @ best)
    return Scores(
        chosen=chosen,
        expected=expected,
        charged=charged,
        spread=spread,
        weights=weights,
        parts=parts,
        best=best,
        fate=fate,
    )


def _best_of(
    evidence: CandidateEvidence, chosen: NDArray[np.intp], reach: float
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    ratios = evidence.ratios[:, chosen]
    finite = np.isfinite(ratios)
    best = np.where(finite, np.exp(-np.where(finite, ratios, 0.0) / _NEAR_BEST), 0.0)
    best = np.maximum(best, _PUBLISHED * evidence.votes[:, chosen])
    fate = np.array(
        [
            _SHARED_FATE[source.device]
            * float(np.exp2(-((source.apart / reach) ** 2)))
            * (1.0 if source.same_count else RELAXED)
            * (RELAXED if relaxed else 1.0)
            * voice
            + 1e-9
            for source, relaxed, voice in zip(
                evidence.sources, evidence.relaxed, _voices(evidence.sources), strict=True
            )
        ]
    )
    return best, fate / max(float(fate.sum()), 1e-12)


def _tables(evidence: CandidateEvidence, weights: NDArray[np.float64]) -> NDArray[np.float64]:
    """Average over tables alone, to find the candidates worth scoring with the model."""
    finite = np.isfinite(evidence.ratios)
    filled = np.where(finite, np.minimum(np.nan_to_num(evidence.ratios), WORST), UNTRIED * 2)
    filled = np.where(evidence.failed, FAILED, filled)
    total = weights.sum()
    votes: NDArray[np.float64] = -(_voices(evidence.sources) @ evidence.votes)
    return weights @ filled / total if total > 0 else votes


def _favoured(evidence: CandidateEvidence, tables: NDArray[np.float64]) -> NDArray[np.intp]:
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


def _support(evidence: CandidateEvidence, chosen: NDArray[np.intp]) -> NDArray[np.float64]:
    """Return the share of comparable sources that have a candidate, shape (n,): the untried may not run."""
    weights = np.array(
        [
            (timed and source.same_count)
            * _nearness(source, _SUPPORT_REACH)
            * (RELAXED if relaxed else 1.0)
            * (0.5 if source.device is Distance.OTHER_VENDOR else 1.0)
            for source, timed, relaxed in zip(evidence.sources, evidence.timed, evidence.relaxed, strict=True)
        ]
    ) * _voices(evidence.sources)
    if not len(weights) or weights.sum() <= 0:
        return np.ones(len(chosen))
    share: NDArray[np.float64] = weights @ np.isfinite(evidence.ratios[:, chosen]) / weights.sum()
    return share


def _asked(
    problem: Problem,
    evidence: CandidateEvidence,
    model: ResponseModel,
    facts: Facts,
    reliability: Reliability,
) -> tuple[list[str], NDArray[np.float64]]:
    """Return the devices to predict for, with weights: the target, and the nearest sources."""
    nearest: dict[str, Neighbour] = {}
    for source in evidence.sources:
        name = source.problem.hardware
        if name in model.devices and (name not in nearest or source.apart < nearest[name].apart):
            nearest[name] = source
    alike = _alike(problem, list(nearest.values()), facts)
    by_device: dict[str, Neighbour] = {}
    for item in sorted(
        nearest.values(), key=lambda item: (item.device, -alike[item.problem.hardware], item.apart)
    ):
        by_device.setdefault(item.problem.measured_on, item)
    ranked = list(by_device.values())
    devices = [item.problem.hardware for item in ranked[:_VIRTUAL]]
    trusted = [
        reliability.classes[item.device].modelled * alike[item.problem.hardware] for item in ranked[:_VIRTUAL]
    ]
    target = problem.hardware.name
    if target not in devices:
        devices.append(target)
        trusted.append(_EXTRAPOLATED * max(trusted, default=1.0) if len(model.devices) > _VIRTUAL else 0.0)
    return devices, np.array(trusted)


def _copied(
    evidence: CandidateEvidence,
    chosen: NDArray[np.intp],
    weights: NDArray[np.float64],
    predicted: NDArray[np.float64],
    model_weights: NDArray[np.float64],
) -> NDArray[np.float64]:
    """Return each table's costs of the candidates; where it has none, the model's mean and a charge."""
    ratios = evidence.ratios[:, chosen]
    silent = np.zeros(len(chosen))
    if len(predicted) and model_weights.sum() > 0:
        silent = model_weights @ predicted / model_weights.sum()
    else:
        finite = np.isfinite(ratios)
        heard = weights @ finite
        silent = np.where(
            heard > 0,
            (weights @ np.where(finite, np.minimum(np.nan_to_num(ratios), WORST), 0.0))
            / np.maximum(heard, 1e-12),
            WORST / 2,
        )
    filled = np.where(np.isfinite(ratios), np.minimum(np.nan_to_num(ratios), WORST), silent + UNTRIED)
    return np.where(evidence.failed[:, chosen], FAILED, filled)
