"""Searches of kernel spaces: ours to its figures, and what others do from the same knowledge."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.worlds.kernel_spaces import CAP, OBJECTIVES, Space
from kg.nouns.entities import Status
from kg.nouns.values import Settings
from recommender.search.belief.mixture import Mixture
from recommender.search.engine.search import Search
from recommender.search.evaluations import Evaluation, SourceTable


def evaluation(space: Space, settings: Settings) -> Evaluation:
    cost = space.costs[settings]
    if math.isfinite(cost):
        return Evaluation(configuration=settings, values=(cost,))
    return Evaluation(configuration=settings, values=(None,), status=Status.FAILED)


def run(
    space: Space, search: Search, count: int, first: Sequence[Settings] = (), *, whole: bool = False
) -> list[Any]:
    """Evaluate until the figures are known; (configuration, cost) in order."""
    found = []
    for settings in first:
        search.tell(evaluation(space, settings))
        found.append((settings, space.costs[settings]))
    while len(found) < count and (whole or not found or not space.enough([c for _, c in found])):
        asked = search.ask()
        if not asked:
            break
        settings = asked[0].configuration
        search.tell(evaluation(space, settings), asked[0].number)
        found.append((settings, space.costs[settings]))
    assert len({settings for settings, _ in found}) == len(found), "a configuration was proposed twice"
    return found


def table(source: Space, log: list[Any], similarity: float) -> SourceTable:
    return SourceTable(
        name=source.device,
        similarity=similarity,
        configurations=[settings for settings, _ in log],
        costs=np.array([cost for _, cost in log]),
    )


def best_of(space: Space, log: list[Any]) -> list[Settings]:
    """The best of a log that exists in a space."""
    ranked = sorted((cost, i) for i, (_, cost) in enumerate(log) if math.isfinite(cost))
    return [log[i][0] for _, i in ranked if log[i][0] in space.costs][:1]


def bests(space: Space, logs: list[Any], seed: int) -> list[Settings]:
    """The best of each source that exists in a space, in random order."""
    rng = np.random.default_rng([seed, 5])
    first: list[Settings] = []
    for k in rng.permutation(len(logs)):
        first += [s for s in best_of(space, logs[k]) if s not in first]
    return first


def best_first(space: Space, first: list[Settings], seed: int) -> list[Any]:
    return run(space, Search(space=space.space, objectives=OBJECTIVES, seed=seed), CAP, first)


def at_random(space: Space, seed: int) -> list[Any]:
    settings = list(space.costs)
    order = np.random.default_rng([seed, 6]).permutation(len(settings))[:CAP]
    return [(settings[i], space.costs[settings[i]]) for i in order]


def rgpe(space: Space, sources: list[SourceTable], seed: int) -> list[Any]:
    """Ranking-weighted ensemble: sources and target weighted by how often each ranks the results best."""
    from recommender.search.belief.mixture import Mixture, log_expected_improvement
    from recommender.search.belief.transfer import learn
    from recommender.search.engine.candidates import Candidates

    rng = np.random.default_rng([seed, 8])
    pool = Candidates(space.space, rng)
    models = [m for s in sources if (m := learn(space.space, s, soft=False)) is not None]
    predicted = np.stack([m.predict(pool.features) for m in models], axis=1)
    predicted = predicted / np.maximum(predicted.std(axis=0), 1e-9)
    target = Mixture(
        features=pool.features,
        groups=space.space.groups,
        predictions=np.zeros((len(pool), 0)),
        shares=np.zeros(0),
    )
    found: list[Any] = []
    rows: list[int] = []
    costs: list[float] = []
    while len(found) < CAP and (not found or not space.enough([c for _, c in found])):
        weights = np.full(len(models) + 1, 1 / len(models))
        weights[-1] = 0.0
        seen = np.array(costs)
        ran = np.isfinite(seen)
        if ran.sum() >= 3:
            y = np.where(ran, seen, seen[ran].max())
            weights = _rgpe_weights(predicted[rows], target, rows, y, rng)
        scale = max(float(seen[ran].std()), 0.05) if ran.any() else 1.0
        mean = predicted @ weights[:-1]
        std = np.full(len(pool), 0.3)
        if ran.any():
            mean = mean + weights[-1] * (target.mean - seen[ran].mean()) / scale
            std = np.sqrt(weights[-1] ** 2 * target.variance / scale**2 + (1 - weights[-1]) * 0.05)
            score = log_expected_improvement(mean, np.maximum(std, 1e-6), float(mean[rows].min()))
        else:
            score = -mean
        row = int(np.argmax(np.where(pool.open, score, -np.inf)))
        settings = pool.configuration(row)
        pool.open[row] = False
        rows.append(row)
        costs.append(math.log(space.costs[settings]) if math.isfinite(space.costs[settings]) else math.inf)
        target.tell(row, costs[-1])
        found.append((settings, space.costs[settings]))
    return found


def _rgpe_weights(
    predicted: NDArray[np.float64],
    target: Mixture,
    rows: list[int],
    y: NDArray[np.float64],
    rng: np.random.Generator,
) -> NDArray[np.float64]:
    """Share of 64 bootstrap draws in which a model misranks the fewest pairs; the target left one out."""
    models = predicted.shape[1]
    order = y[:, None] < y[None, :]
    wrong = [(predicted[:, None, s] < predicted[None, :, s]) != order for s in range(models)]
    own = target.mean[rows] + np.sqrt(target.variance[rows]) * rng.standard_normal(len(rows))
    noisy = own + 0.3 * y.std() * rng.standard_normal(len(rows))  # stands in for leaving one out
    wrong.append((noisy[:, None] < noisy[None, :]) != order)
    votes = np.zeros(models + 1)
    for _ in range(64):
        drawn = rng.integers(len(y), size=len(y))
        lost = np.array([w[np.ix_(drawn, drawn)].sum() for w in wrong])
        least = np.flatnonzero(lost == lost.min())
        votes[rng.choice(least)] += 1
    return np.asarray(votes / votes.sum())
