"""One rank as analysers look at it."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ingest.profiles.facts.intervals import length_us
from ingest.profiles.facts.kernels import UNKNOWN_NS
from ingest.profiles.facts.run import FactPlace
from recommender.diagnosis.rank.kinds import chains

if TYPE_CHECKING:
    from ingest.profiles.facts.kernels import Kernels, Mask
    from ingest.profiles.facts.run import Rank
    from recommender.diagnosis.rank.comparison import Alike


Floats = NDArray[np.float64]
PLACES = 12
"""Rows that a finding points at: the costliest."""


LEAST_US = 10.0
"""Times are written to the nanosecond, so the clock of a shorter kernel is known to less than 1e-4."""


LONG_GAP_US = 50.0
"""A gap that no launch explains: a launch takes some 5 to 20 µs on the host (msprof best practices)."""

MOST_CORES = 32
"""Cube cores of the largest die known to the graph: 32 of an Ascend 910; a larger count is of blocks."""


class View:
    """One rank as analysers look at it.

    Attributes:
        rank: Its facts.
        peer_mhz: Highest clock of the cores of any rank of the run; 0 if unknown.
        alike: What an earlier run of the job tells of its kernels; None without one.
    """

    def __init__(self, rank: Rank) -> None:
        self.rank = rank
        self.peer_mhz = 0.0
        self.alike: Alike | None = None

    @cached_property
    def total_us(self) -> float:
        """All profiled steps together; without any, what the kernels take; 0 if nothing tells."""
        if self.rank.steps:
            return sum(step.step_us for step in self.rank.steps)
        if self.rank.kernels is None:
            return sum(item.elapse_ms for item in self.rank.collectives) * 1e3
        return float(np.nansum(self.rank.kernels.duration_us))

    def step_sum(self, name: str) -> float:
        """One part of all steps, microseconds."""
        return sum(getattr(step, name) or 0.0 for step in self.rank.steps)

    @cached_property
    def bare(self) -> float:
        """Share of all communication that nothing hides; 1 where the split was not collected."""
        exposed = self.step_sum("exposed_us")
        together = exposed + self.step_sum("overlapped_us")
        return exposed / together if together > 0 else 1.0

    @cached_property
    def kernels(self) -> Kernels | None:
        """What computes; None if no kernels were collected."""
        found = self.rank.kernels
        return None if found is None or not len(found) else found.where(found.is_compute)

    @cached_property
    def alone(self) -> Floats:
        """Share of each compute kernel's time in which nothing else runs, shape (n,).

        Only that time can be won by making it faster; 1 where starts were not collected.
        """
        kernels = self.rank.kernels
        if kernels is None:
            return np.zeros(0)
        return alone(kernels)[kernels.is_compute]

    @property
    def is_new(self) -> Mask:
        """Which compute kernels an earlier run does not have as often, all without one; shape (n,)."""
        if self.alike is not None:
            return ~self.alike.is_usual
        return np.ones(0 if self.kernels is None else len(self.kernels), np.bool_)

    @cached_property
    def chains(self) -> tuple[list[tuple[list[int], tuple[str, ...]]], dict[str, int]]:
        """Runs of small operators among the compute kernels, and what broke them: ``kinds.chains``."""
        return ([], {}) if self.kernels is None else chains(self.kernels)

    @cached_property
    def cores(self) -> float:
        """Cube cores; 0 if nothing tells.

        Cycles are summed over cores, so cycles by time and clock is how many were busy: the most that ever
        were are all. Without counters it is the largest number of blocks that is no more than a device has.
        """
        kernels = self.kernels
        if kernels is None:
            return 0.0
        core = kernels.texts["core"]
        cube = core.where(label in {"AI_CORE", "MIX_AIC", "AIC"} for label in core.labels)
        blocks = kernels.numbers["blocks"]
        cube &= (blocks > 0) & (blocks <= MOST_CORES)
        if not cube.any():
            return 0.0
        spent = kernels.pipe("aicore_time(us)")[cube]
        timed = np.nan_to_num(spent) > LEAST_US
        if not timed.any():
            return float(blocks[cube].max())
        rate = kernels.pipe("aic_total_cycles")[cube][timed] / spent[timed]
        return float(np.rint(rate.max() / np.max(rate / blocks[cube][timed])))

    def places(self, cost: Floats) -> tuple[FactPlace, ...]:
        """The rows of the compute kernels that cost most."""
        kernels = self.kernels
        if kernels is None or not len(cost):
            return ()
        worst = np.argsort(-cost, kind="stable")[:PLACES]
        rows = tuple(int(kernels.rows[i]) for i in worst if cost[i] > 0)
        return (FactPlace(kernels.file, rows),) if rows else ()

    def named(self, cost: Floats, most: int = 3) -> str:
        """The operators that cost most, with their milliseconds."""
        kernels = self.kernels
        if kernels is None:
            return ""
        label = kernels.label
        sums = np.bincount(label.codes, weights=cost, minlength=len(label.labels))
        worst = [int(i) for i in np.argsort(-sums, kind="stable")[:most] if sums[i] > 0]
        return ", ".join(f"{label.labels[i] or '?'} {sums[i] / 1e3:.2f} ms" for i in worst)


def alone(kernels: Kernels) -> Floats:
    """Share of each kernel's time in which no other kernel runs, shape (n,)."""
    n = len(kernels)
    start, end = kernels.start_ns, kernels.end_ns
    known = (start != UNKNOWN_NS) & (end > start)
    found = np.ones(n)
    if known.sum() < 2 or length_us(start[known], end[known]) <= 0:
        return found
    which = np.flatnonzero(known)
    at = np.concatenate([start[which], end[which]])
    sign = np.concatenate([np.ones(len(which), np.int64), -np.ones(len(which), np.int64)])
    owner = np.concatenate([which, which])
    order = np.argsort(at, kind="stable")
    at, sign, owner = at[order], sign[order], owner[order]
    running = np.cumsum(sign)[:-1]
    sole = np.cumsum(sign * owner)[:-1]  # where one runs, the sum of the running is that one
    is_one = running == 1
    lengths = np.bincount(sole[is_one], weights=np.diff(at)[is_one], minlength=n)
    found[which] = np.minimum(1.0, lengths[which] / (end - start)[which])
    return found
