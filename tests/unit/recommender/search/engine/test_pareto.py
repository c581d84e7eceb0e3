"""Fronts against brute force."""

import numpy as np

from recommender.search.engine.pareto import augmented_chebyshev, non_dominated


def test_the_front_is_what_nothing_is_better_than() -> None:
    points = np.array([[1, 4], [2, 2], [4, 1], [3, 3], [2, 2], [1, 5]], float)
    assert non_dominated(points).tolist() == [True, True, True, False, True, False]


def test_the_least_scalarised_point_is_on_the_front() -> None:
    rng = np.random.default_rng(3)
    points = rng.random((40, 3))
    front = non_dominated(points)
    for _ in range(20):
        assert front[np.argmin(augmented_chebyshev(points, rng.dirichlet(np.ones(3))))]
