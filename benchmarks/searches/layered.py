"""Ways to search a model of parts, beside each other in ``staged_search.py``."""

import math
from typing import Any

import numpy as np

from benchmarks.worlds.kernel_spaces import CAP, OBJECTIVES
from benchmarks.worlds.part_worlds import World
from kg.nouns.values import Settings
from recommender.search.belief.acquisition import log_expected_improvement
from recommender.search.engine.composition import Composition
from recommender.search.engine.search import DESIGN, Search
from recommender.search.evaluations import Evaluation

WAYS = ("parts", "joint", "in_turn", "amdahl")
TURN = 25
"""Evaluations for each part where they are tuned one after the other; a choice: the rest is for the whole."""


def search(world: World, way: str, seed: int) -> list[tuple[Settings, float]]:
    """Configurations and costs in order."""
    if way in ("parts", "joint"):
        parts = world.parts if way == "parts" else ()
        return _run(world, Search(space=world.space, objectives=OBJECTIVES, seed=seed, parts=parts), [])
    return _by_parts(world, way, seed)


def _run(world: World, whole: Search, found: list[Any]) -> list[Any]:
    while len(found) < CAP and not (found and world.enough([c for _, c in found])):
        asked = whole.ask()[0]
        told = world.evaluation(asked.configuration)
        whole.tell(told, asked.number)
        found.append((asked.configuration, told.values[0] if told.ok else math.inf))
    return found


def _by_parts(world: World, way: str, seed: int) -> list[Any]:
    """A search a part, in turn or by the largest expected gain of the whole, beside the best; then jointly."""
    whole = Search(space=world.space, objectives=OBJECTIVES, seed=seed)
    searches = [Search(space=part.space, objectives=OBJECTIVES, seed=seed) for part in world.parts]
    state = Composition(world.space, world.parts, searches)
    found: list[Any] = []
    tried: set[Settings] = set()

    def evaluate(settings: Settings) -> None:
        told = world.evaluation(settings)
        whole.tell(told)
        state.tell(told, kept=told.ok)
        tried.add(settings)
        found.append((settings, told.values[0] if told.ok else math.inf))

    while len(found) < CAP and not (found and world.enough([c for _, c in found])):
        best = whole.incumbent
        if best is None or len(found) < DESIGN:
            evaluate(whole.ask()[0].configuration)
            continue
        place = min(len(found) // TURN, len(searches))
        if way == "amdahl":
            place = int(np.argmax([_gain(s, t, best) for s, t in zip(searches, best.parts, strict=True)]))
        asked = searches[place].ask() if place < len(searches) else []
        settings = Settings({**best.configuration, **(asked[0].configuration if asked else {})})
        if settings in tried or not world.space.allowed(world.space.encode([settings]))[0]:
            settings = whole.ask()[0].configuration
        evaluate(settings)
    return found


def _gain(search: Search, cost: float, best: Evaluation) -> float:
    """Expected gain of the whole by one evaluation of a part."""
    held, known = search.outlook(), search.incumbent
    if known is None:
        return 0.0
    least = math.log(float(known.values[0] or 0.0))
    gains = log_expected_improvement(held.mean, held.stdev, least) + held.allowed
    gain = math.exp(float(gains[held.open].max()))
    return gain * cost / sum(best.parts)
