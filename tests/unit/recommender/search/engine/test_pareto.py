"""Fronts and hypervolumes against brute force."""

import numpy as np
import pytest

from recommender.search.engine.pareto import augmented_chebyshev, hypervolume, non_dominated


@pytest.mark.parametrize("dimensions", [1, 2, 3])
@pytest.mark.parametrize("seed", range(4))
def test_hypervolume_is_the_share_of_a_grid(dimensions: int, seed: int) -> None:
    points = np.random.default_rng(seed).integers(0, 8, (6, dimensions)) / 8
    axes = [(np.arange(8) + 0.5) / 8] * dimensions
    cells = np.stack(np.meshgrid(*axes), axis=-1).reshape(-1, dimensions)
    covered = np.any(np.all(points[None] < cells[:, None], axis=2), axis=1).mean()
    assert hypervolume(points, np.ones(dimensions)) == pytest.approx(covered)


def test_points_beyond_the_reference_count_nothing() -> None:
    assert hypervolume(np.array([[0.5, 2.0], [2.0, 0.5]]), np.ones(2)) == 0
    assert hypervolume(np.zeros((0, 2)), np.ones(2)) == 0


def test_the_front_is_what_nothing_is_better_than() -> None:
    points = np.array([[1, 4], [2, 2], [4, 1], [3, 3], [2, 2], [1, 5]], float)
    assert non_dominated(points).tolist() == [True, True, True, False, True, False]


def test_the_least_scalarised_point_is_on_the_front() -> None:
    rng = np.random.default_rng(3)
    points = rng.random((40, 3))
    front = non_dominated(points)
    for _ in range(20):
        assert front[np.argmin(augmented_chebyshev(points, rng.dirichlet(np.ones(3))))]
