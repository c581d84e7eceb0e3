"""Counters in traces: the clock, bandwidths, caches and memory of the device, as events of phase C.

An event has a name and numbers by counter with unit, such as ``HBM 0/Read`` with ``Read(MB/s)``
or ``APP/Memory`` with ``KB``. Hit rates of the LLC are shares under a per cent sign: 0.86 where the database
of such a job has 86.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from ingest.profiles.cells import nanoseconds, number
from ingest.profiles.facts.details import Counter, ModuleMemory
from ingest.profiles.facts.place import FactPlace
from ingest.profiles.tables.memory_tables import module_memory

CLOCK = "AI Core Freq"
_MEMORY = {"APP/Memory": "app", "Device/Memory": "device"}
_KB_PER_MB = 1024.0
_MB_PER_GB = 1e3
_UNITS = frozenset({"KB", "MB/s", "GB/s", "MHz", "mV", "%"})
MOST_COUNTERS = 2000
"""Different counters that are kept; a trace has some hundred."""


class CounterEvents:
    """A collector of events of phase C."""

    def __init__(self, file: str) -> None:
        self._place = FactPlace(file)
        self._sums: dict[tuple[str, str], list[float]] = {}
        self._memory: list[tuple[str, int, float]] = []
        self._hbm: dict[int, float] = {}
        self._clock: list[tuple[int, float]] = []

    def take(self, event: Mapping[str, object]) -> None:
        """Take one sample."""
        name, values, at = event.get("name"), event.get("args"), nanoseconds(event.get("ts"))
        if not isinstance(name, str) or not isinstance(values, dict) or at is None:
            return
        for key, cell in values.items():
            value = number(cell)
            if not value >= 0:  # nan, too
                continue
            if name == CLOCK:
                if value > 0:
                    self._clock.append((at, value))
            elif name in _MEMORY:
                self._memory.append((_MEMORY[name], at, value / _KB_PER_MB))
            else:
                if name.startswith("HBM "):
                    self._hbm[at] = self._hbm.get(at, 0.0) + value / _MB_PER_GB
                self._add(name, str(key), value)

    def _add(self, name: str, key: str, value: float) -> None:
        held = self._sums.get((name, key))
        if held is not None:
            held[0] += value
            held[1] += 1
            held[2] = max(held[2], value)
        elif len(self._sums) < MOST_COUNTERS:
            self._sums[name, key] = [value, 1, value]

    @property
    def frequency_mhz(self) -> tuple[tuple[int, float], ...]:
        """Samples of the clock: nanoseconds and megahertz."""
        return tuple(sorted(self._clock))

    @property
    def hbm_gb_s(self) -> tuple[tuple[int, float], ...]:
        """Bandwidth of device memory: all channels, reads and writes added."""
        return tuple(sorted(self._hbm.items()))

    def modules(self) -> list[ModuleMemory]:
        """Memory of the process and of the device as a whole."""
        return module_memory((("", name, at, amount) for name, at, amount in self._memory), self._place.file)

    def counters(self) -> list[Counter]:
        """The other counters, averaged."""
        return list(self._counters())

    def _counters(self) -> Iterator[Counter]:
        for (name, key), (total, n, peak) in self._sums.items():
            track, _, part = name.partition("/")
            what, bracket, unit = key.partition("(")
            unit = unit.rstrip(")") if bracket else what if what in _UNITS else ""
            told_by_name = part or bracket or what in {name, unit}
            full = f"{track} {part.lower()}".strip() if told_by_name else f"{track} {what}"
            scale = 100.0 if unit == "%" and part == "Hit Rate" and peak <= 1 else 1.0
            yield Counter(name=full, unit=unit, mean=scale * total / n, peak=scale * peak, place=self._place)
