"""One rank of a profile as the analysers see it."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from types import MappingProxyType

import numpy as np

from ingest.profiles.facts.kernels import UNKNOWN_NS, Floats, Kernels, Mask
from ingest.profiles.facts.place import FactPlace
from ingest.profiles.facts.run import Rank
from recommender.diagnosis.rank.compared import Compared
from recommender.diagnosis.rank.kinds import chains
from recommender.diagnosis.rank.program_signs import infers

DeviceFacts = Mapping[str, float | str]
NOT_KNOWN: DeviceFacts = MappingProxyType({})

PLACES = 12
"""Rows that a finding points at: the costliest."""


LEAST_US = 10.0
"""Times are written to the nanosecond, so the clock of a shorter kernel is known to less than 1e-4."""


LONG_GAP_US = 50.0
"""A gap that no launch explains: a launch takes some 5 to 20 µs on the host (msprof best practices)."""

SWEPT = 1 << 16
"""Starts and ends that are swept at a time: what is needed besides the columns does not grow with a trace."""

MOST_CORES = 32
"""Cube cores of the largest die known to the graph: 32 of an Ascend 910; a larger count is of blocks."""


@dataclass(frozen=True, eq=False, kw_only=True)
class View:
    """One rank with the sums that analysers ask for.

    Attributes:
        rank: Its facts.
        agreed_cores: Cube cores that the ranks of the run agree on; 0 where they do not.
        uses: Use of each communicator that is known (``rank.groups``).
        gaps_by_step: Time of its gaps by reason, as the ledger books it, each of the shape of its steps.
        device: What the hardware table has of its device; empty if unknown.
        peers_before_us: Gaps before the first work of as many steps, the median of its peers; infinite alone.
        peers_after_us: Those behind the last work, the least of its peers; infinite alone.
        peers_launch_us: What a launch takes on its peers, the median; infinite alone.
    """

    rank: Rank
    agreed_cores: float = 0.0
    uses: Mapping[str, str] = field(default_factory=dict)
    gaps_by_step: Mapping[str, Floats] = field(default_factory=dict)
    device: DeviceFacts = field(default_factory=dict)
    peers_before_us: float = float("inf")
    peers_after_us: float = float("inf")
    peers_launch_us: float = float("inf")

    @cached_property
    def gap_us(self) -> Mapping[str, float]:
        """Time of all gaps by reason."""
        return {reason: float(us.sum()) for reason, us in self.gaps_by_step.items()}

    @cached_property
    def total_us(self) -> float:
        """Length of all profiled steps; without steps the time of the kernels; 0 if neither was collected."""
        if self.rank.steps:
            return sum(step.step_us for step in self.rank.steps)
        if self.rank.kernels is None:
            return sum(item.elapse_ms for item in self.rank.collectives) * 1e3
        return float(np.nansum(self.rank.kernels.duration_us))

    def step_sum(self, name: str) -> float:
        """One part of all steps, microseconds."""
        return sum(getattr(step, name) or 0.0 for step in self.rank.steps)

    @cached_property
    def exposed_share(self) -> float:
        """Share of all communication that no computation hides; 1 where the split was not collected."""
        exposed = self.step_sum("exposed_us")
        together = exposed + self.step_sum("overlapped_us")
        return exposed / together if together > 0 else 1.0

    @cached_property
    def infers(self) -> bool:
        """True if the rank shows that it only infers."""
        return infers(self.rank)

    @cached_property
    def measured_cores(self) -> float:
        """Cube cores that this rank's own kernels show; 0 without kernels."""
        return 0.0

    @property
    def cores(self) -> float:
        """Cube cores: those that the ranks agree on, else those that this rank shows; 0 if unknown."""
        return self.agreed_cores or self.measured_cores


@dataclass(frozen=True, eq=False, kw_only=True)
class KernelView(View):
    """One rank whose compute kernels were collected.

    Attributes:
        kernels: Its n compute kernels, one at least.
        peer_mhz: Highest clock of the cores of any rank of the run; 0 if unknown.
        compared: Its kernels beside those of an earlier run of the job; None without one.
    """

    kernels: Kernels
    peer_mhz: float = 0.0
    compared: Compared | None = None

    @cached_property
    def exclusive(self) -> Floats:
        """Share of each compute kernel's time in which nothing else runs, shape (n,).

        Only that time can be won by making it faster; 1 where starts were not collected.
        """
        if self.compared is not None:
            return self.compared.exclusive
        kernels = self.rank.kernels
        return np.zeros(0) if kernels is None else exclusive_shares(kernels)[_is_counted(self.rank, kernels)]

    @property
    def is_new(self) -> Mask:
        """Compute kernels that an earlier run does not have as often, all without one; shape (n,)."""
        return np.ones(len(self.kernels), np.bool_) if self.compared is None else ~self.compared.is_usual

    @cached_property
    def chains(self) -> list[tuple[list[int], tuple[str, ...]]]:
        """Runs of small operators among the compute kernels."""
        return chains(self.kernels)

    @cached_property
    def measured_cores(self) -> float:
        """Cube cores that the kernels show; 0 if none tells.

        Cycles are summed over cores, so cycles by time and clock is how many were busy: the most that ever
        were are all. Without counters it is the largest number of blocks that is no more than a device has.
        """
        kernels = self.kernels
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
        worst = np.argsort(-cost, kind="stable")[:PLACES]
        rows = tuple(int(self.kernels.rows[i]) for i in worst if cost[i] > 0)
        return (FactPlace(self.kernels.file, rows),) if rows else ()

    def costliest(self, cost: Floats, most: int = 3) -> str:
        """The operators that cost most, as text with their milliseconds."""
        label = self.kernels.label
        sums = np.bincount(label.codes, weights=cost, minlength=len(label.labels))
        worst = [int(i) for i in np.argsort(-sums, kind="stable")[:most] if sums[i] > 0]
        return ", ".join(f"{label.labels[i] or '?'} {sums[i] / 1e3:.2f} ms" for i in worst)


def in_steps(rank: Rank, kernels: Kernels) -> Mask:
    """Kernels of the steps that count, shape (n,); all where kernels name none of them.

    A trace also holds what was launched before its first step: a device is behind its host.
    """
    names, column = {step.step for step in rank.steps} - {""}, kernels.texts["step"]
    if not names & set(column.labels):
        return np.ones(len(kernels), np.bool_)
    return column.where(label in names for label in column.labels)


def _is_counted(rank: Rank, kernels: Kernels) -> Mask:
    return kernels.is_compute & in_steps(rank, kernels)


def view_of(rank: Rank) -> View:
    """The view of a rank: a :class:`KernelView` where compute kernels were collected."""
    kernels = None if rank.kernels is None else rank.kernels.where(_is_counted(rank, rank.kernels))
    return KernelView(rank=rank, kernels=kernels) if kernels else View(rank=rank)


def exclusive_shares(kernels: Kernels) -> Floats:
    """Share of each kernel's time in which no other kernel runs, shape (n,).

    The starts and ends are swept in parts: between them only how many run, and the sum of their numbers, is
    carried over; where one runs, that sum is its number.
    """
    start, end = kernels.start_ns, kernels.end_ns
    shares = np.ones(len(kernels))
    which = np.flatnonzero((start != UNKNOWN_NS) & (end > start))
    count = len(which)
    if count < 2:
        return shares
    at = np.concatenate([start[which], end[which]])
    order = np.argsort(at, kind="stable")
    alone_ns = np.zeros(count)
    running, numbers = 0, 0
    for first in range(0, 2 * count - 1, SWEPT):
        part = order[first : first + SWEPT]
        owner = part % count
        sign = np.where(part < count, 1, -1)
        run, sole = running + np.cumsum(sign), numbers + np.cumsum(sign * owner)
        lengths = np.diff(at[order[first : first + SWEPT + 1]])  # behind the last event nothing runs
        is_one = run[: len(lengths)] == 1
        np.add.at(alone_ns, sole[: len(lengths)][is_one], lengths[is_one])
        running, numbers = int(run[-1]), int(sole[-1])
    shares[which] = np.minimum(1.0, alone_ns / (end[which] - start[which]))
    return shares
