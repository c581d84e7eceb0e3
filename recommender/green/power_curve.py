"""Time and energy of a workload over the clock of its device, or under a power cap.

Notation: f: clock as a share of the highest; T, P, E = T P: time, power and energy as shares of those at f =
1.

    T(f) = ((c/f)^p + 1)^(1/p) / (c^p + 1)^(1/p)       a smooth maximum of what the clock binds and of the
    rest P(f) = s + (1 - s) f^a                             a static part, and switching with its voltage
    P(cap) = (k cap)^-q + P0^-q, to the power -1/q     a smooth minimum of the cap and the power without one

A lock of the clock acts in every phase. A cap acts only where the device would draw more: decoding of
language models stays below any cap, so there it changes nothing. No curve of an Ascend device is public.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from functools import cache
from typing import TYPE_CHECKING

import numpy as np

import data

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from recommender.green.history import Floats

FIELDS = ("clock_bound", "sharpness", "static_share", "exponent", "cap_reach", "cap_sharpness")
_LEAST_CLOCK = 1e-3


@dataclass(frozen=True, slots=True, kw_only=True)
class PowerCurve:
    """How time and power of one workload follow the clock.

    Attributes:
        clock_bound: Time that the clock binds over the rest, at full clock (c).
        sharpness: How suddenly one takes over from the other (p).
        static_share: Share of the power that does not depend on the clock (s).
        exponent: Of the clock in the rest (a).
        cap_reach: Mean power that a cap lets through, as a share of it (k).
        cap_sharpness: How suddenly a cap begins to act (q).
    """

    clock_bound: float
    sharpness: float
    static_share: float
    exponent: float
    cap_reach: float = 0.9
    cap_sharpness: float = 5.0

    def time(self, clock: Floats | float) -> Floats:
        """Time as a share of that at full clock."""
        c, p = self.clock_bound, self.sharpness
        clock = np.maximum(clock, _LEAST_CLOCK)
        # in logs: a sharp maximum overflows otherwise
        return np.asarray(
            np.exp((np.logaddexp(p * np.log(c / clock), 0) - np.logaddexp(p * np.log(c), 0)) / p)
        )

    def power(self, clock: Floats | float) -> Floats:
        """Power as a share of that at full clock."""
        return np.asarray(self.static_share + (1 - self.static_share) * np.power(clock, self.exponent))

    def energy(self, clock: Floats | float) -> Floats:
        """Energy as a share of that at full clock."""
        return self.time(clock) * self.power(clock)

    def capped_power_w(self, cap_w: Floats | float, free_w: float) -> Floats:
        """Mean power under a cap of a workload that draws ``free_w`` without one."""
        q = self.cap_sharpness
        return np.asarray(np.exp(-np.logaddexp(-q * np.log(self.cap_reach * cap_w), -q * np.log(free_w)) / q))

    def clock_at(self, power: Floats | float) -> Floats:
        """Clock at a share of the power."""
        dynamic = (np.asarray(power) - self.static_share) / (1 - self.static_share)
        return np.asarray(np.maximum(dynamic, _LEAST_CLOCK) ** (1 / self.exponent))

    def under_cap(self, cap_w: Floats | float, free_w: float, highest_cap_w: float) -> tuple[Floats, Floats]:
        """Time and energy under a cap, as shares of those under the highest one."""
        power = self.capped_power_w(cap_w, free_w) / self.capped_power_w(highest_cap_w, free_w)
        time = self.time(self.clock_at(np.minimum(power, 1.0)))
        return time, time * power

    def clock_for(self, slowdown: float, lowest: float = 0.3) -> float:
        """Clock of least energy that costs no more than a share of time; 1 where none saves.

        Args:
            slowdown: Greatest increase of time, such as 0.05.
            lowest: Lowest clock that the device has.
        """
        clocks = np.linspace(lowest, 1.0, 701)
        energy = np.where(self.time(clocks) <= 1 + slowdown, self.energy(clocks), np.inf)
        best = int(np.argmin(energy))
        return float(clocks[best]) if energy[best] < 1 else 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class CurvePrior:
    """A shipped curve, and how far workloads lie from it.

    Attributes:
        curve: Fitted to all workloads of its source.
        error_percent: Mean absolute error of energy on a model or device that was left out.
        source: Where the measurements are.
    """

    curve: PowerCurve
    error_percent: float
    source: str


@cache
def shipped_curve(kind: str) -> CurvePrior:
    """The shipped curve over the ``clock`` or under a power ``cap``."""
    content = json.loads(data.text("green/power_curves.json"))[kind]
    return CurvePrior(
        curve=PowerCurve(**content["curve"]), error_percent=content["error_percent"], source=content["source"]
    )


CLOCK_VENDORS = frozenset({"nvidia"})
"""Vendors of the devices that the shipped curve over the clock was measured on, and whose users can set it
(``nvidia-smi --lock-gpu-clocks``)."""

SLOWDOWNS = (0.02, 0.05, 0.10)
"""Time that a lower clock may cost, a choice for each."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ClockStep:
    """A lower clock, and what it does.

    Attributes:
        clock: Share of the highest.
        time: Of the work, as a share of that at the highest.
        power: Likewise.
        energy: Likewise.
    """

    clock: float
    time: float
    power: float
    energy: float

    def to_json(self) -> dict[str, float]:
        """The step for programs."""
        return {
            "clock_share": round(self.clock, 3),
            "time_factor": round(self.time, 4),
            "power_factor": round(self.power, 4),
            "energy_factor": round(self.energy, 4),
        }


def clock_steps(path: Sequence[str]) -> tuple[ClockStep, ...]:
    """Lower clocks of least energy for a device; none where its vendor has no public curve.

    Args:
        path: The device and what is broader, up to its vendor.
    """
    if not CLOCK_VENDORS & set(path):
        return ()
    curve = shipped_curve("clock").curve
    clocks = dict.fromkeys(curve.clock_for(slowdown) for slowdown in SLOWDOWNS)
    return tuple(
        ClockStep(
            clock=clock,
            time=float(curve.time(clock)),
            power=float(curve.power(clock)),
            energy=float(curve.energy(clock)),
        )
        for clock in clocks
        if clock < 1
    )


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
