"""From beliefs to the configuration to evaluate next."""

import numpy as np
import pytest

from kg.nouns.entities import Better, Limit, Objective, Status
from kg.nouns.values import Settings
from recommender.search.belief.mixture import Mixture
from recommender.search.engine.feasibility import FeasibilityModel
from recommender.search.engine.proposal import Beliefs, propose
from recommender.search.engine.tally import Tally
from recommender.search.evaluations import Evaluation

F = np.linspace(0, 1, 41, dtype=np.float32)[:, None]
COST = (F[:, 0].astype(float) - 0.7) ** 2 * 8
TIME = Objective(metric="kernel_time", better=Better.LOWER)
ENERGY = Objective(metric="energy", better=Better.LOWER)
MEMORY = Limit(metric="peak_memory", maximum=1.0, unit="B")


class World:
    """A line of 41 candidates, of which some were told."""

    def __init__(self, objectives: int = 1, *, limited: bool = False, source: bool = False) -> None:
        def mixture(foretold: np.ndarray | None = None) -> Mixture:
            known = np.zeros((41, 0)) if foretold is None else foretold[:, None]
            return Mixture(features=F, groups=np.arange(1), predictions=known, shares=np.ones(known.shape[1]))

        self.beliefs = Beliefs(
            objectives=tuple(mixture(-COST if source and k == 0 else None) for k in range(objectives)),
            limits=(mixture(),) if limited else (),
            feasibility=FeasibilityModel(F),
        )
        self.open = np.ones(41, bool)
        self.tally = Tally(objectives=(TIME, ENERGY, TIME)[:objectives], limits=(MEMORY,) if limited else ())

    def tell(self, row: int, *values: float | None) -> None:
        ok = values[0] is not None
        self.open[row] = False
        count = len(self.tally.evaluations)
        configuration = Settings({"at": row, "count": count})
        self.tally.add(
            Evaluation(
                configuration=configuration,
                values=tuple(None if v is None else v for v in values),
                status=Status.OK if ok else Status.FAILED,
            ),
            row,
        )
        objectives = len(self.beliefs.objectives)
        costs = [np.inf if v is None else float(np.log(v)) for v in values[:objectives]]
        self.beliefs.tell(row, [*costs, *[None if v is None else v - 1.0 for v in values[objectives:]]], 1.0)
        self.beliefs.feasibility.add(F[[row]], np.array([not ok]))

    def next(self, step: int = 0) -> int:
        return propose(self.beliefs, self.open, self.tally, np.random.default_rng(0), step)


def test_the_best_is_found_and_nothing_is_proposed_twice() -> None:
    world = World()
    for row in (0, 20, 40):
        world.tell(row, float(np.exp(COST[row])))
    for _ in range(8):
        row = world.next()
        assert world.open[row]
        world.tell(row, float(np.exp(COST[row])))
    assert world.tally.best is not None
    assert world.tally.best < 0.01


def test_what_cannot_run_waits_until_nothing_else_is_left() -> None:
    world = World()
    for row in range(20, 41, 2):
        world.tell(row, None)
    for row in range(0, 20, 4):
        world.tell(row, 1.0 + row)
    assert world.next() < 20
    world.open[:20] = False
    assert world.next() >= 20


def test_before_anything_counts_the_best_foretold_comes_first() -> None:
    assert World(source=True).next() == int(np.argmax(COST))


def test_a_limit_keeps_the_search_on_its_side() -> None:
    world = World(limited=True)
    for row in range(0, 41, 5):
        world.tell(row, float(np.exp(COST[row])), 0.5 if row <= 20 else 3.0)
    assert world.next() <= 24


def test_now_and_then_the_sources_are_not_asked() -> None:
    world = World(source=True)  # which foretells the reverse
    for row in (0, 1, 2):
        world.tell(row, float(np.exp(COST[row])))
    alone = world.beliefs.objectives[0].improvement_without_sources(float(COST[2]) - 0.05)
    assert alone is not None
    assert world.next(4) == int(np.argmax(np.where(world.open, alone, -np.inf)))
    assert world.next(4) > world.next(5)


@pytest.mark.parametrize("objectives", [2, 3])
def test_several_objectives_reach_the_front(objectives: int) -> None:
    world = World(objectives)

    def values(row: int) -> list[float]:
        x = float(F[row, 0])
        return [1.0 + (x - 0.3) ** 2, 1.0 + (x - 0.6) ** 2, 1.0 + (x - 0.45) ** 2][:objectives]

    for row in (0, 20, 40):
        world.tell(row, *values(row))
    for _ in range(8):
        row = world.next()
        world.tell(row, *values(row))
    inside = [e for e in world.tally.comparable()[0] if 11 <= int(str(e.configuration["at"])) <= 25]
    assert len(inside) >= 4
