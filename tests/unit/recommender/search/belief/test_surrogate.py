"""The Gaussian process against the textbook."""

import numpy as np
import pytest

from recommender.search.belief.kernel import Hyperparameters, KernelPrior, matern
from recommender.search.belief.surrogate import PoolProcess

RNG = np.random.default_rng(0)
F = RNG.random((60, 3)).astype(np.float32)
B = np.column_stack([np.ones(60), F[:, 0] ** 2])
W = np.array([0.5, 1.0])
COVARIANCE = np.diag([0.25, 0.1])


def process(points: int = len(F)) -> PoolProcess:
    return PoolProcess(
        features=F[:points],
        groups=np.arange(3),
        basis=B[:points],
        weights=W,
        covariance=COVARIANCE,
        prior=KernelPrior.usual(3, 1.0),
    )


def textbook(p: PoolProcess, rows: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    scaled = F.astype(float) / p.kernel.scales
    k = matern(scaled, scaled, p.kernel.amplitude) + B @ COVARIANCE @ B.T
    k = k + (0 if p._doubt is None else p._doubt.between(np.arange(60), np.arange(60)))
    inner = k[np.ix_(rows, rows)] + np.eye(len(rows)) * (p.kernel.noise**2 + 1e-5 * p.kernel.amplitude**2)
    gain = np.linalg.solve(inner, k[rows]).T
    return B @ W + gain @ (y - B[rows] @ W), np.diag(k - gain @ k[rows])


class _Doubt:
    """A covariance that rows share beyond that of their features."""

    def between(self, rows: np.ndarray, others: np.ndarray | slice) -> np.ndarray:
        return np.asarray(0.3 * np.outer(F[rows, 1], F[others, 1]), np.float32)

    variance = 0.3 * F[:, 1] ** 2


def test_the_evidence_is_the_textbooks_with_all_that_rows_share() -> None:
    rows, y, noise = np.array([3, 9, 20, 41]), np.array([0.1, 1.3, 0.7, 2.0]), np.ones(4)
    values = []
    for doubt in (None, _Doubt()):
        p = process()
        p._doubt = doubt  # type: ignore[assignment]
        theta = p._prior.mean + 0.1
        length, (amplitude, noise_s) = np.exp(theta[:-2]), np.exp(theta[-2:])
        scaled = F[rows].astype(float) / length
        k = matern(scaled, scaled, amplitude) + (B @ COVARIANCE @ B.T)[np.ix_(rows, rows)]
        k += 0 if doubt is None else doubt.between(rows, rows)
        k += np.eye(4) * (noise_s**2 + 1e-5 * amplitude**2)
        centred, away = y - B[rows] @ W, 0.1 / p._prior.stdev
        expected = (
            0.5 * centred @ np.linalg.solve(k, centred) + 0.5 * np.linalg.slogdet(k)[1] + 0.5 * away @ away
        )
        values.append(p._evidence(rows, y, noise)(theta)[0] - expected)
    assert values == pytest.approx([0, 0], abs=2e-3)


@pytest.mark.parametrize("doubt", [None, _Doubt()])
def test_conditioning_is_the_textbook(doubt: _Doubt | None) -> None:
    rows, y = np.array([3, 9, 20, 41]), np.array([0.1, 1.3, 0.7, 2.0])
    p = process()
    p._doubt = doubt  # type: ignore[assignment]
    p.condition(rows, y)
    mean, variance = textbook(p, rows, y)
    assert p.mean == pytest.approx(mean, abs=2e-3)
    assert p.variance == pytest.approx(variance, abs=5e-3)


def test_adding_one_by_one_is_conditioning_on_all() -> None:
    rows, y = np.array([3, 9, 20, 41, 9]), np.array([0.1, 1.3, 0.7, 2.0, 1.2])
    p, q = process(), process()
    p.condition(rows, y)
    q.condition(rows[:1], y[:1])
    for row, value in zip(rows[1:].tolist(), y[1:].tolist(), strict=True):
        q.add(row, value)
    assert q.mean == pytest.approx(p.mean, abs=2e-3)
    assert q.variance == pytest.approx(p.variance, abs=2e-3)


def test_a_larger_pool_and_a_look_agree() -> None:
    rows, y = np.array([1, 2, 5]), np.array([0.3, 0.1, 0.9])
    small = process(40)
    small.condition(rows, y)
    whole = process()
    whole.condition(rows, y)
    mean, variance = small.look(F[40:], B[40:])
    assert mean == pytest.approx(whole.mean[40:], abs=2e-3)
    small.append(F[40:], B[40:])
    assert small.mean == pytest.approx(whole.mean, abs=2e-3)
    assert small.variance[40:] == pytest.approx(variance, abs=2e-3)


def test_going_back_undoes_what_was_added() -> None:
    p = process()
    p.condition(np.array([1, 2]), np.array([0.3, 0.1]))
    before, mean = p.state(), p.mean.copy()
    p.add(7, -3.0)
    assert not np.allclose(p.mean, mean)
    p.go_back(before)
    assert np.array_equal(p.mean, mean)


def test_a_pool_that_grew_meanwhile_is_kept_when_going_back() -> None:
    p = process(50)
    rows, y = np.array([3, 9, 20]), np.array([0.1, 1.3, 0.7])
    p.condition(rows, y)
    before = p.state()
    p.add(41, 0.2)
    p.append(F[50:], B[50:])
    p.go_back(before)
    p.add(55, 0.4)
    mean, _ = textbook(p, np.append(rows, 55), np.append(y, 0.4))
    assert p.mean == pytest.approx(mean, abs=2e-3)


def test_the_gradient_is_the_slope() -> None:
    rows = np.arange(0, 30)
    y = np.sin(4 * F[rows, 0].astype(float)) + F[rows, 1]
    evidence = process()._evidence(rows, y, np.ones(30))
    theta = np.log(np.array([0.5, 0.9, 2.0, 0.8, 0.05]))
    _, gradient = evidence(theta)
    for k in range(5):
        step = np.eye(5)[k] * 1e-5
        slope = (evidence(theta + step)[0] - evidence(theta - step)[0]) / 2e-5
        assert gradient[k] == pytest.approx(slope, rel=1e-3, abs=1e-4)


def test_fitting_finds_the_parameter_that_matters() -> None:
    rows = np.arange(60)
    p = process()
    p.choose(rows, np.sin(9 * F[:, 1].astype(float)), steps=40)
    assert p.kernel.scales.argmin() == 1
    assert p.kernel.scales[1] < 0.5 * p.kernel.scales[[0, 2]].min()


def test_hyperparameters_go_there_and_back() -> None:
    kernel = Hyperparameters(scales=np.array([0.5, 2.0]), amplitude=1.5, noise=0.01)
    again = Hyperparameters.unpacked(kernel.packed())
    assert again.amplitude == pytest.approx(1.5)
    assert again.scales == pytest.approx([0.5, 2.0])


@pytest.mark.parametrize(
    ("amplitude", "offset", "apart"), [(0.03, 1.0, 0.0), (0.3, 3.0, 0.0), (0.01, 1.0, 0.3)]
)
def test_results_that_the_others_determine_do_not_blow_up_rounding(
    amplitude: float, offset: float, apart: float
) -> None:
    rng = np.random.default_rng(3)
    features = np.repeat(rng.random((4, 3)), 25, axis=0) + apart * rng.random((100, 3))
    p, q = (
        PoolProcess(
            features=features.astype(np.float32),
            groups=np.arange(3),
            basis=np.ones((100, 1)),
            weights=np.zeros(1),
            covariance=offset**2 * np.eye(1),
            prior=KernelPrior.usual(3, 1.0),
        )
        for _ in range(2)
    )
    p.kernel = q.kernel = Hyperparameters(amplitude=amplitude, noise=1e-3, scales=np.full(3, 5.0))
    rows, y = rng.permutation(100)[:80], rng.normal(size=4)[np.arange(100) // 25]
    rows = np.concatenate([rows, rows])
    p.condition(rows[:1], y[rows[:1]])
    for row in rows[1:].tolist():
        p.add(row, float(y[row]))
    q.condition(rows, y[rows])
    assert p.mean == pytest.approx(q.mean, abs=0.05)
    assert (p.variance > 0).all()
