"""The learned residual beside its formula, written out one pair of points at a time."""

import math

import numpy as np
import pytest

from recommender.cost_model.operators.residual import CHUNK, Process


@pytest.mark.parametrize("rough", [True, False])
def test_a_process_is_its_mean_and_the_kernels_of_its_points(rough: bool) -> None:
    rng = np.random.default_rng(3)
    points, queries = rng.normal(size=(7, 3)), rng.normal(size=(CHUNK + 2, 3))
    weights, amplitudes = rng.normal(size=7), np.array([0.3, -0.4])
    scales = np.array([[0.2, -0.5, -math.inf], [-math.inf, 0.1, 0.6]])
    made = Process(points, weights, amplitudes, scales, mean=0.7, rough=rough).predict(queries)
    expected = []
    for query in queries:
        total = 0.7
        for point, weight in zip(points, weights, strict=True):
            for amplitude, row in zip(amplitudes, scales, strict=True):
                far = math.dist(query * np.exp(row), point * np.exp(row))
                near = math.exp(-far) if rough else (1 + math.sqrt(3) * far) * math.exp(-math.sqrt(3) * far)
                total += math.exp(2 * amplitude) * near * weight
        expected.append(total)
    assert made == pytest.approx(expected, abs=2e-3)


def test_far_from_every_point_a_process_is_its_mean() -> None:
    process = Process(np.zeros((2, 1)), np.ones(2), np.zeros(1), np.zeros((1, 1)), mean=-0.25, rough=False)
    assert process.predict(np.array([[1e3]])) == pytest.approx([-0.25])
