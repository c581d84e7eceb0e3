"""``msprof op simulator``: instructions of each simulated core (``core*_instr_exe``, ``core*_code_exe``)."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path

from ingest.profiles.cells import count, number, read_table
from ingest.profiles.facts.details import Hotspot
from ingest.profiles.facts.place import FactPlace

KEPT = 100
"""Instructions and lines that are kept, the costliest first."""
_TIME = "running_time(us)"


def is_simulated(header: frozenset[str]) -> bool:
    """True if a CSV file counts what a simulated core executed."""
    return {"call_count", "cycles", _TIME} <= header and bool({"instr", "code"} & header)


class Simulation:
    """The sum of the instructions that the cores executed."""

    def __init__(self) -> None:
        self._held: dict[tuple[str, str], list[float]] = {}
        self._cores: dict[tuple[str, str], set[str]] = {}
        self._places: dict[tuple[str, str], tuple[float, FactPlace]] = {}

    def take(self, path: Path, file: str, on_fault: Callable[[str], None]) -> int:
        """Take one table of one core, and return the number of its rows."""
        rows = 0
        for line, row in read_table(path, on_fault):
            cycles, spent = number(row["cycles"]), number(row[_TIME])
            if math.isnan(cycles) and math.isnan(spent):
                continue
            rows += 1
            for kind, column in (("pipe", "pipe"), ("instruction", "instr"), ("line", "code")):
                if row.get(column):
                    calls = count(row["call_count"])
                    self._add((kind, row[column]), path.name, calls, cycles, spent, FactPlace(file, (line,)))
        return rows

    def _add(
        self, key: tuple[str, str], core: str, calls: int, cycles: float, spent: float, place: FactPlace
    ) -> None:
        held = self._held.setdefault(key, [0.0, 0.0, 0.0])
        held[0] += calls
        held[1] += 0.0 if math.isnan(cycles) else cycles
        held[2] += 0.0 if math.isnan(spent) else spent
        self._cores.setdefault(key, set()).add(core)
        if cycles > self._places.get(key, (-1.0, place))[0] or key not in self._places:
            self._places[key] = cycles, place

    def done(self) -> tuple[Hotspot, ...]:
        """Pipes, then instructions, then lines, each by cycles."""
        found = []
        for kind in ("pipe", "instruction", "line"):
            keys = sorted((key for key in self._held if key[0] == kind), key=lambda key: -self._held[key][1])
            for key in keys[:KEPT]:
                calls, cycles, spent = self._held[key]
                found.append(Hotspot(kind=kind, name=key[1], calls=round(calls), cycles=cycles, time_us=spent,
                                     cores=len(self._cores[key]), place=self._places[key][1]))  # fmt: skip
        return tuple(found)
