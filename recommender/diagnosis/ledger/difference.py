"""The difference of two ledgers: it adds up to the growth of the step, and names what changed beside."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from ingest.profiles.facts.kernels import Floats, Kernels, stem
from ingest.profiles.facts.run import Profile
from recommender.diagnosis.ledger.accounts import (
    COMPUTING,
    EXPOSED,
    FREE,
    GAP,
    Account,
    RunLedger,
    operator_name,
)
from recommender.diagnosis.ledger.reasons import (
    GAPS,
    HOST,
    MOVING,
    UNDIVIDED,
    UNSEEN_HOST,
    WAITING,
    has_runtime_calls,
)
from recommender.diagnosis.rank.collectives import LOCAL
from recommender.diagnosis.rank.view import in_steps

SAME = 0.02
"""Share by which a number may differ from run to run: kernels repeat within a few per cent of each other."""
_TEXTS = ("input_shapes", "input_types")


@dataclass(slots=True, kw_only=True)
class OperatorFacts:
    """An operator in a step, the mean over steps and ranks; nan and empty where not collected.

    Attributes:
        count: How often it ran.
        shapes: Input shapes that took most of its time.
        types: Input types that did.
        blocks: Blocks, weighted by time.
        clock_mhz: Cycles by time and blocks.
        size_mb: Megabytes that it moved.
        rate_gb_s: At which rate.
        links: Kinds of links that it went over.
    """

    count: float = 0.0
    shapes: str = ""
    types: str = ""
    blocks: float = float("nan")
    clock_mhz: float = float("nan")
    size_mb: float = float("nan")
    rate_gb_s: float = float("nan")
    links: frozenset[str] = frozenset()


def facts_of(profile: Profile, ranks: set[int | None]) -> Mapping[str, OperatorFacts]:
    """The facts of each operator of some ranks."""
    found: dict[str, OperatorFacts] = {}
    chosen = [rank for rank in profile.ranks if rank.rank in ranks and rank.steps]
    runs = sum(len(rank.steps) for rank in chosen)
    with_kernels = [
        (rank.kernels.where(in_steps(rank, rank.kernels)), len(rank.steps))
        for rank in chosen
        if rank.kernels is not None
    ]
    for kernels, _ in with_kernels:
        _add_kernels(found, kernels, sum(steps for _, steps in with_kernels))
    moved: dict[str, list[tuple[str, float, float]]] = {}
    for rank in chosen:
        kernel_at = _talking(rank.kernels)
        for item in rank.collectives:
            name = kernel_at.get((item.place.file, *item.place.rows[:1])) or operator_name(stem(item.name))
            moved.setdefault(name, []).extend(
                (t.transport, t.size_mb, t.time_ms) for t in item.transfers if t.transport != LOCAL
            )
    for name, transfers in moved.items():
        size, spent = sum(size for _, size, _ in transfers), sum(time for _, _, time in transfers)
        operator = found.setdefault(name, OperatorFacts())
        operator.size_mb = size / runs
        operator.rate_gb_s = size / spent if spent > 0 else float("nan")
        operator.links = frozenset(link for link, size, _ in transfers if size > 0)
    return found


def _talking(kernels: Kernels | None) -> Mapping[tuple[object, ...], str]:
    """The operator of each kernel of communication, by its file and row: traces name collectives apart."""
    if kernels is None:
        return {}
    labels = kernels.label
    return {
        (kernels.file, int(kernels.rows[at])): operator_name(labels[int(at)])
        for at in np.flatnonzero(kernels.is_communication)
    }


def _add_kernels(found: dict[str, OperatorFacts], kernels: Kernels, steps: int) -> None:
    label, time = kernels.label, np.nan_to_num(kernels.duration_us)
    size = len(label.labels)
    counts = np.bincount(label.codes, minlength=size)
    blocks = _weighted(kernels.numbers["blocks"], time, kernels, size)
    spent = np.fmax(kernels.pipe("aicore_time(us)"), kernels.pipe("aiv_time(us)"))
    cycles = np.fmax(kernels.pipe("aic_total_cycles"), kernels.pipe("aiv_total_cycles"))
    with np.errstate(divide="ignore", invalid="ignore"):
        clock = _weighted(cycles / spent / kernels.numbers["blocks"], time, kernels, size)
    texts = [_costliest(kernels, name, time, size) for name in _TEXTS]
    for code in np.flatnonzero(counts):
        item = found.setdefault(operator_name(label.labels[code]), OperatorFacts())
        item.count += counts[code] / steps
        item.blocks, item.clock_mhz = float(blocks[code]), float(clock[code])
        item.shapes, item.types = (column[code] for column in texts)


def _weighted(values: Floats, time: Floats, kernels: Kernels, size: int) -> Floats:
    """Mean of values by label, weighted by time; nan where none is known."""
    known = np.isfinite(values) & (time > 0)
    codes = kernels.label.codes[known]
    weight = np.bincount(codes, weights=time[known], minlength=size)
    total = np.bincount(codes, weights=(values * time)[known], minlength=size)
    return np.where(weight > 0, total / np.where(weight > 0, weight, 1.0), np.nan)


def _costliest(kernels: Kernels, column: str, time: Floats, size: int) -> list[str]:
    """The text of a column that took most of the time of each label."""
    texts = kernels.texts[column]
    pairs = kernels.label.codes.astype(np.int64) * len(texts.labels) + texts.codes
    present, place = np.unique(pairs, return_inverse=True)
    sums = np.bincount(place, weights=time)
    found = [""] * size
    for at in np.argsort(sums, kind="stable"):
        found[int(present[at]) // len(texts.labels)] = texts.labels[int(present[at]) % len(texts.labels)]
    return found


def changed_facts(now: OperatorFacts | None, before: OperatorFacts | None) -> Iterator[str]:
    """Changes of an operator, in words."""
    if now is None or before is None:
        yield from ["is new"] * (now is not None) + ["is gone"] * (before is not None)
        return
    yield from _number("count", before.count, now.count, "")
    for name, old, new in (("shapes", before.shapes, now.shapes), ("types", before.types, now.types)):
        if old and new and old != new:
            yield f"{name} {old[:40]} -> {new[:40]}"
    yield from _number("blocks", before.blocks, now.blocks, "")
    yield from _number("clock", before.clock_mhz, now.clock_mhz, " MHz")
    yield from _number("moved", before.size_mb, now.size_mb, " MB")
    yield from _number("rate", before.rate_gb_s, now.rate_gb_s, " GB/s")
    if before.links and now.links and before.links != now.links:
        yield f"link {'+'.join(sorted(before.links))} -> {'+'.join(sorted(now.links))}"


def _number(name: str, before: float, now: float, unit: str) -> Iterator[str]:
    if abs(now - before) > SAME * max(abs(now), abs(before)):  # false for nan
        yield f"{name} {before:.4g} -> {now:.4g}{unit}"


@dataclass(frozen=True, slots=True, kw_only=True)
class AccountChange:
    """One account of a step in two runs.

    Attributes:
        account: What time was booked to; the reason is the later run's where it changed.
        before_us: Time in the step of the earlier run, the mean over its steps and ranks.
        now_us: The same for the later run.
        facts: What changed of the operator: number, shapes, types, blocks, clock, reason, bytes, link.
    """

    account: Account
    before_us: float
    now_us: float
    facts: tuple[str, ...]

    @property
    def growth_us(self) -> float:
        """Time that it grew by."""
        return self.now_us - self.before_us


@dataclass(frozen=True, slots=True, kw_only=True)
class LedgerDifference:
    """Every account of two runs, the largest change first.

    Attributes:
        before_us: Step of the earlier run, the mean over its steps and ranks.
        now_us: Step of the later run.
        changes: The accounts; their growth adds up to that of the step.
    """

    before_us: float
    now_us: float
    changes: tuple[AccountChange, ...]

    @property
    def growth_us(self) -> float:
        """Time that the step grew by."""
        return self.now_us - self.before_us

    @property
    def error(self) -> float:
        """Share of the later step by which the changes miss its growth."""
        return abs(sum(item.growth_us for item in self.changes) - self.growth_us) / max(self.now_us, 1e-9)


def subtract_ledgers(
    now: tuple[Profile, RunLedger], before: tuple[Profile, RunLedger]
) -> LedgerDifference | None:
    """The difference of two runs over the ranks that both have; over all ranks where they share none.

    None where either has no steps.
    """
    ledgers = [now[1], before[1]]
    shared = {rank.rank for rank in ledgers[0].ranks} & {rank.rank for rank in ledgers[1].ranks}
    if shared:
        ledgers = [
            RunLedger(ranks=tuple(rank for rank in run.ranks if rank.rank in shared)) for run in ledgers
        ]
    if not all(run.ranks for run in ledgers):
        return None
    later, sooner = (_by_operator(run) for run in ledgers)
    _merge_undivided(later, sooner)
    _merge_undivided(sooner, later)
    if has_runtime_calls(now[0]) != has_runtime_calls(before[0]):
        for run in (later, sooner):
            _merge(run, (FREE, GAP, UNSEEN_HOST), (HOST, *GAPS))
    facts = [
        facts_of(run[0], {rank.rank for rank in run_ledger.ranks})
        for run, run_ledger in zip((now, before), ledgers, strict=True)
    ]
    keys = dict.fromkeys([*later, *sooner])
    changes = [
        AccountChange(
            account=Account(key[0], key[1], _reason(later.get(key), sooner.get(key))),
            before_us=sum(sooner.get(key, {}).values()),
            now_us=sum(later.get(key, {}).values()),
            facts=tuple(_facts(key, later.get(key, {}), sooner.get(key, {}), facts)),
        )
        for key in keys
    ]
    changes.sort(key=lambda item: (-abs(item.growth_us), item.account))
    return LedgerDifference(
        before_us=ledgers[1].mean_step_us, now_us=ledgers[0].mean_step_us, changes=tuple(changes)
    )


Key = tuple[str, str, str]
"""Part, operator and, where it tells accounts apart, reason: waiting and moving, kinds of gaps."""


def _by_operator(run: RunLedger) -> dict[Key, dict[str, float]]:
    """Time of each reason by key. A kernel whose reason changed is still the same operator."""
    found: dict[Key, dict[str, float]] = {}
    for account, us in run.mean_us.items():
        key = (account.part, account.operator, "" if account.part == COMPUTING else account.reason)
        found.setdefault(key, {})[account.reason] = us
    return found


def _merge_undivided(now: dict[Key, dict[str, float]], before: dict[Key, dict[str, float]]) -> None:
    """Add up what one run tells apart and the other does not: else the same time has two names."""
    for part, operator, reason in list(before):
        if reason == UNDIVIDED:
            _merge(now, (part, operator, UNDIVIDED), (WAITING, MOVING))


def _merge(run: dict[Key, dict[str, float]], into: Key, reasons: Iterable[str]) -> None:
    total = sum(sum(run.pop((into[0], into[1], reason), {}).values()) for reason in reasons)
    if total:
        times = run.setdefault(into, {})
        times[into[2]] = times.get(into[2], 0.0) + total


def _reason(now: Mapping[str, float] | None, before: Mapping[str, float] | None) -> str:
    times = now or before or {}
    return max(times, key=lambda reason: times[reason], default="")


def _facts(
    key: Key, now: Mapping[str, float], before: Mapping[str, float], facts: list[Mapping[str, OperatorFacts]]
) -> Iterator[str]:
    if key[0] == COMPUTING and now and before and _reason(now, None) != _reason(before, None):
        yield f"{_reason(before, None)} -> {_reason(now, None)}"
    if key[0] in {COMPUTING, EXPOSED} and all(facts):
        later, sooner = (run.get(key[1]) for run in facts)
        yield from changed_facts(later, sooner)
