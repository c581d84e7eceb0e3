"""Units as sources write them, and the SI units that numbers are kept in.

Rates keep what they count (``tokens/s``, ``samples/s/device``); per hour or per minute becomes per second.
"""

import math
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache

J_PER_KWH = 3.6e6
"""Joule of a kilowatt hour, exactly."""


class Dimension(StrEnum):
    """The kind of quantity that a unit measures."""

    TIME = "time"
    ENERGY = "energy"
    POWER = "power"
    MASS = "mass"
    BYTES = "bytes"
    FREQUENCY = "frequency"
    RATE = "rate"
    TEMPERATURE = "temperature"
    RATIO = "ratio"


@dataclass(frozen=True, slots=True, kw_only=True)
class Unit:
    """A unit and its conversion: ``si = reported * numerator / denominator``.

    Two numbers rather than one factor, so that 15.936397 ms becomes 0.015936397 s and not its neighbour.

    Attributes:
        symbol: SI symbol, or ``"1"`` for a ratio.
        dimension: Quantity it measures.
        numerator: Multiplier.
        denominator: Divisor.
    """

    symbol: str
    dimension: Dimension
    numerator: float = 1
    denominator: float = 1

    def to_si(self, value: float) -> float:
        """Convert a number in this unit to SI."""
        return value * self.numerator / self.denominator


def _table() -> dict[str, Unit]:
    time, energy, power = Dimension.TIME, Dimension.ENERGY, Dimension.POWER
    kept: dict[str, Unit] = {
        "": Unit(symbol="1", dimension=Dimension.RATIO),
        "1": Unit(symbol="1", dimension=Dimension.RATIO),
        "%": Unit(symbol="1", dimension=Dimension.RATIO, denominator=100),
        "C": Unit(symbol="degC", dimension=Dimension.TEMPERATURE),
        "GFLOPS/W": Unit(symbol="FLOP/J", dimension=Dimension.RATE, numerator=1e9),
    }
    for names, unit in (
        ("s sec secs second seconds", Unit(symbol="s", dimension=time)),
        ("ms msec milliseconds millisecond miliseconds", Unit(symbol="s", dimension=time, denominator=1e3)),
        (
            "us \u00b5s \u03bcs usec microseconds microsecond",
            Unit(symbol="s", dimension=time, denominator=1e6),
        ),
        ("ns nsec nanoseconds nanosecond", Unit(symbol="s", dimension=time, denominator=1e9)),
        ("min minutes minute", Unit(symbol="s", dimension=time, numerator=60)),
        ("h hours hour", Unit(symbol="s", dimension=time, numerator=3600)),
        ("J joule joules", Unit(symbol="J", dimension=energy)),
        ("mJ", Unit(symbol="J", dimension=energy, denominator=1e3)),
        ("kJ", Unit(symbol="J", dimension=energy, numerator=1e3)),
        ("Wh", Unit(symbol="J", dimension=energy, numerator=3600)),
        ("kWh", Unit(symbol="J", dimension=energy, numerator=J_PER_KWH)),
        ("g gCO2 gCO2e", Unit(symbol="g", dimension=Dimension.MASS)),
        ("kg kgCO2 kgCO2e", Unit(symbol="g", dimension=Dimension.MASS, numerator=1e3)),
        ("W watt watts", Unit(symbol="W", dimension=power)),
        ("mW", Unit(symbol="W", dimension=power, denominator=1e3)),
        ("kW", Unit(symbol="W", dimension=power, numerator=1e3)),
        ("ratio fraction", Unit(symbol="1", dimension=Dimension.RATIO)),
        ("percent pct", Unit(symbol="1", dimension=Dimension.RATIO, denominator=100)),
        ("degC \u00b0C celsius", Unit(symbol="degC", dimension=Dimension.TEMPERATURE)),
    ):
        kept.update(dict.fromkeys(names.split(), unit))
    decimal = {"": 1.0, "K": 1e3, "k": 1e3, "M": 1e6, "G": 1e9, "T": 1e12, "P": 1e15}
    binary = {"Ki": 2.0**10, "Mi": 2.0**20, "Gi": 2.0**30, "Ti": 2.0**40}
    for prefix, factor in (decimal | binary).items():
        for name in ("B", "byte", "bytes") if not prefix else ("B",):
            kept[prefix + name] = Unit(symbol="B", dimension=Dimension.BYTES, numerator=factor)
            kept[f"{prefix}{name}/s"] = Unit(symbol="B/s", dimension=Dimension.RATE, numerator=factor)
    for prefix, factor in decimal.items():
        kept[f"{prefix}Hz"] = Unit(symbol="Hz", dimension=Dimension.FREQUENCY, numerator=factor)
        for name in ("FLOP/s", "FLOPS", "FLOPs", "FLOPs/s"):
            kept[prefix + name] = Unit(symbol="FLOP/s", dimension=Dimension.RATE, numerator=factor)
        for name in ("OP/s", "OPS", "OPs/s"):
            kept[prefix + name] = Unit(symbol="OP/s", dimension=Dimension.RATE, numerator=factor)
    return kept


_UNITS = _table()

_LOWERED = {
    name.lower(): unit for name, unit in _UNITS.items() if name not in {"mW", "mJ"} and unit.symbol != "B/s"
}
"""Units in small letters, as columns have them; but milli, which capitals make mega, and what may be bits."""

_COUNTED = {
    alias: name
    for name, aliases in {
        "tokens": "tokens token tok toks",
        "samples": "samples sample seqs sequences sequence seq sentences",
        "images": "images image imgs img",
        "requests": "requests request req reqs",
        "steps": "steps step iterations iteration iters it",
        "queries": "queries query",
        "frames": "frames frame",
        "samples_or_tokens": "samples_or_tokens",
    }.items()
    for alias in aliases.split()
}
"""Units that a rate may count. ``samples_or_tokens`` is for a source that does not say which."""

_PERIODS = {"s": 1, "sec": 1, "second": 1, "min": 60, "h": 3600, "hour": 3600}
_DEVICES = {"device", "gpu", "npu", "card", "chip", "p", "accelerator", "tpu"}


def share_of(text: str) -> float:
    """A share as a number: ``3%``, ``3 %`` and ``0.03`` are 0.03.

    Raises:
        ValueError: It is no finite number.
    """
    number, percent = text.strip().removesuffix("%"), text.strip().endswith("%")
    value = float(number) / (100 if percent else 1)
    if not math.isfinite(value):
        raise ValueError(f"{text!r} is no share")
    return value


@lru_cache(maxsize=4096)
def unit(text: str) -> Unit:
    """Return the unit that ``text`` names; case matters only where SI says so (``mW`` and ``MW``).

    Raises:
        ValueError: No known unit.
    """
    text = text.strip()
    listed = _UNITS.get(text) or _UNITS.get(text.lower())
    if listed is None and (text.islower() or text.isupper()):  # Gb and Mib are not GB and MiB
        listed = _LOWERED.get(text.lower())
    if listed is not None:
        return listed
    counted, *per = text.lower().split("/")
    is_rate = counted in _COUNTED and bool(per) and per[0] in _PERIODS
    if is_rate and (len(per) == 1 or (len(per) == 2 and per[1] in _DEVICES)):
        return Unit(
            symbol=f"{_COUNTED[counted]}/s{'/device' if per[1:] else ''}",
            dimension=Dimension.RATE,
            denominator=_PERIODS[per[0]],
        )
    raise ValueError(f"unknown unit {text[:40]!r}")
