"""Transfer from similar problems: a model of each source, for a prior mean, first candidates and failures.

Each source is modelled on its own, from nothing but its rows: a Gaussian process over those of its
parameters that this space has too, so it answers between the rows it has. What this space has and the
source had not is marginalised: the prediction does not depend on it. What the source had and this space
has not becomes noise. The target learns how much each prediction counts
(``recommender.search.belief.mixture``).
"""

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from kg.errors import InputError
from kg.nouns.values import Settings, Value
from recommender.search.belief.kernel import KernelPrior
from recommender.search.belief.source_model import SourceModel
from recommender.search.belief.surrogate import PoolProcess
from recommender.search.evaluations import SourceTable
from recommender.space.constraint import Coordinates
from recommender.space.parameters import Parameter
from recommender.space.space import SearchSpace

SOFT = 0.5
"""``S``, log cost: a factor of 1.6 above the best counts for 0.35 instead of 0.5. Of 0.5, 1 and 2 it needed
the fewest evaluations on the spaces of ``benchmarks/searches/warm_start.py``, warm and cold."""


def warp(costs: NDArray[np.float64], best: float) -> NDArray[np.float64]:
    """Log costs with those above the best brought nearer to it, shape as given."""
    above = costs - best
    return np.asarray(best + np.where(above > 0, SOFT * np.log1p(np.maximum(above, 0.0) / SOFT), above))


def unwarp(cost: float, stdev: float, best: float) -> tuple[float, float]:
    """A warped log cost and a standard deviation near it as they were before."""
    above = max(cost - best, 0.0) / SOFT
    slope = float(np.exp(above))
    return (best + SOFT * (slope - 1.0) if above > 0 else cost), stdev * slope


MOST_SOURCES = 8
"""Sources used, most similar first; a choice that bounds the time to start."""

_MOST_ROWS = 200
"""Rows of a source that are modelled: half of them its best, half spread over the costs; a choice."""

_FAILED_ABOVE = 0.5
"""Log cost of a failure above the worst that ran where all ran nearly alike; a choice, a factor of 1.6."""


def learn(space: SearchSpace, table: SourceTable, *, soft: bool = True) -> SourceModel | None:
    """Model one source; None if it shares no parameter or nothing in it ran.

    Args:
        space: The target's.
        table: What is known of the source.
        soft: Whether costs are warped (``recommender.search.belief.transfer``), as the target's then are.

    Raises:
        InputError: A cost is not positive.
    """
    costs = np.asarray(table.costs, float)
    ran = np.isfinite(costs)
    if (costs[ran] <= 0).any():
        raise InputError(f"source {table.name}: a cost is above zero")
    points, exact = project(space, table.configurations)
    known = (
        np.asarray(~np.isnan(points).all(axis=0)) if len(points) else np.zeros(len(space.parameters), bool)
    )
    if not ran.any() or not known.any():
        return None
    log = np.full(len(costs), np.inf)
    log[ran] = np.log(costs[ran])
    shared = np.asarray(known[space.groups], bool)
    chosen = _chosen(log)
    y = log[chosen].copy()
    worst = float(log[ran].max())
    y[~np.isfinite(y)] = max(worst, float(log[ran].min()) + _FAILED_ABOVE)
    middle = float(np.median(log[ran]))
    if soft:
        y, middle = (
            warp(y, float(log[ran].min())),
            float(np.median(warp(log[ran], float(log[ran].min())))),
        )
    spread = max(float(y.std()), 0.05)
    features = space.features(points)[chosen][:, shared]
    _, groups = np.unique(space.groups[shared], return_inverse=True)
    process = PoolProcess(
        features=features,
        groups=groups,
        basis=np.ones((len(y), 1)),
        weights=np.array([float(y.mean())]),
        covariance=np.array([[spread**2]]),
        prior=KernelPrior.usual(int(groups.max()) + 1, spread),
    )
    process.choose(np.arange(len(y)), y, steps=20)
    process.condition(np.arange(len(y)), y)
    kernel = process.kernel
    scales = kernel.scales[groups].astype(np.float32)
    centre = float(process.coefficients()[0])
    return SourceModel(
        name=table.name,
        similarity=table.similarity,
        points=points,
        exact=exact,
        costs=log,
        shared=shared,
        _observed=features / scales,
        _scales=scales,
        _amplitude=kernel.amplitude,
        _offset=spread,
        _alpha=process.dual().astype(np.float32),
        _half=process.half().astype(np.float32),
        _centre=centre - middle,
    )


def project(space: SearchSpace, configurations: Sequence[Settings]) -> tuple[Coordinates, NDArray[np.bool_]]:
    """Foreign configurations on a space, by name; case, dashes and underscores do not matter.

    Numbers between two values of an ordered parameter are placed between them; other foreign values and
    parameters that are not there are nan.

    Returns:
        Coordinates, shape (n, d), and which rows are points of the space as they stand, shape (n,).
    """
    found = np.full((len(configurations), len(space.parameters)), np.nan)
    exact = np.ones(len(configurations), bool)
    places = {_plain(name): j for j, name in enumerate(space.names)}
    known: dict[tuple[int, bool, Value], tuple[float, bool]] = {}
    for i, configuration in enumerate(configurations):
        for name, value in configuration.items():
            j = places.get(_plain(name))
            if j is None:
                continue  # a parameter of the source alone: noise
            key = (j, isinstance(value, bool), value)
            if key not in known:
                known[key] = _placed(space.parameters[j], value)
            found[i, j], same = known[key]
            exact[i] &= same
    if len(found):
        active = space.active(found)
        exact &= (active == ~np.isnan(found)).all(axis=1)
        rows = np.flatnonzero(exact)
        exact[rows] = space.allowed(found[rows])
    return found, exact


def _placed(parameter: Parameter, value: Value) -> tuple[float, bool]:
    """Coordinate of a value and whether the parameter has it; nan where it cannot be placed."""
    try:
        return parameter.coordinate(value), True
    except InputError:
        pass
    numbers = [x for x in parameter.values if isinstance(x, int | float) and not isinstance(x, bool)]
    if isinstance(value, bool) or not isinstance(value, int | float) or not parameter.ordered:
        return math.nan, False
    if len(numbers) == len(parameter.values) > 1 and numbers == sorted(numbers):
        return float(np.interp(value, numbers, parameter.grid())), False
    if parameter.low is not None and parameter.high is not None:
        return parameter.coordinate(min(max(value, parameter.low), parameter.high)), False
    return math.nan, False


def _plain(name: str) -> str:
    return name.casefold().replace("_", "").replace("-", "")


def _chosen(costs: NDArray[np.float64]) -> NDArray[np.int64]:
    if len(costs) <= _MOST_ROWS:
        return np.arange(len(costs))
    order = np.argsort(costs, kind="stable")
    best, rest = order[: _MOST_ROWS // 2], order[_MOST_ROWS // 2 :]
    spread = np.linspace(0, len(rest) - 1, _MOST_ROWS - len(best)).astype(int)
    return np.concatenate([best, rest[spread]])
