"""The worth of a gain: device hours, cost, energy and carbon, with the interval carried through.

For work that takes H device hours now, a gain of ``exp(g)`` leaves ``H * exp(-g)``. Cost, energy and carbon
follow with the price, the power and the intensity that the user gives; nothing is assumed. Energy is power
times hours, so it is right where both configurations draw the power that was given.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

from kg.errors import InputError
from kg.nouns.codec import OR_NULL, JsonNoun
from recommender.experiment.verdict import Interval


@dataclass(frozen=True, slots=True, kw_only=True)
class Prices:
    """Prices of the work as it is now.

    Attributes:
        device_hours: Device hours that the work takes with the control.
        price: Of a device hour; None if not told.
        currency: Of the price.
        power_w: Mean power of a device under this work, cooling included; None if not told.
        intensity: Gram CO2 equivalent per kilowatt-hour; None if not told.
    """

    device_hours: float
    price: float | None = None
    currency: str = ""
    power_w: float | None = None
    intensity: float | None = None

    def __post_init__(self) -> None:
        """Refuse what nothing can be worth.

        Raises:
            InputError: A number is below zero, or an intensity without power.
        """
        given = {
            "--device-hours": self.device_hours,
            "--price": self.price,
            "--power": self.power_w,
            "--intensity": self.intensity,
        }
        for name, value in given.items():
            if value is not None and not (math.isfinite(value) and value >= 0):
                raise InputError(f"{name} {value:g}: not below zero")
        if self.intensity is not None and self.power_w is None:
            raise InputError("carbon needs the power of a device", hint="--power 310 (watt)")

    def savings(self, interval: Interval) -> list[Saving]:
        """The savings of a gain, by the prices that are known."""
        factors = [("device hours", "h", 1.0)]
        if self.price is not None:
            factors.append(("cost", self.currency or "price units", self.price))
        if self.power_w is not None:
            energy = self.power_w / 1000
            factors.append(("energy", "kWh", energy))
            if self.intensity is not None:
                factors.append(("carbon", "kg CO2e", energy * self.intensity / 1000))
        shares = [_saved(gain) for gain in (interval.mean, interval.low, interval.high)]
        return [
            Saving(
                name=name,
                unit=unit,
                now=self.device_hours * factor,
                expected=self.device_hours * factor * shares[0],
                low=self.device_hours * factor * shares[1],
                high=self.device_hours * factor * shares[2],
            )
            for name, unit, factor in factors
            if self.device_hours * factor > 0
        ]


@dataclass(frozen=True, slots=True, kw_only=True)
class Saving(JsonNoun):
    """The saving of one resource; below zero it is a loss.

    Attributes:
        name: Of what, such as ``"energy"``.
        unit: In what.
        now: How much the control takes.
        expected: How much is saved if the gain is its estimate.
        low: At the lower end of the gain; minus infinity where it has none.
        high: At the upper end; all of it where it has none.
    """

    name: str
    unit: str
    now: float
    expected: float = field(metadata=OR_NULL)
    low: float = field(metadata=OR_NULL)
    high: float = field(metadata=OR_NULL)


def _saved(gain: float) -> float:
    """The share of the time that a log gain saves."""
    if math.isnan(gain):
        return math.nan
    return -math.expm1(-gain) if gain > -700 else -math.inf
