"""Bounds on the sizes of a kernel's blocks, from a compiler's messages and the sizes that the log tells."""

import math
import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass

from recommender.diagnosis.known_faults import SeenFault
from recommender.diagnosis.logs import LogReading

MOST_PROGRAMS = 65_535
"""Programs of a launch on Ascend, held in 16 bits (the message names UINT16_MAX)."""
_NEED, _THERE, _PROGRAMS = "required", "available", "programs"


@dataclass(frozen=True, slots=True, kw_only=True)
class SizeBound:
    """Bound on the sizes of a kernel's blocks, from one that failed.

    Attributes:
        sizes: The sizes that failed, by name.
        most: The largest that fits, where there is one size: the need grows with it in proportion.
        least: The smallest with which the programs of the launch can be counted, where there is one size.
        reason: The message in short.
    """

    sizes: Mapping[str, int]
    most: int | None = None
    least: int | None = None
    reason: str

    def expression(self, parameters: Collection[str]) -> str:
        """The bound as a rule on parameters of a space; empty where they are not those of the log.

        Of several sizes only as large ones in all are ruled out: which of them is too large nobody told.
        """
        known = {_key(name): name for name in parameters}
        named = {known[_key(name)]: size for name, size in self.sizes.items() if _key(name) in known}
        if len(named) < len(self.sizes):
            return ""
        if len(named) == 1:
            bound = f"<= {self.most}" if self.most is not None else f">= {self.least}"
            return f"{next(iter(named))} {bound}"
        return " or ".join(f"{name} < {size}" for name, size in named.items())


def size_bounds(reading: LogReading) -> list[SizeBound]:
    """The bounds that the faults of a log tell, with the sizes that it tells."""
    return (
        [bound for fault in reading.faults for bound in _bounds(fault, reading.sizes)]
        if reading.sizes
        else []
    )


def _bounds(fault: SeenFault, sizes: Mapping[str, int]) -> Iterator[SizeBound]:
    need, there, programs = (_amount(fault.values.get(name, "")) for name in (_NEED, _THERE, _PROGRAMS))
    size = next(iter(sizes.values())) if len(sizes) == 1 else 0
    label = fault.fault.label
    if need and there and need > there:
        most = int(size * there / need) if size else None
        yield SizeBound(sizes=sizes, most=most, reason=f"{label}: {need:,.0f} of {there:,.0f}")
    elif programs > MOST_PROGRAMS and size:
        least = math.ceil(size * programs / MOST_PROGRAMS)
        yield SizeBound(sizes=sizes, least=least, reason=f"{label}: {programs:,.0f}")


def _key(name: str) -> str:
    return name.replace("_", "").lower()


def _amount(text: str) -> float:
    found = re.match(r"\d[\d,]*\.?\d*", text)
    return float(found[0].replace(",", "")) if found is not None else 0.0
