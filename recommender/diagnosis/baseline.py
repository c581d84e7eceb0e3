"""The usual losses of a job: what its last runs lost by node and account, kept in one small file a job.

A run of a job that is diagnosed again and again needs no folder beside it: what is new is told beside the
medians of the runs before, which one bad run does not move.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

from kg.errors import InputError
from kg.nouns.values import load_json
from recommender.diagnosis.evidence import SoftEvidence
from recommender.diagnosis.ledger.accounts import COMPUTING, Account, RunLedger
from recommender.diagnosis.ledger.difference import AccountChange, LedgerDifference
from recommender.diagnosis.patterns.growth import ALIKE, LEAST_KINDS, SLOWER
from recommender.diagnosis.rank.view import View

LAST = 10
"""Runs that a baseline is of: the median of so many stands with four bad ones. Assumed."""
_NAME = re.compile(r"[\w.-]{1,80}")
Key = tuple[str, int | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class JobBaseline:
    """The medians of the last runs of a job, in a step.

    Attributes:
        name: Of the job.
        runs: How many they are of.
        step_us: Length of a step by rank.
        accounts: Time of each account of the ledger, the mean over ranks.
        losses: Evidence by node and rank, with what it cost in a step.
    """

    name: str
    runs: int
    step_us: Mapping[int | None, float]
    accounts: Mapping[Account, float]
    losses: Mapping[Key, SoftEvidence]

    @classmethod
    def read(cls, folder: Path, name: str) -> JobBaseline | None:
        """The baseline of a job; None before its first run.

        Raises:
            InputError: The name is none, or its file is damaged.
        """
        path = _file(folder, name)
        if not path.exists():
            return None
        try:
            runs = [load_json(line) for line in path.read_text(encoding="utf-8").splitlines()[-LAST:]]
            return cls._of(name, runs)
        except (ValueError, KeyError, TypeError, AttributeError) as fault:
            raise InputError(
                f"{path}: its runs cannot be read ({type(fault).__name__})",
                hint="remove the file: the next run begins the job anew",
            ) from fault

    @classmethod
    def _of(cls, name: str, runs: Sequence[Mapping[str, Any]]) -> JobBaseline | None:
        if not runs:
            return None
        steps: dict[int | None, list[float]] = {}
        accounts: dict[Account, list[float]] = {}
        losses: dict[Key, list[Mapping[str, Any]]] = {}
        for run in runs:
            for rank, us in run["steps"]:
                steps.setdefault(rank, []).append(float(us))
            for *account, us in run["accounts"]:
                accounts.setdefault(Account(*map(str, account)), []).append(float(us))
            for item in run["losses"]:
                losses.setdefault((str(item["node"]), item["rank"]), []).append(item)
        return cls(
            name=name,
            runs=len(runs),
            step_us={rank: median(times) for rank, times in steps.items()},
            accounts={
                account: median([*times, *[0.0] * (len(runs) - len(times))])
                for account, times in accounts.items()
            },
            losses={key: _usual(*key, items, len(runs)) for key, items in losses.items()},
        )

    def slower(self, ledger: RunLedger) -> SoftEvidence | None:
        """Evidence of a slower clock: nearly all computing takes longer by one factor."""
        pairs = [
            (us, self.accounts[account])
            for account, us in ledger.mean_us.items()
            if account.part == COMPUTING and self.accounts.get(account, 0.0) > 0
        ]
        total = sum(us for us, _ in pairs)
        if len(pairs) < LEAST_KINDS or total <= 0:
            return None
        factor = total / sum(before for _, before in pairs)
        near = sum(us for us, before in pairs if abs(us / before - factor) <= (factor - 1) / 2)
        if factor < SLOWER or near < ALIKE * total:
            return None
        grown = total * (1 - 1 / factor)
        steps = max(len(rank.steps) for rank in ledger.ranks)
        return SoftEvidence(
            node="frequency-drop",
            shown=1.0,
            lost_us=grown * steps,
            share=grown / ledger.mean_step_us,
            says=f"operators of all kinds take {factor:.2f} times as long as usual, as at a slower clock",
        )

    def difference(self, ledger: RunLedger) -> LedgerDifference | None:
        """The change of each account; None where the run has no steps."""
        if not ledger.ranks:
            return None
        now = ledger.mean_us
        changes = [
            AccountChange(
                account=account,
                before_us=self.accounts.get(account, 0.0),
                now_us=now.get(account, 0.0),
                facts=(),
            )
            for account in dict.fromkeys([*now, *self.accounts])
        ]
        changes.sort(key=lambda item: (-abs(item.growth_us), item.account))
        return LedgerDifference(
            before_us=sum(self.accounts.values()), now_us=ledger.mean_step_us, changes=tuple(changes)
        )


def keep_run(
    folder: Path, name: str, views: Iterable[View], ledger: RunLedger, evidence: Mapping[Key, SoftEvidence]
) -> None:
    """Add a run to the file of a job; only the last ones are kept."""
    path = _file(folder, name)
    steps = {view.rank.rank: max(1, len(view.rank.steps)) for view in views}
    usual = max(steps.values(), default=1)
    line = json.dumps(
        {
            "steps": [[rank.rank, round(rank.mean_step_us, 3)] for rank in ledger.ranks],
            "accounts": [[*account, round(us, 3)] for account, us in ledger.mean_us.items()],
            "losses": [
                {"node": node, "rank": rank, "us": round(item.lost_us / steps.get(rank, usual), 3),
                 "shown": round(item.shown, 4), "setting": item.is_setting, "level": item.level}
                for (node, rank), item in evidence.items()
            ],
        }
    )  # fmt: skip
    folder.mkdir(parents=True, exist_ok=True)
    before = path.read_text(encoding="utf-8").splitlines()[1 - LAST :] if path.exists() else []
    fresh = path.with_suffix(".new")
    fresh.write_text("\n".join([*before, line]) + "\n", encoding="utf-8")
    fresh.replace(path)


def _usual(node: str, rank: int | None, items: Sequence[Mapping[str, Any]], runs: int) -> SoftEvidence:
    levels = [float(item["level"]) for item in items if item["level"] is not None]
    return SoftEvidence(
        node=node,
        rank=rank,
        says="",
        shown=median([float(item["shown"]) for item in items]),
        lost_us=median([*(float(item["us"]) for item in items), *[0.0] * (runs - len(items))]),
        share=0.0,
        is_setting=bool(items[-1]["setting"]),
        level=median(levels) if levels else None,
    )


def _file(folder: Path, name: str) -> Path:
    if not _NAME.fullmatch(name) or name.startswith("."):
        raise InputError(
            f"--job {name!r}: no name of a job", hint="letters, digits, '.', '_' and '-', 80 at most"
        )
    return folder / f"{name}.jsonl"
