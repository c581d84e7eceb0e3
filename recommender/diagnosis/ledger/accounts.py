"""The ledger of a run: every microsecond of its steps is booked once, to an operator or a gap and a reason.

What the profiler's own table of steps says of computing, exposed and free time holds. Kernels say what it
went to; what they leave of it is booked to operators that were not collected, and what the table itself
leaves of the step is unexplained.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np

from ingest.profiles.facts.kernels import UNKNOWN_NS, Floats, Integers, Kernels, stem
from ingest.profiles.facts.run import Profile, Rank, StepTime
from ingest.profiles.facts.stretches import JUMP, overlap_us, union
from recommender.diagnosis.ledger import reasons
from recommender.diagnosis.ledger.gaps import Gaps, queued_us, times_of_gaps
from recommender.diagnosis.ledger.sweep import ShareOfTime, share_time
from recommender.diagnosis.rank.collectives import idle_us
from recommender.diagnosis.rank.groups import rank_name, stage_of
from recommender.diagnosis.rank.host_calls import WAITS, calls_of, outermost, spent_us
from recommender.diagnosis.rank.view import LONG_GAP_US

COMPUTING, EXPOSED, FREE, UNEXPLAINED = "computing", "exposed", "free", "unexplained"
PARTS = (COMPUTING, EXPOSED, FREE, UNEXPLAINED)
GAP = "gap"
NOT_COLLECTED = "not in the profile"
"""Operator of time whose kernels the profile lacks."""
ROUNDING = 0.005
"""Share of a step by which gaps between kernels may exceed its free time: the tables round. Beyond it the
table of kernels is cut, and where the device was idle is not known."""

OFF = 0.1
"""Part of the free time by which gaps may exceed it besides: they are scaled to it. Assumed: a table that is
cut leaves out more."""

EXACT = 1e-4
"""Share by which kernels and the table may differ through the rounding of times to nanoseconds."""


class Account(NamedTuple):
    """Account that time is booked to: part of the step, operator (or gap), and reason."""

    part: str
    operator: str
    reason: str


@dataclass(frozen=True, eq=False, kw_only=True)
class RankLedger:
    """The s steps of one rank by k accounts.

    Attributes:
        rank: Number of the rank; None if it has none.
        name: Number, else folder.
        stage: Its pipeline stage; None if unknown.
        steps: Names of the steps.
        step_us: Length of each, shape (s,).
        accounts: What time was booked to.
        time_us: Time of each step by account, shape (s, k).
    """

    rank: int | None
    name: str
    stage: int | None
    steps: tuple[str, ...]
    step_us: Floats
    accounts: tuple[Account, ...]
    time_us: Floats

    @cached_property
    def mean_us(self) -> Mapping[Account, float]:
        """Time of each account in a step, the mean over steps."""
        return dict(zip(self.accounts, self.time_us.mean(axis=0).tolist(), strict=True))

    def total_us(self, part: str, reason: str = "") -> float:
        """Time of all steps that is booked to a part, and to a reason if one is given."""
        mine = [item.part == part and reason in {"", item.reason} for item in self.accounts]
        return float(self.time_us[:, mine].sum())

    @property
    def mean_step_us(self) -> float:
        """Length of a step, the mean over steps."""
        return float(self.step_us.mean())

    @property
    def error(self) -> float:
        """Share of a step by which its accounts differ from it at most; time booked twice counts."""
        unexplained = np.array([account.part == UNEXPLAINED for account in self.accounts])
        twice = np.maximum(0.0, -self.time_us[:, unexplained].sum(axis=1))
        off = np.abs(self.time_us.sum(axis=1) - self.step_us) + twice
        return float(np.max(off / self.step_us))


@dataclass(frozen=True, eq=False, kw_only=True)
class RunLedger:
    """The ledgers of the ranks of a run whose steps are known."""

    ranks: tuple[RankLedger, ...]

    @property
    def error(self) -> float:
        """Largest share by which accounts differ from their step."""
        return max((rank.error for rank in self.ranks), default=0.0)

    @cached_property
    def mean_us(self) -> Mapping[Account, float]:
        """Time of each account in a step, the mean over ranks."""
        found: dict[Account, float] = {}
        for rank in self.ranks:
            for account, us in rank.mean_us.items():
                found[account] = found.get(account, 0.0) + us / len(self.ranks)
        return found

    @property
    def mean_step_us(self) -> float:
        """Length of a step, the mean over ranks; 0 without ranks."""
        return float(np.mean([rank.mean_step_us for rank in self.ranks])) if self.ranks else 0.0


def keep_ledger(profile: Profile, before: Profile | None = None) -> RunLedger:
    """The ledger of each rank that has steps.

    Args:
        profile: The run.
        before: An earlier run of the job: synchronising calls whose times are not known have then no more
            than in that run and what they take longer now.
    """
    earlier = {} if before is None else {rank.rank: rank for rank in before.ranks if rank.steps}
    return RunLedger(
        ranks=tuple(
            ledger_of(rank, profile.path, earlier.get(rank.rank)) for rank in profile.ranks if rank.steps
        )
    )


def ledger_of(rank: Rank, path: str = "", earlier: Rank | None = None) -> RankLedger:
    """The ledger of one rank that has steps."""
    steps, numbers = _numbered(rank)
    most = math.inf if earlier is None else _most_waits_us(rank, earlier)
    book = _Book(len(steps))
    if rank.kernels is not None and (rank.kernels.start_ns[numbers >= 0] != UNKNOWN_NS).any():
        _book_kernels(book, rank, rank.kernels, numbers, steps, most)
    else:
        _book_operators(book, rank, steps, most)
    for place, step in enumerate(steps):
        rest = step.step_us - step.computing_us - step.exposed_us - step.free_us
        book.add(Account(UNEXPLAINED, "", ""), place, rest)
    accounts, time_us = book.closed()
    return RankLedger(
        rank=rank.rank,
        name=rank_name(rank, path),
        stage=stage_of(rank),
        steps=tuple(step.step for step in steps),
        step_us=np.array([step.step_us for step in steps]),
        accounts=accounts,
        time_us=time_us,
    )


def _most_waits_us(rank: Rank, earlier: Rank) -> float:
    """Most time of gaps that synchronising calls have: what they had in an earlier run, and their growth."""
    times = len(rank.steps) / len(earlier.steps)
    had = ledger_of(earlier).total_us(FREE, WAITS)
    now, was = (outermost(calls_of(item.calls, WAITS)) for item in (rank, earlier))
    if sum(call.count for call in now) > 2 * times * sum(call.count for call in was) + len(rank.steps):
        return math.inf  # where the host waits is new: its time says no more than how long
    return times * had + max(0.0, spent_us(rank.calls, WAITS) - times * spent_us(earlier.calls, WAITS))


def operator_name(label: str) -> str:
    """The name of an operator from the label of its kernels.

    Some files end the kind of a collective with an underscore; the name of a kernel of CANN without its kind
    ends with its kind.
    """
    short = label.rpartition("_")[2] if label.startswith(("aclnn", "trans_")) else label
    return short.rstrip("_") or "?"


class _Book:
    """The time of each step by account while it is booked."""

    def __init__(self, steps: int) -> None:
        self._steps = steps
        self._columns: dict[Account, Floats] = {}

    def add(self, account: Account, step: int, us: float) -> None:
        if us:
            self.column(account)[step] += us

    def column(self, account: Account) -> Floats:
        return self._columns.setdefault(account, np.zeros(self._steps))

    def closed(self) -> tuple[tuple[Account, ...], Floats]:
        accounts = sorted(self._columns, key=lambda a: (PARTS.index(a.part), -self._columns[a].sum(), a))
        if not accounts:
            return (), np.zeros((self._steps, 0))
        return tuple(accounts), np.column_stack([self._columns[account] for account in accounts])


def _numbered(rank: Rank) -> tuple[list[StepTime], Integers]:
    """The steps of a rank, and the number of the step that each kernel is in; -1 outside of all.

    Kernels that name no step belong to the one step; to all steps together where there are several.
    """
    steps = list(rank.steps)
    kernels = rank.kernels
    if kernels is None:
        return steps, np.zeros(0, np.int64)
    column = kernels.texts["step"]
    place = {step.step: at for at, step in enumerate(steps)}
    if len(place) == len(steps) and set(column.labels) & place.keys() - {""}:
        return steps, np.array([place.get(label, -1) for label in column.labels], np.int64)[column.codes]
    if len(steps) > 1:
        sums = {
            name: sum(getattr(step, name) for step in steps)
            for name in ("step_us", "computing_us", "exposed_us", "overlapped_us", "free_us")
        }
        steps = [replace(steps[0], step="all", **sums)]
    return steps, np.zeros(len(kernels), np.int64)


def _book_kernels(
    book: _Book,
    rank: Rank,
    kernels: Kernels,
    numbers: Integers,
    steps: Sequence[StepTime],
    most_waits_us: float,
) -> None:
    shares = share_time(kernels, numbers)
    label, why = kernels.label, reasons.reasons_of(kernels)
    kinds = len(reasons.COMPUTING)
    computing = _Part(book, steps, "computing_us", COMPUTING, "computing")
    computing.sums(
        numbers,
        label.codes.astype(np.int64) * kinds + why,
        shares.computing_us,
        lambda key: Account(
            COMPUTING, operator_name(label.labels[key // kinds]), reasons.COMPUTING[key % kinds]
        ),
    )
    computing.close()
    exposed = _Part(book, steps, "exposed_us", EXPOSED, reasons.UNDIVIDED)
    waits = reasons.waiting_parts(kernels, rank.collectives)
    told = ~np.isnan(waits)
    talking = (reasons.UNDIVIDED, reasons.WAITING, reasons.MOVING)
    for place, us in enumerate(
        (
            np.where(told, 0.0, shares.exposed_us),
            shares.exposed_us * np.nan_to_num(waits),
            np.where(told, shares.exposed_us * (1 - np.nan_to_num(waits)), 0.0),
        )
    ):
        exposed.sums(
            numbers,
            label.codes.astype(np.int64) * len(talking) + place,
            us,
            lambda key: Account(
                EXPOSED, operator_name(label.labels[key // len(talking)]), talking[key % len(talking)]
            ),
        )
    exposed.close()
    copies = _by_step(numbers, shares.copy_us, len(steps))
    copying = kernels.is_copy & (kernels.start_ns != UNKNOWN_NS)
    at_edges = union(kernels.start_ns[copying], kernels.end_ns[copying])
    _book_gaps(book, rank, shares, steps, copies, at_edges, most_waits_us)


def _by_step(numbers: Integers, us: Floats, count: int) -> Floats:
    return _sums(numbers[numbers >= 0], us[numbers >= 0], count)


def _sums(places: Integers, us: Floats, count: int) -> Floats:
    """Sums of time by place."""
    return np.asarray(np.bincount(places, weights=us, minlength=count), dtype=np.float64)


class _Part:
    """One part of all steps while kernels are booked to it: no more than the steps have of it."""

    def __init__(self, book: _Book, steps: Sequence[StepTime], field: str, part: str, reason: str) -> None:
        self._book = book
        self._most = np.array([getattr(step, field) for step in steps])
        self._rest = Account(part, NOT_COLLECTED, reason)
        self._held: list[tuple[Account, Floats]] = []

    def sums(self, numbers: Integers, keys: Integers, us: Floats, account: Callable[[int], Account]) -> None:
        mine = (us > 0) & (numbers >= 0)
        present, place = np.unique(keys[mine], return_inverse=True)
        count = len(self._most)
        table = _sums(place * count + numbers[mine], us[mine], len(present) * count).reshape(-1, count)
        self._held += [(account(int(key)), row) for key, row in zip(present, table, strict=True)]

    def close(self) -> None:
        """Book what was taken, scaled where it exceeds the part, and what it leaves."""
        total = np.sum([row for _, row in self._held], axis=0) if self._held else np.zeros(len(self._most))
        scale = np.divide(self._most, total, out=np.ones_like(total), where=total > 0)
        scale = np.where(scale < 1 + EXACT, scale, 1.0)
        for account, row in self._held:
            self._book.column(account)[:] += row * scale
        rest = np.where((total <= 0) | (scale == 1), np.maximum(0.0, self._most - total), 0.0)
        if rest.any():
            self._book.column(self._rest)[:] += rest


def _book_gaps(
    book: _Book,
    rank: Rank,
    shares: ShareOfTime,
    steps: Sequence[StepTime],
    copies: Floats,
    copying: tuple[Integers, Integers],
    most_waits_us: float,
) -> None:
    free = np.array([step.free_us for step in steps])
    length = np.array([step.step_us for step in steps])
    at = shares.gap_step
    # A jump of the clock is no time of a step that is counted from its kernels.
    gap_us = np.where(shares.gap_us > JUMP * length[at], 0.0, shares.gap_us)
    between = _sums(at, gap_us, len(steps))
    fits = between + copies <= (1 + OFF) * free + ROUNDING * length
    kept = np.where(fits, np.minimum(1.0, np.divide(free, between + copies, out=np.ones_like(free),
                                                    where=between + copies > 0)), 0.0)  # fmt: skip
    copy_us = copies * kept
    # Where the table of kernels is cut its long gaps tell nothing: what the short ones leave is one gap.
    short = np.where(gap_us <= LONG_GAP_US, gap_us, 0.0)
    sums = _sums(at, short, len(steps))
    part = np.minimum(1.0, np.divide(free, sums, out=np.zeros_like(free), where=sums > 0))
    located = np.where(fits[at], gap_us * kept[at], short * part[at])
    left = np.where(fits, 0.0, np.maximum(0.0, free - sums * part))
    edge = np.where(fits, np.maximum(0.0, free - between * kept - copy_us), 0.0)
    # A counted step begins where the one before it ended: what lies before its kernels is a gap like others.
    counted = np.array([step.is_counted for step in steps])
    # Free time that begins behind the last work of a step is of that step, up to the first work of the next.
    preparing = np.array([*(step.preparing_us or 0.0 for step in steps), 0.0])
    before = np.where(counted, edge, np.minimum(edge, np.maximum(preparing[:-1], preparing[1:])))
    after = edge - before
    first_ns, last_ns = (
        np.pad(ends, (0, len(steps) - len(ends))) for ends in (shares.first_ns, shares.last_ns)
    )
    lead_ns = first_ns - np.rint(before * 1e3).astype(np.int64)
    first_copies = np.minimum(before, overlap_us(lead_ns, first_ns, *copying))
    # Copies that open it, such as a loss that is read, are of the step before: the gap begins behind them.
    half_ns = lead_ns + (first_ns - lead_ns) // 2
    lead_ns += np.rint(np.minimum(first_copies, overlap_us(lead_ns, half_ns, *copying)) * 1e3).astype(
        np.int64
    )
    last_copies = overlap_us(last_ns, last_ns + np.rint(after * 1e3).astype(np.int64), *copying)
    last_copies = np.minimum(after, last_copies)
    before, after = before - first_copies, after - last_copies
    copy_us += first_copies + last_copies
    if copy_us.any():
        book.column(Account(FREE, GAP, reasons.COPY))[:] += copy_us
    inside, cut = np.flatnonzero(located > 0), np.flatnonzero(left > 0)
    lead, trail = np.flatnonzero(before > 0), np.flatnonzero(after > 0)
    gaps = Gaps(
        start_ns=np.concatenate(
            [
                shares.gap_ns[inside],
                first_ns[cut],
                lead_ns[lead],
                last_ns[trail] + np.rint(last_copies[trail] * 1e3).astype(np.int64),
            ]
        ),
        length_us=np.concatenate([located[inside], left[cut], before[lead], after[trail]]),
        step=np.concatenate([at[inside], cut, lead, trail]),
        place=np.repeat([0, 0, -1, 1], [len(inside), len(cut), len(lead), len(trail)]),
        queued_us=np.zeros(len(inside) + len(cut) + len(lead) + len(trail)),
    )
    if rank.kernels is not None:
        gaps = replace(gaps, queued_us=queued_us(gaps.start_ns, gaps.length_us, rank.kernels))
    _book_reasons(book, times_of_gaps(gaps, rank, len(steps), most_waits_us))


def _book_reasons(book: _Book, by_reason: Mapping[str, Floats]) -> None:
    for reason, us in by_reason.items():
        book.column(Account(FREE, GAP, reason))[:] += us


def _book_operators(book: _Book, rank: Rank, steps: Sequence[StepTime], most_waits_us: float) -> None:
    """Book a rank without starts of kernels: its collectives, as far as they are exposed, and the parts."""
    by_step: dict[str, list[tuple[Account, float]]] = {}
    for item in rank.collectives:
        idle = idle_us(item)
        name = operator_name(stem(item.name))
        by_step.setdefault(item.step, []).extend(
            (
                (Account(EXPOSED, name, reasons.WAITING), idle),
                (Account(EXPOSED, name, reasons.MOVING), item.elapse_ms * 1e3 - idle),
            )
        )
    for place, step in enumerate(steps):
        book.add(Account(COMPUTING, NOT_COLLECTED, "computing"), place, step.computing_us)
        mine = by_step.get(step.step) or (by_step.get("") if len(steps) == 1 else None) or []
        total = sum(us for _, us in mine)
        scale = min(1.0, step.exposed_us / total) if total > 0 else 0.0
        for account, us in mine:
            book.add(account, place, us * scale)
        book.add(Account(EXPOSED, NOT_COLLECTED, reasons.UNDIVIDED), place, step.exposed_us - total * scale)
    free = np.array([step.free_us for step in steps])
    where = np.flatnonzero(free > 0)
    gaps = Gaps(
        start_ns=np.zeros(len(where), np.int64),
        length_us=free[where],
        step=where,
        place=np.zeros(len(where), np.int64),
        queued_us=np.zeros(len(where)),
    )
    if rank.details.spans is not None:  # whose times say nothing of gaps that have none
        rank = replace(rank, details=replace(rank.details, spans=None))
    _book_reasons(book, times_of_gaps(gaps, rank, len(steps), most_waits_us))
