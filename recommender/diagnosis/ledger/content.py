"""The ledger as plain content, for JSON and for the page of a report."""

from typing import Any

from kg.nouns.codec import plain
from recommender.diagnosis.ledger.accounts import PARTS, RankLedger, RunLedger
from recommender.diagnosis.ledger.difference import LedgerDifference
from recommender.diagnosis.ledger.unusual_steps import unusual_steps


def ledger_content(
    run: RunLedger, before: RunLedger | None, difference: LedgerDifference | None
) -> dict[str, Any] | None:
    """The ledger of a run, rank by rank, beside that of an earlier one; None where no rank has steps.

    ``accounts`` of a rank add up to its step, the changes of ``difference`` to the growth of the step.
    """
    if not run.ranks:
        return None
    return {
        "ranks": [_rank(rank) for rank in run.ranks],
        "before": None if before is None else [_rank(rank) for rank in before.ranks],
        "difference": None
        if difference is None
        else {
            "before_us": _rounded(difference.before_us),
            "now_us": _rounded(difference.now_us),
            "changes": [
                {
                    **item.account._asdict(),
                    "before_us": _rounded(item.before_us),
                    "now_us": _rounded(item.now_us),
                    "changed": list(item.facts),
                }
                for item in difference.changes
            ],
        },
        "unusual_steps": plain(unusual_steps(run)),
        "error": float(f"{run.error:.3g}"),
    }


def _rank(rank: RankLedger) -> dict[str, Any]:
    parts = dict.fromkeys(PARTS, 0.0)
    for account, us in rank.mean_us.items():
        parts[account.part] += us
    return {
        "rank": rank.name,
        "stage": rank.stage,
        "steps": len(rank.steps),
        "step_us": _rounded(rank.mean_step_us),
        **{f"{part}_us": _rounded(us) for part, us in parts.items()},
        "accounts": [{**account._asdict(), "us": _rounded(us)} for account, us in rank.mean_us.items()],
    }


def _rounded(us: float) -> float:
    return round(us, 3)
