"""The power curve of one workload, fitted to measured points near the shipped one."""

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from recommender.green.power_curve import PowerCurve

Floats = NDArray[np.float64]

FIELDS = ("clock_bound", "sharpness", "static_share", "exponent", "cap_reach", "cap_sharpness")


def fit_clock(points: Sequence[tuple[float, float, float]], prior: PowerCurve) -> PowerCurve:
    """The curve through measured points, near a prior where they say little.

    Args:
        points: Clock, time and energy of each, in any units; the highest clock is the reference.
        prior: Shipped curve.
    """
    table = np.array(sorted(points))
    clock, time, energy = (table / table[-1]).T

    def residual(curve: PowerCurve) -> Floats:
        return np.concatenate([np.log(curve.time(clock) / time), np.log(curve.energy(clock) / energy)])

    return fit_near(residual, prior, ("clock_bound", "static_share", "exponent"))


def fit_cap(points: Sequence[tuple[float, float, float]], prior: PowerCurve) -> PowerCurve:
    """The curve through measured points under power caps.

    Args:
        points: Cap in watt, time, and mean power in watt; the highest cap is the reference.
        prior: Shipped curve.
    """
    table = np.array(sorted(points))
    cap, time, power = table.T
    wanted = np.log(time * power / (time[-1] * power[-1]))

    def residual(curve: PowerCurve) -> Floats:
        slower, energy = curve.under_cap(cap, float(power[-1]), float(cap[-1]))
        return np.concatenate([np.log(energy) - wanted, 0.5 * np.log(slower / (time / time[-1]))])

    return fit_near(residual, prior, ("clock_bound", "static_share", "cap_reach"))


_ERROR = 0.03
"""Spread of a measured point around the form. Of the curves that ``tools/green/fit_power_curves.py`` reads,
one with all its points fitted is 1.7 % off on average; 0.02 to 0.045 move its errors by 0.1 points."""
_WIDTH = 0.7
"""Spread of workloads around the shipped curve in its unbounded parameters: a choice. 0.2 to 1.2 move the
error that this tool prints with three points by 0.2 points over clocks, by 0.4 under caps."""


def fit_near(
    residual: Callable[[PowerCurve], Floats],
    prior: PowerCurve,
    free: Sequence[str],
    *,
    width: float = _WIDTH,
    rounds: int = 60,
) -> PowerCurve:
    """Least squares with the prior as data, by Levenberg and Marquardt over unbounded parameters."""
    start = np.array([_unbounded(name, getattr(prior, name)) for name in free])

    def curve_of(place: Floats) -> PowerCurve:
        values = {name: _bounded(name, value) for name, value in zip(free, place.tolist(), strict=True)}
        return replace(prior, **values)

    def total(place: Floats) -> Floats:
        return np.concatenate([residual(curve_of(place)) / _ERROR, (place - start) / width])

    place, damping = start, 1e-2
    now = total(place)
    for _ in range(rounds):
        step = 1e-5
        slope = np.stack([(total(place + step * unit) - now) / step for unit in np.eye(len(free))], axis=1)
        normal = slope.T @ slope
        move = np.linalg.solve(normal + damping * np.diag(np.diag(normal) + 1e-9), -slope.T @ now)
        tried = total(place + move)
        if tried @ tried < now @ now:
            is_done = now @ now - tried @ tried < 1e-9 * (now @ now)
            place, now, damping = place + move, tried, damping / 4
            if is_done:
                break
        else:
            damping *= 6
            if damping > 1e8:
                break
    return curve_of(place)


_SHARES = frozenset({"static_share", "cap_reach"})
_ABOVE_ONE = frozenset({"sharpness", "exponent", "cap_sharpness"})


def _unbounded(name: str, value: float) -> float:
    if name in _SHARES:
        return float(np.log(value / (1 - value)))
    return float(np.log(value - 1 if name in _ABOVE_ONE else value))


def _bounded(name: str, place: float) -> float:
    place = float(np.clip(place, -12, 12))
    if name in _SHARES:
        return float(1 / (1 + np.exp(-place)))
    return float(np.exp(place)) + (1 if name in _ABOVE_ONE else 0)
