"""The difference of two ledgers: it adds up to the growth of the step, and names what changed beside."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from recommender.diagnosis.ledger.accounts import COMPUTING, EXPOSED, FREE, GAP, Account, RunLedger
from recommender.diagnosis.ledger.operator_facts import OperatorFacts, changed_facts, facts_of
from recommender.diagnosis.ledger.reasons import (
    GAPS,
    HOST,
    MOVING,
    UNDIVIDED,
    UNSEEN_HOST,
    WAITING,
    has_runtime_calls,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from ingest.profiles.facts.run import Profile


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
