"""Hypervolumes against brute force."""

import numpy as np
import pytest

from benchmarks.searches.hypervolume import hypervolume


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
