"""Scales of charts: values to places, round ticks, and numbers as people write them."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

_ROUND = (1.0, 2.0, 5.0, 10.0)
_TIMES = ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs"), (1e-9, "ns"))
_PREFIXES = ((1e15, "P"), (1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k"), (1.0, ""))
_SECONDS_OF_DAY = 86_400.0
_LOG_20 = math.log(20)
"""Ratio from which powers of ten are the ticks of a logarithm."""


@dataclass(frozen=True, slots=True)
class Scale:
    """A scale from values to places, straight or by logarithm.

    Attributes:
        low: Value at ``start``.
        high: Value at ``end``; above ``low``.
        start: A place.
        end: Another one.
        is_log: Whether equal ratios are equally long.
    """

    low: float
    high: float
    start: float
    end: float
    is_log: bool = False

    @classmethod
    def over(
        cls, values: Iterable[float], start: float, end: float, *, is_log: bool = False, margin: float = 0.04
    ) -> Scale:
        """A scale over the finite values among some, with a margin at both ends.

        Args:
            values: What is to be seen; those that are not finite, or below zero on a logarithm, are left out.
            start: Place of the lowest.
            end: Place of the highest.
            is_log: See the class.
            margin: Share of the length that is left free at both ends.
        """
        seen = [value for value in values if math.isfinite(value) and (value > 0 or not is_log)]
        low, high = (min(seen), max(seen)) if seen else (1.0, 2.0) if is_log else (0.0, 1.0)
        if is_log:
            reach = max(math.log(high) - math.log(low), 0.02)
            middle = (math.log(low) + math.log(high)) / 2
            half = reach * (0.5 + margin)
            return cls(math.exp(middle - half), math.exp(middle + half), start, end, is_log=True)
        reach = (high - low) or abs(high) * 0.1 or 1.0
        low, high = (low, high) if high > low else (low - reach / 2, high + reach / 2)
        return cls(low - margin * reach, high + margin * reach, start, end)

    def __call__(self, value: float) -> float:
        """The place of a value; ends of the scale for what lies beyond."""
        if math.isnan(value):
            return self.start
        value = min(max(value, self.low), self.high)
        if self.is_log:
            low = math.log(self.low)
            share = (math.log(value) - low) / (math.log(self.high) - low)
        else:
            share = (value - self.low) / (self.high - self.low)
        return round(self.start + share * (self.end - self.start), 1)

    def ticks(self, count: int = 5) -> list[float]:
        """About so many round values in the scale."""
        if self.is_log and math.log(self.high) - math.log(self.low) >= _LOG_20:
            return self._powers(count)
        step = _round_step((self.high - self.low) / max(count, 1))
        first = math.ceil(self.low / step - 1e-9)
        last = math.floor(self.high / step + 1e-9)
        return [float(f"{place * step:.12g}") for place in range(first, last + 1)]

    def _powers(self, count: int) -> list[float]:
        """Powers of ten in the scale, with 2 and 5 between where there is room, or only some of them."""
        low, high = math.floor(math.log10(self.low)), math.ceil(math.log10(self.high))
        parts = _ROUND[:3] if high - low <= count / 2 else _ROUND[:1]
        every = max(1, math.ceil((high - low) / max(count, 1)))
        found = [part * 10.0**power for power in range(low, high + 1, every) for part in parts]
        return [value for value in found if self.low * (1 - 1e-9) <= value <= self.high * (1 + 1e-9)]


def _round_step(least: float) -> float:
    """The smallest of 1, 2 and 5 times a power of ten that is no less."""
    power = 10.0 ** math.floor(math.log10(least))
    return next(part * power for part in _ROUND if part * power >= least * (1 - 1e-9))


def hours(low: float, high: float) -> list[float]:
    """Full hours or days between two Unix times, about seven."""
    step = next(
        (hour * 3600.0 for hour in (1, 3, 6, 12) if (high - low) / (hour * 3600) <= 8),
        math.ceil((high - low) / _SECONDS_OF_DAY / 8) * _SECONDS_OF_DAY,
    )
    first = math.ceil(low / step)
    return [place * step for place in range(first, math.floor(high / step) + 1)]


def number(value: object, digits: int = 4) -> str:
    """A number with few digits and thousands apart; empty for none, a dash for one that is not finite."""
    if value is None:
        return ""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return str(value)
    if not math.isfinite(value):
        return "–"
    if value and not 1e-4 <= abs(value) < 1e9:
        return f"{value:.{digits - 1}e}".replace("e+0", "e").replace("e-0", "e-").replace("e+", "e")
    rounded = float(f"{value:.{digits}g}")
    text = f"{rounded:,.10f}".rstrip("0").rstrip(".")
    return text.replace("-", "−")


def percent(share: object, digits: int = 2) -> str:
    """A share in percent: ``31 %``."""
    if not isinstance(share, int | float):
        return ""
    if abs(share) < 5e-5:
        return "0\u00a0%"
    return f"{number(100 * share, digits)}\u00a0%" if math.isfinite(share) else "–"


def times(factor: object) -> str:
    """A factor: ``1.25x``."""
    if not isinstance(factor, int | float):
        return ""
    return f"{number(factor, 3)}x"


def between(low: object, high: object, unit: object = "") -> str:
    """An interval with its unit: ``39 ms – 205 ms``."""
    if is_scaled(unit) or not unit:
        return f"{quantity(low, unit)} – {quantity(high, unit)}"
    return f"{number(low)} – {number(high)}\u00a0{unit}"


def is_scaled(unit: object) -> bool:
    """True if :func:`quantity` writes a prefix of its own, so that each number needs its unit."""
    return unit in {"s", "B", "FLOP/s", "B/s", "1"}


def quantity(value: object, unit: object) -> str:
    """A number with its unit, scaled: ``12 ms``, ``3.2 GB``, ``0.5 %``."""
    if not isinstance(value, int | float) or isinstance(value, bool):
        return number(value)
    symbol = str(unit or "")
    if not math.isfinite(value):
        return "–"
    if symbol == "1":
        return percent(value, 3)
    if symbol == "s" and value:
        scale, small = next((item for item in _TIMES if abs(value) >= item[0]), _TIMES[-1])
        return f"{number(value / scale)}\u00a0{small}"
    if symbol in {"B", "FLOP/s", "B/s"}:
        scale, prefix = next((item for item in _PREFIXES if abs(value) >= item[0]), _PREFIXES[-1])
        return f"{number(value / scale)}\u00a0{prefix}{symbol}"
    return f"{number(value)}\u00a0{symbol}".rstrip("\u00a0")
