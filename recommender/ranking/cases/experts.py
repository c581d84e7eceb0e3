"""Opinions of the experts on each candidate, in nats or shares; lower is better.

Whatever makes a source less like the question halves its voice: each step up the hardware tree, another
number of devices, something fixed otherwise. So voices need no table of weights. How far each expert is
followed is learned (:mod:`recommender.calibration.mixture`).

S: sources, n: candidates that are compared, V: devices that the response model answers for.
"""

from collections.abc import Callable, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from kg.nouns.entities import Configuration, Problem, Trust
from kg.nouns.values import Value, digest
from recommender.calibration.mixture import EXPERTS, PLACES, EvidenceClass
from recommender.calibration.response import ResponseModel
from recommender.ranking.cases.evidence import CandidateEvidence
from recommender.retrieval.neighbours import Neighbour

Facts = Callable[[str], Mapping[str, Value]]

WORST = 1.5
"""No single row counts as worse than this (a factor of 4.5): one bad or false source moves a mean by so much
at most. What the nearest case lacks, or what failed there, counts as this."""

NEAR_BEST = 0.1
"""Log ratio to the best at which a candidate counts 1/e as one of the best."""

MOSTLY = 0.5
"""Share of the candidates that the sources have timed from which they count as dense."""

_VIRTUAL = 3
"""Devices, besides the target, that the response model answers for."""


def program() -> str:
    """Return an identifier of what opinions are made with: learned weights fit these opinions alone."""
    return digest(
        *EXPERTS, str(PLACES), str(WORST), str(NEAR_BEST), str(MOSTLY), str(_VIRTUAL), "numbers alone"
    )[:8]


def voices(evidence: CandidateEvidence) -> NDArray[np.float64]:
    """Return how much each source is heard, shape (S,): by hardware, count and trust.

    A table and its copies under other devices share the voice of the nearest of them.
    """
    single = np.array(
        [
            source.problem.trust.weight * 0.5 ** (int(source.device) + (not source.same_count) + relaxed)
            for source, relaxed in zip(evidence.sources, evidence.relaxed.tolist(), strict=True)
        ]
    )
    tables = [
        (item.problem.measured_on, item.problem.task_id, item.problem.count) for item in evidence.sources
    ]
    most: dict[object, float] = {}
    total: dict[object, float] = {}
    for table, voice in zip(tables, single.tolist(), strict=True):
        most[table] = max(most.get(table, 0.0), voice)
        total[table] = total.get(table, 0.0) + voice
    shares = np.array([most[table] / total[table] for table in tables])
    return np.asarray(single * shares, np.float64)


def situation_of(evidence: CandidateEvidence) -> EvidenceClass | None:
    """Return the class of evidence that decides the trust in copying; None without a source of times."""
    timed = np.flatnonzero(evidence.timed)
    if not len(timed):
        return None
    nearest = min(evidence.sources[place].device for place in timed.tolist())
    return EvidenceClass(nearest, bool(np.isfinite(evidence.ratios[timed]).mean() >= MOSTLY))


def leader(evidence: CandidateEvidence) -> int | None:
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


def predictions(
    problem: Problem,
    evidence: CandidateEvidence,
    candidates: Sequence[Configuration],
    model: ResponseModel,
    facts: Facts,
) -> tuple[list[str], NDArray[np.float64], NDArray[np.float64]]:
    """Return devices, the model's log regrets for each, shape (V, n), and their voices, shape (V,).

    The model answers for the nearest devices it has seen, and for the target by its facts.
    """
    near: dict[str, Neighbour] = {}
    for source in sorted(evidence.sources, key=lambda item: (item.device, item.apart, item.problem.hardware)):
        if source.problem.hardware in model.devices:
            near.setdefault(source.problem.measured_on, source)
    chosen = list(near.values())[:_VIRTUAL]
    devices = [item.problem.hardware for item in chosen]
    heard = [0.5 ** int(item.device) for item in chosen]
    if problem.hardware.name not in devices:
        devices.append(problem.hardware.name)
        heard.append(max(heard, default=1.0))
    predicted = model.predict(problem, candidates, devices, facts, words_given=True)
    regrets = np.minimum(predicted - predicted.min(axis=1, keepdims=True), WORST)
    return devices, regrets, np.array(heard)


def opinions(
    evidence: CandidateEvidence,
    chosen: NDArray[np.intp],
    heard: NDArray[np.float64],
    modelled: NDArray[np.float64] | None,
) -> NDArray[np.float64]:
    """Return the nearest case's opinion and then the experts', shape (1 + E, n); lower is better.

    Args:
        evidence: What the neighbours say.
        chosen: The candidates that are compared, indices, shape (n,).
        heard: Voice of each source, shape (S,).
        modelled: Log regrets by the response model, shape (n,); without one the nearest case stands in.
    """
    ratios = evidence.ratios[:, chosen]
    finite = np.isfinite(ratios)
    least = np.where(finite, ratios, 0.0)
    share = heard / max(float(heard.sum()), 1e-12)
    nearest = np.zeros(len(chosen))
    first = leader(evidence)
    if first is not None:
        usable = finite[first] & ~evidence.failed[first, chosen]
        nearest = np.where(usable, np.minimum(least[first], WORST), WORST)
    among_best = np.maximum(np.where(finite, np.exp(-least / NEAR_BEST), 0.0), evidence.votes[:, chosen])
    timed = share * evidence.timed
    untried = 1 - timed @ finite / timed.sum() if timed.sum() > 0 else np.zeros(len(chosen))
    return np.stack([nearest, 1 - share @ among_best, nearest if modelled is None else modelled, untried])
