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
from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING

import numpy as np

import data
from kg.nouns.codec import JsonNoun, in_json

if TYPE_CHECKING:
    from collections.abc import Sequence

    from recommender.green.history import Floats

_LEAST_CLOCK = 1e-3


@dataclass(frozen=True, slots=True, kw_only=True)
class PowerCurve:
    """Time and power of one workload by the clock.

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

    @property
    def devices(self) -> str:
        """Devices that were measured, as its source names them last."""
        return self.source.rpartition(": ")[2]


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
"""Time that a lower clock or a cap may cost, a choice for each."""

LEAST_CAP = 0.5
"""Lowest cap as a share of the nominal power, inside the range that the curves were measured over."""

CAP_STEP_W = 5.0
"""Watt between caps that are looked at."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PowerStep(JsonNoun):
    """A lower clock or a power cap, and what it does.

    Attributes:
        clock: Share of the highest; of a cap, that which it comes down to.
        time: Of the work, as a share of that without it.
        power: Likewise.
        energy: Likewise.
        cap_w: The cap of a device, watt; None for a clock that is locked.
    """

    clock: float = field(metadata=in_json("clock_share", digits=3))
    time: float = field(metadata=in_json("time_factor", digits=4))
    power: float = field(metadata=in_json("power_factor", digits=4))
    energy: float = field(metadata=in_json("energy_factor", digits=4))
    cap_w: float | None = field(default=None, metadata=in_json("power_cap_w"))

    @property
    def label(self) -> str:
        """The step in words."""
        return f"clock at {self.clock:.0%}" if self.cap_w is None else f"power cap of {self.cap_w:g} W"

    @property
    def measured_on(self) -> str:
        """Devices of the curves that it follows."""
        return shipped_curve("clock" if self.cap_w is None else "cap").devices


def clock_steps(path: Sequence[str]) -> tuple[PowerStep, ...]:
    """Lower clocks of least energy for a device; none where its vendor has no public curve.

    Args:
        path: The device and what is broader, up to its vendor.
    """
    if not CLOCK_VENDORS & set(path):
        return ()
    curve = shipped_curve("clock").curve
    clocks = dict.fromkeys(curve.clock_for(slowdown) for slowdown in SLOWDOWNS)
    return tuple(
        PowerStep(
            clock=clock,
            time=float(curve.time(clock)),
            power=float(curve.power(clock)),
            energy=float(curve.energy(clock)),
        )
        for clock in clocks
        if clock < 1
    )


def cap_steps(
    path: Sequence[str], power_w: float | None, nominal_w: object, limit_w: float | None = None
) -> tuple[PowerStep, ...]:
    """Power caps of least energy for a workload, the highest first; one above what it draws changes nothing.

    Args:
        path: The device and what is broader, up to its vendor.
        power_w: What the device draws without a cap; None if it is not known.
        nominal_w: Its highest cap.
        limit_w: A cap that is asked for, beside those of least energy.
    """
    if not CLOCK_VENDORS & set(path) or power_w is None or not isinstance(nominal_w, int | float):
        return ()
    curve = shipped_curve("cap").curve
    lowest, highest = LEAST_CAP * nominal_w, min(power_w, nominal_w)
    caps = np.arange(np.ceil(lowest / CAP_STEP_W) * CAP_STEP_W, highest, CAP_STEP_W)
    if limit_w is not None and lowest <= limit_w < highest:
        caps = np.unique([*caps, limit_w])
    time, energy = curve.under_cap(caps, power_w, float(nominal_w))
    allowed = [np.where((time <= 1 + slowdown) & (energy < 1), energy, np.inf) for slowdown in SLOWDOWNS]
    best = {int(np.argmin(item)) for item in allowed if np.isfinite(item).any()}
    best |= set(np.flatnonzero(caps == limit_w).tolist())
    return tuple(
        PowerStep(
            clock=min(1.0, float(curve.clock_at(energy[at] / time[at]))),
            time=float(time[at]),
            power=float(energy[at] / time[at]),
            energy=float(energy[at]),
            cap_w=float(caps[at]),
        )
        for at in sorted(best, reverse=True)
    )
