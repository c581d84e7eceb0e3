"""Pipeline stages of unequal work: the operators by which one computes longer than the others."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from kg.nouns.codec import JsonNoun, in_json
from recommender.diagnosis.ledger.accounts import COMPUTING, RunLedger

LEAST_SHARE = 0.03
"""Share of the step by which a stage must compute longer: the medium mark of msprof-analyze."""


@dataclass(frozen=True, slots=True, kw_only=True)
class UnequalStages(JsonNoun):
    """The stage that computes longest, beside the mean of the others.

    Attributes:
        stage: Its number.
        more_us: Time of a step that it computes longer.
        share: That as a share of the step.
        operators: How much longer each operator takes there, the largest first; they add up to ``more_us``.
    """

    stage: int
    more_us: float = field(metadata=in_json(digits=3))
    share: float = field(metadata=in_json(digits=4))
    operators: Mapping[str, float] = field(metadata=in_json(digits=3))


def unequal_stages(ledger: RunLedger) -> UnequalStages | None:
    """The stage of most work; None where stages compute alike, or fewer than two are known."""
    held: dict[int, list[dict[str, float]]] = {}
    for rank in ledger.ranks:
        if rank.stage is None:
            continue
        sums: dict[str, float] = {}
        for account, us in rank.mean_us.items():
            if account.part == COMPUTING:
                sums[account.operator] = sums.get(account.operator, 0.0) + us
        held.setdefault(rank.stage, []).append(sums)
    if len(held) < 2:
        return None
    stages = {stage: _mean(rows) for stage, rows in held.items()}
    worst = max(stages, key=lambda stage: (sum(stages[stage].values()), stage))
    others = _mean([sums for stage, sums in stages.items() if stage != worst])
    more = {name: stages[worst].get(name, 0.0) - others.get(name, 0.0) for name in {*stages[worst], *others}}
    more_us = sum(more.values())
    share = more_us / ledger.mean_step_us if ledger.mean_step_us > 0 else 0.0
    if share < LEAST_SHARE:
        return None
    ordered = dict(sorted(more.items(), key=lambda pair: (-pair[1], pair[0])))
    return UnequalStages(stage=worst, more_us=more_us, share=share, operators=ordered)


def _mean(rows: list[dict[str, float]]) -> dict[str, float]:
    names = {name for row in rows for name in row}
    return {name: sum(row.get(name, 0.0) for row in rows) / len(rows) for name in names}
