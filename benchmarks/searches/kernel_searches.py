"""Searches of kernel spaces: ours to its figures, and what others do from the same knowledge."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from benchmarks.worlds.kernel_spaces import CAP, OBJECTIVES, Space
from kg.nouns.entities import Status
from kg.nouns.values import Settings
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


def warm(
    space: Space, sources: Sequence[SourceTable], seed: int, first: Sequence[Settings] = ()
) -> list[Any]:
    """Our search to its figures, from sources."""
    search = Search(space=space.space, objectives=OBJECTIVES, sources=list(sources), seed=seed)
    return run(space, search, CAP, first)


class ColdSearches:
    """Our searches without sources, each run once."""

    def __init__(self) -> None:
        self._logs: dict[tuple[int, int], list[Any]] = {}

    def log(self, space: Space, seed: int, count: int = CAP) -> list[Any]:
        """The first evaluations of a space, all of it where it has no more."""
        key, count = (id(space), seed), min(count, len(space.costs))
        if len(self._logs.get(key, ())) < count:
            search = Search(space=space.space, objectives=OBJECTIVES, seed=seed)
            self._logs[key] = run(space, search, count, whole=True)
        return self._logs[key][:count]


def needed(space: Space, log: Sequence[Any]) -> int:
    """Evaluations to within 5 %, at most CAP."""
    return min(space.within([cost for _, cost in log], 0.05), CAP)


def at_random(space: Space, seed: int) -> list[Any]:
    settings = list(space.costs)
    order = np.random.default_rng([seed, 6]).permutation(len(settings))[:CAP]
    return [(settings[i], space.costs[settings[i]]) for i in order]
