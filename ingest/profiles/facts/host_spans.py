"""Spans of host calls that last longer than a launch, which may explain a gap of the device."""

from array import array
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from ingest.profiles.facts.kernels import Integers
from ingest.profiles.facts.stretches import overlap_us, union

LEAST_US = 20.0
"""A launch takes some 5 to 20 µs on the host (msprof best practices): shorter calls leave no gap behind."""
STEP = "step"
"""Level of the ranges that mark steps."""
LEAST_HOST_US = 100.0
"""An operator that calls no runtime and computes; what only makes views and tensors takes less. Assumed."""
OPERATOR, HOST_OPERATOR = "op", "host operator"
"""Level of the framework's operators, and of those that call no runtime: they compute on the host."""


@dataclass(frozen=True, eq=False, kw_only=True)
class HostSpans:
    """The n calls of a host that last longer than a launch, and its steps.

    Attributes:
        names: Level and name of each kind of call, as calls have them.
        codes: Number of the kind of each, shape (n,).
        start_ns: When it began, shape (n,).
        end_ns: When it ended, shape (n,).
        launches_ns: When work was launched, in order; empty where that was not recorded.
    """

    names: tuple[tuple[str, str], ...]
    codes: Integers
    start_ns: Integers
    end_ns: Integers
    launches_ns: Integers = field(default_factory=lambda: np.zeros(0, np.int64))

    def of(self, wanted: Callable[[str, str], bool]) -> tuple[Integers, Integers]:
        """Begin and end of the calls of a kind, by level and name, in order of their begin."""
        mine = np.array([wanted(*name) for name in self.names], np.bool_)[self.codes]
        order = np.argsort(self.start_ns[mine], kind="stable")
        return self.start_ns[mine][order], self.end_ns[mine][order]

    def longest(self, wanted: Callable[[str, str], bool], start_ns: Integers, end_ns: Integers) -> str:
        """Name of the kind of call that has most of some gaps; empty if none has any."""
        of_kind: dict[tuple[str, str], float] = {}
        for code, name in enumerate(self.names):
            if wanted(*name):
                mine = self.codes == code
                stretches = union(self.start_ns[mine], self.end_ns[mine])
                of_kind[name] = float(overlap_us(start_ns, end_ns, *stretches).sum())
        best = max(of_kind, key=lambda name: of_kind[name], default=None)
        return best[1] if best is not None and of_kind[best] > 0 else ""


class SpanBuilder:
    """A collector of spans."""

    def __init__(self) -> None:
        self._codes: dict[tuple[str, str], int] = {}
        self._rows = array("q")
        self._threads: dict[str, int] = {}
        self._runtime = array("q")

    def take_runtime(self, thread: str, start_ns: int | None) -> None:
        """Take a call of the runtime: an operator around it is at work for the device."""
        if start_ns is not None:
            self._runtime.extend((self._threads.setdefault(thread, len(self._threads)), start_ns))

    def take(self, level: str, name: str, start_ns: int | None, lasted_us: float, thread: str = "") -> None:
        """Take a call; one that is no longer than a launch is left out, but for steps and waits."""
        if start_ns is not None and (lasted_us >= LEAST_US or level == STEP or name.endswith("Synchronize")):
            code = self._codes.setdefault((level, name), len(self._codes))
            at = self._threads.setdefault(thread, len(self._threads))
            self._rows.extend((code, start_ns, start_ns + round(lasted_us * 1e3), at))

    def build(self, launches_ns: Integers, base_ns: int = 0) -> HostSpans | None:
        """The spans, with times since ``base_ns``; None if there are none.

        Args:
            launches_ns: When the device's work was launched.
            base_ns: Moment that times are counted from.
        """
        if not self._rows:
            return None
        codes, start, end, thread = np.frombuffer(self._rows, np.int64).reshape(-1, 4).T.copy()
        on_host = np.array([level == OPERATOR for level, _ in self._codes], np.bool_)[codes]
        on_host &= end - start >= round(LEAST_HOST_US * 1e3)
        threads, times = np.frombuffer(self._runtime, np.int64).reshape(-1, 2).T
        for at in range(len(self._threads)):
            mine, called = np.flatnonzero(thread == at), np.sort(times[threads == at])
            # A thread that never calls the runtime works beside the one that does.
            ends = [np.searchsorted(called, moments[mine]) for moments in (start, end)]
            on_host[mine] &= (ends[0] == ends[1]) & (len(called) > 0)
        return HostSpans(
            names=(*self._codes, *((HOST_OPERATOR, name) for _, name in self._codes)),
            codes=codes + len(self._codes) * on_host, start_ns=start + base_ns, end_ns=end + base_ns,
            launches_ns=np.unique(launches_ns[launches_ns >= 0]) + base_ns,
        )  # fmt: skip
