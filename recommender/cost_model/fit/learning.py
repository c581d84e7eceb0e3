"""Fitting, offline: constants of the physics and the learned residual. Needs scikit-learn (and its scipy).

Nothing here is imported when a cost is predicted.

Notation: X features (n, d); y log ratio of measured over analytic time (n,); noise per point is
``exp(2 a) + exp(2 b) short`` where ``short`` is near 1 for kernels that last as long as their launch.
"""

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from kg.errors import MissingDependencyError
from recommender.cost_model.facts.physics import PHYSICS, Floats
from recommender.cost_model.operators.residual import Forest, Process, Residual, forest_of

Groups = Sequence[NDArray[np.intp]]

TREES = 64
JITTER = 1e-8
REWEIGHTINGS = 6


def _need(name: str) -> None:
    from importlib.util import find_spec

    if find_spec(name) is None:
        raise MissingDependencyError(
            "calibration needs scikit-learn", hint="in a clone: pip install '.[learn]'"
        )


def fit_constants(
    analytic: Callable[[Floats], Floats], prior: Floats, measured: Floats, *, pull: float = 0.05
) -> Floats:
    """Constants (as logarithms) that bring analytic times nearest to measured ones.

    Minimises the mean absolute log error, smoothed near zero, with a weak pull to the prior.

    Args:
        analytic: Times for given log constants, shape (n,).
        prior: Log constants to start from and stay near.
        measured: Measured times in the same unit, shape (n,).
        pull: Weight of the prior.
    """
    _need("scipy")
    from scipy.optimize import least_squares

    target = np.log(measured)
    root = np.sqrt(len(measured))

    def errors(constants: Floats) -> Floats:
        miss = np.log(analytic(constants)) - target
        soft = np.sign(miss) * np.sqrt(
            2 * (np.sqrt(1 + (miss / PHYSICS["smooth_error"]) ** 2) - 1) * PHYSICS["smooth_error"]
        )
        return np.concatenate([soft, pull * root * (constants - prior)])

    best = prior
    for start in (prior, prior + 0.1, prior - 0.1):
        found = least_squares(errors, start, diff_step=3e-3, max_nfev=60)
        if np.sum(errors(found.x) ** 2) < np.sum(errors(best) ** 2):
            best = found.x
    return np.asarray(best, dtype=np.float64)


def _covariance(
    x: Floats, theta: Floats, kernels: Sequence[Sequence[int]], rough: bool
) -> tuple[Floats, list[tuple[Floats, Floats, Floats]]]:
    total = np.zeros((len(x), len(x)))
    parts = []
    at = 0
    for used in kernels:
        scale = np.exp(theta[at + 1 : at + 1 + len(used)])
        a = x[:, list(used)] * scale
        square = np.maximum((a * a).sum(1)[:, None] + (a * a).sum(1)[None] - 2 * a @ a.T, 1e-6)
        distance = np.sqrt(square if rough else 3 * square)
        decay = np.exp(2 * theta[at] - distance)
        kernel = decay if rough else (1 + distance) * decay
        slope = decay / distance / 3 if rough else decay  # dk/d(square) = -3/2 slope
        total += kernel
        parts.append((kernel, slope, a))
        at += 1 + len(used)
    return total, parts


def fit_process(
    x: Floats,
    y: Floats,
    short: Floats,
    *,
    kernels: Sequence[Sequence[int]],
    groups: Groups,
    rough: bool,
    iterations: int,
) -> tuple[Process, Floats]:
    """A Gaussian process by maximum a posteriori likelihood, hyperparameters under a wide normal prior.

    Returns:
        The process, and its predictions with each group left out, from one matrix inverse.
    """
    _need("scipy")
    from scipy.optimize import minimize

    mean = float(np.median(y))
    centred = y - mean
    prior = np.concatenate([[-1.2] + [-1.0] * len(used) for used in kernels] + [[-2.5, -2.5]])
    identity = np.eye(len(y))

    def noise(theta: Floats) -> Floats:
        return np.asarray(np.exp(2 * theta[-2]) + np.exp(2 * theta[-1]) * short + JITTER)

    def loss(theta: Floats) -> tuple[float, Floats]:
        covariance, parts = _covariance(x, theta, kernels, rough)
        try:
            lower = np.linalg.cholesky(covariance + np.diag(noise(theta)))
        except np.linalg.LinAlgError:
            return 1e9, np.zeros_like(theta)
        half = np.linalg.solve(lower, identity)
        inverse = half.T @ half
        weights = inverse @ centred
        value = 0.5 * float(centred @ weights) + float(np.log(np.diag(lower)).sum())
        outer = 0.5 * (inverse - np.outer(weights, weights))
        gradient: list[float] = []
        for kernel, slope, a in parts:
            gradient.append(2 * float((outer * kernel).sum()))
            pressed = outer * slope * 3
            rows = pressed.sum(1)
            mixed = pressed @ a
            gradient += [
                float(-2 * ((a[:, j] ** 2 * rows).sum() - a[:, j] @ mixed[:, j])) for j in range(a.shape[1])
            ]
        diagonal = np.diag(outer)
        gradient += [
            2 * float(np.exp(2 * theta[-2]) * diagonal.sum()),
            2 * float(np.exp(2 * theta[-1]) * (diagonal * short).sum()),
        ]
        apart = theta - prior
        return value + 0.5 * float(apart @ apart), np.array(gradient) + apart

    found = minimize(loss, prior, jac=True, method="L-BFGS-B", options={"maxiter": iterations})
    theta = np.asarray(found.x)
    covariance, _ = _covariance(x, theta, kernels, rough)
    variance = _reweighted(covariance, centred, noise(theta))
    inverse = np.linalg.inv(covariance + np.diag(variance))
    weights = inverse @ centred
    left_out = np.empty(len(y))
    for rows in groups:  # Rasmussen and Williams 2006, eq. 5.12, by blocks
        left_out[rows] = y[rows] - np.linalg.solve(inverse[np.ix_(rows, rows)], weights[rows])
    scales = np.full((len(kernels), x.shape[1]), -np.inf)
    amplitudes = np.empty(len(kernels))
    at = 0
    for index, used in enumerate(kernels):
        amplitudes[index] = theta[at]
        scales[index, list(used)] = theta[at + 1 : at + 1 + len(used)]
        at += 1 + len(used)
    return Process(x, weights, amplitudes, scales, mean, rough), left_out


def _reweighted(covariance: Floats, y: Floats, noise: Floats) -> Floats:
    """Noise under which least squares is least relative error, by reweighting.

    A miss of ``d = guess - y`` costs ``|exp(d) - 1|`` and not ``d ** 2``, so its noise grows by
    ``d ** 2`` over that, in units of its own standard deviation: one slow repeat pulls less.
    """
    scale = np.sqrt(noise)
    variance = noise
    for _ in range(REWEIGHTINGS):
        miss = covariance @ np.linalg.solve(covariance + np.diag(variance), y) - y
        pull = np.maximum(np.abs(np.expm1(miss)), 1e-9)
        variance = noise * np.maximum(miss**2 / pull / scale, PHYSICS["least_noise"])
    return np.asarray(variance, dtype=np.float64)


def fit_forest(x: Floats, y: Floats) -> Forest:
    """Extremely randomised trees (Geurts, Ernst and Wehenkel 2006), laid out as arrays."""
    _need("sklearn")
    from sklearn.ensemble import ExtraTreesRegressor

    model = ExtraTreesRegressor(
        TREES, max_features=0.8, min_samples_leaf=1, min_samples_split=4, random_state=0
    ).fit(x.astype(np.float32), y)
    roots, columns = [], []
    offset = depth = 0
    for estimator in model.estimators_:
        tree = estimator.tree_
        leaf = tree.children_left < 0
        itself = np.arange(tree.node_count)
        roots.append(offset)
        depth = max(depth, int(tree.max_depth))
        columns.append(
            (
                np.where(leaf, 0, tree.feature),
                np.where(leaf, 0.0, tree.threshold),
                np.where(leaf, itself, tree.children_left) + offset,
                np.where(leaf, itself, tree.children_right) + offset,
                tree.value[:, 0, 0],
            )
        )
        offset += tree.node_count
    feature, threshold, left, right, value = (np.concatenate(part) for part in zip(*columns, strict=True))
    # sklearn compares float32 features with float64 thresholds; rounding down keeps every decision
    return forest_of(
        np.array(roots),
        feature,
        _round_down(threshold),
        left,
        right,
        np.asarray(value, dtype=np.float64),
        depth,
    )


def _round_down(values: Floats) -> NDArray[np.float32]:
    rounded = values.astype(np.float32)
    above = rounded.astype(np.float64) > values
    rounded[above] = np.nextafter(rounded[above], np.float32(-np.inf))
    return rounded


def fit_residual(
    x: Floats,
    y: Floats,
    short: Floats,
    *,
    kernels: Sequence[Sequence[int]],
    groups: Groups,
    trees: bool = True,
    iterations: int = 15,
) -> Residual:
    """The learned residual, kept only as far as it measures better on groups left out.

    Two roughnesses of the process are tried, then weights 0, 0.5 and 1 of it; what has the smallest
    left-out error stays. With ``trees``, the mean of process and forest predicts.
    """
    if len(groups) < 3:
        return Residual(None, None, 0.0)
    fits = [
        fit_process(x, y, short, kernels=kernels, groups=groups, rough=rough, iterations=iterations)
        for rough in (False, True)
    ]
    process, left_out = min(fits, key=lambda fit: _error(fit[1], y))
    weight = min((0.0, 0.5, 1.0), key=lambda w: _error(w * left_out, y))
    if weight == 0:
        return Residual(None, None, 0.0)
    return Residual(process, fit_forest(x, y) if trees else None, weight)


def _error(guess: Floats, y: Floats) -> float:
    """Mean absolute relative error of ``exp(guess)`` for ``exp(y)``."""
    return float(np.mean(np.abs(np.expm1(guess - y))))
