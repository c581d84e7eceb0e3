"""The pool and its reserve."""

import numpy as np

from recommender.search.engine.candidates import SCREENED, Candidates
from recommender.space.constraint import Constraint
from recommender.space.parameters import Parameter, ParameterKind
from recommender.space.space import SearchSpace


def grid(side: int) -> SearchSpace:
    return SearchSpace(
        parameters=tuple(Parameter(name=n, kind=ParameterKind.INTEGER, low=0, high=side - 1) for n in "xy"),
        constraints=(Constraint(expression="x >= y"),),
    )


def test_a_small_space_is_the_pool() -> None:
    pool = Candidates(grid(10), np.random.default_rng(0))
    assert pool.complete
    assert (len(pool), pool.remaining, len(pool.reserve)) == (55, 55, 0)


def test_of_a_large_space_the_best_leave_the_reserve() -> None:
    pool = Candidates(grid(120), np.random.default_rng(0))
    assert len(pool) < SCREENED < 7260 == pool.remaining
    scores = pool.reserve.sum(axis=1)
    best = pool.reserve[np.argmax(scores)]
    before = len(pool)
    gone = pool.promote(scores, 100)
    assert (len(gone), len(pool)) == (100, before + 100)
    assert pool.row(best) is not None
    assert pool.remaining == 7260


def test_the_farthest_is_far_from_all_that_are_taken() -> None:
    pool = Candidates(grid(10), np.random.default_rng(0))
    pool.open[[0, len(pool) - 1]] = False
    taken = pool.features[~pool.open]
    away = ((pool.features[:, None] - taken) ** 2).sum(axis=2).min(axis=1)
    assert pool.open[pool.farthest()]
    assert away[pool.farthest()] == away[pool.open].max()


def test_what_is_fresh_is_open_or_unknown() -> None:
    pool = Candidates(grid(10), np.random.default_rng(0))
    pool.open[1] = False
    assert pool.fresh(pool.u[:3]).tolist() == [True, False, True]
    assert pool.fresh(pool.u[:1] + 0.001).tolist() == [True]


def test_a_huge_space_is_sampled_and_neighbours_are_allowed() -> None:
    space = grid(4000)
    pool = Candidates(space, np.random.default_rng(0))
    assert not pool.complete
    assert pool.remaining is None
    near = pool.neighbours(5, np.random.default_rng(1))
    assert len(near)
    assert all(space.violated(s) is None for s in space.decode(near))


def test_neighbours_differ_in_one_parameter_or_two() -> None:
    space = SearchSpace(
        parameters=tuple(Parameter(name=n, kind=ParameterKind.INTEGER, low=0, high=4000) for n in "abcde")
    )
    pool = Candidates(space, np.random.default_rng(0))
    near = pool.neighbours(5, np.random.default_rng(1))
    changed = (np.abs(near - pool.u[5]) > 1e-9).sum(axis=1)
    assert set(changed.tolist()) <= {0, 1, 2}
    assert {1, 2} <= set(changed.tolist())
    steps = np.abs(near - pool.u[5])[changed == 1].max(axis=1)
    assert np.median(steps) < 0.3  # half of them near by, the others anywhere
    assert steps.max() > 0.3
