"""The critical path of a step, unequal stages and the next measurement as text."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cli import output
from cli.output import say

if TYPE_CHECKING:
    from recommender.diagnosis.critical.next_measurement import NextMeasurement
    from recommender.diagnosis.critical.path import CriticalPath
    from recommender.diagnosis.critical.stages import UnequalStages

SHOWN = 6
"""Rows of the path and operators of a stage that are shown unless all are asked for: the largest."""
_LONGEST = 28
"""Letters of an operator's name that are shown."""
_NAMED = 4
"""Ranks that are named in a row."""


def show_path(path: CriticalPath | None, *, is_full: bool) -> None:
    """The operators and waits that make a step as long as it is; nothing where one rank alone makes it."""
    if path is None or (len(path.by_rank) < 2 and not path.waits):
        return
    rows = [
        (rank, path.stage(rank), f"waits for rank {_ranks(absent)}" + (f" ({group})" if group else ""), us)
        for (rank, absent, group), us in path.waits.items()
    ]
    rows += [(rank, path.stage(rank), name[:_LONGEST], us) for (rank, name), us in path.operators.items()]
    rows.sort(key=lambda row: -row[3])
    kept = rows if is_full else rows[:SHOWN]
    has_stages = any(row[1] is not None for row in rows)

    def cells(rank: object, stage: int | None, what: str, us: float) -> tuple[object, ...]:
        amount = (f"{us / 1e3:.2f}", f"{us / path.step_us:.1%}")
        return (rank, "" if stage is None else stage, what, *amount) if has_stages else (rank, what, *amount)

    shown = [cells(*row) for row in kept]
    if len(rows) > len(kept):
        rest = sum(row[3] for row in rows[len(kept) :])
        shown.append(cells("", None, f"{len(rows) - len(kept)} more  (-v shows them)", rest))
    say("What makes the step as long as it is, over the ranks that others waited for")
    output.table(("rank", *(("stage",) if has_stages else ()), "what", "ms", "share"), shown)
    say()


def _ranks(numbers: tuple[int, ...]) -> str:
    named = ", ".join(map(str, numbers[:_NAMED]))
    return named + (f" and {len(numbers) - _NAMED} more" if len(numbers) > _NAMED else "")


def show_stages(stages: UnequalStages | None) -> None:
    """The stage that computes longest, and by which operators."""
    if stages is None:
        return
    largest = [(name, us) for name, us in stages.operators.items() if us > 0][:3]
    named = ", ".join(f"{name[:_LONGEST]} {us / 1e3:.2f} ms" for name, us in largest)
    say(
        f"Stage {stages.stage} computes {stages.more_us / 1e3:.2f} ms longer than the others "
        f"({stages.share:.0%} of the step): {named}"
    )
    say()


def show_next(item: NextMeasurement | None) -> None:
    """The measurement that would tell most of what is open."""
    if item is None:
        return
    say("What to measure next")
    output.table(
        ("how", "tells", "open"),
        [(item.how, item.tells, f"{item.open_us / 1e3:.2f} ms, {item.share:.0%} of the step")],
    )
    say()
