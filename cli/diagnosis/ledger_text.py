"""The ledger of a run as tables: where the step went, and what grew since an earlier run."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from cli import output
from cli.output import say
from recommender.diagnosis.ledger.accounts import EXPOSED, UNEXPLAINED
from recommender.diagnosis.ledger.unusual_steps import unusual_steps
from recommender.diagnosis.rank.groups import rank_name

if TYPE_CHECKING:
    from ingest.profiles.facts.run import Profile
    from recommender.diagnosis.diagnosis import Diagnosis
    from recommender.diagnosis.ledger.accounts import Account, RunLedger
    from recommender.diagnosis.ledger.difference import AccountChange, LedgerDifference

SHOWN = 8
"""Accounts shown unless all are asked for: the largest."""
_LONGEST = 28
"""Letters of an operator's name that are shown."""
_FRAMES, _WIDEST = 5, 58
"""Functions of the program that are shown unless all are asked for, and letters of their names."""


def show_ledger(run: RunLedger, *, is_full: bool) -> None:
    """The accounts of a step, the mean over steps and ranks; the last row is what they add up to."""
    if not run.ranks:
        return
    step_us = run.mean_step_us
    ordered = sorted(run.mean_us.items(), key=lambda item: (-item[1], item[0]))
    shown = [item for item in ordered if item[0].part != UNEXPLAINED]
    unexplained_us = sum(us for account, us in ordered if account.part == UNEXPLAINED)
    kept = shown if is_full else shown[:SHOWN]
    rest_us = sum(us for _, us in shown[len(kept) :])
    rows = [(*_named(account), *_amount(us, step_us)) for account, us in kept]
    if len(shown) > len(kept):
        rows.append((f"{len(shown) - len(kept)} more", "(-v shows them)", *_amount(rest_us, step_us)))
    rows += [
        ("unexplained", "", *_amount(unexplained_us, step_us)),
        ("step", "", *_amount(step_us, step_us)),
    ]
    many = len(run.ranks) > 1 or any(len(rank.steps) > 1 for rank in run.ranks)
    say("Where the step goes" + (", mean of ranks and steps" if many else ""))
    output.table(("what", "why", "ms", "share"), rows)
    for item in unusual_steps(run)[:SHOWN]:
        which = "warm-up" if item.is_warm_up else f"{len(item.steps)} of {item.of} steps"
        which += f" ({item.course})" if item.course else ""
        rank = f"rank {item.rank}: " if item.rank is not None else ""
        what, why = _named(item.account)
        say(
            f"{rank}{which} longer by {item.excess_us / 1e3:.2f} ms in all ({item.share:.0%} of the run; "
            f"step {', '.join(item.steps[:5])}): mostly {what}{f', {why}' if why else ''} "
            f"({item.account_us / 1e3:.2f} ms)"
        )
    say()


def show_difference(difference: LedgerDifference, *, is_full: bool) -> None:
    """The accounts that changed, the largest first; the last row is the growth that they add up to."""
    growth_us, before_us = difference.growth_us, difference.before_us
    changes = difference.changes
    kept = changes if is_full else [item for item in changes[:SHOWN] if abs(item.growth_us) > 0]
    rest = changes[len(kept) :]
    rows = [_change(item) for item in kept]
    if rest:
        sums = [sum(getattr(item, name) for item in rest) for name in ("before_us", "now_us", "growth_us")]
        rows.append((f"{len(rest)} more", "(-v shows them)", *_times(*sums), ""))
    rows.append(("step", "", *_times(before_us, difference.now_us, growth_us), ""))
    share = f" ({growth_us / before_us:+.0%})" if before_us > 0 else ""
    say(f"What changed in a step: {growth_us / 1e3:+.2f} ms{share}")
    output.table(("what", "why", "ms before", "now", "change", "changed"), rows)
    say()


def show_idle_frames(profile: Profile, *, is_full: bool) -> None:
    """Functions of the program that ran while the device had nothing to do, where stacks were recorded."""
    rows = [
        (rank_name(rank, profile.path), item.name[:_WIDEST], _ms(item.us))
        for rank in profile.ranks
        for item in rank.details.idle_frames[: None if is_full else _FRAMES]
    ]
    if rows:
        say("What the program did while the device had nothing to do, over all steps")
        output.table(("rank", "function", "ms"), rows)
        say()


def show_headroom(found: Diagnosis) -> None:
    """Kernels by what they leave of a known device, where their shapes tell it."""
    rows = [
        (
            item.operator[:_LONGEST],
            item.shapes[:_LONGEST],
            f"{item.rate / 1e12:.3g} T{'B' if item.is_bytes else 'op'}/s",
            f"{item.of_share:.0%}",
            _ms(item.us),
            _ms(item.gain_us),
        )
        for item in found.headroom[:_FRAMES]
    ]
    if rows:
        say("What computing could still gain, by the device's rates and the shapes")
        output.table(("kernel", "shapes", "reaches", "of what it could", "ms", "to gain"), rows)
        say()


def show_memory(profile: Profile) -> None:
    """Device memory at its peak by the part of the program that holds it, where a snapshot tells."""
    rows = []
    for rank in profile.ranks:
        use, parts = rank.memory, [item for item in rank.details.modules if item.at_peak_mb is not None]
        if use is None or not parts:
            continue
        name = rank_name(rank, profile.path)
        rows += [
            (name, item.component, f"{item.at_peak_mb:.1f}", f"{item.peak_mb:.1f}", f"{item.last_mb:.1f}")
            for item in parts
        ]
        rows.append((name, "all", f"{use.peak_allocated_mb:.1f}", "", ""))
        if not math.isnan(use.peak_reserved_mb):
            rows.append((name, "reserved", f"{use.peak_reserved_mb:.1f}", "", ""))
    if rows:
        say("Device memory at its peak")
        output.table(("rank", "allocated by", "MiB at the peak", "its own most", "in the end"), rows)
        say()


def _named(account: Account) -> tuple[str, str]:
    operator = account.operator[:_LONGEST]
    if account.part == EXPOSED:
        return operator, f"exposed, {account.reason}"
    return operator, account.reason


def _amount(us: float, step_us: float) -> tuple[str, str]:
    return _ms(us), f"{round(us / step_us, 4) + 0.0:.1%}" if step_us > 0 else ""


def _ms(us: float) -> str:
    return f"{round(us / 1e3, 2) + 0.0:.2f}"  # no minus before a zero


def _times(before_us: float, now_us: float, growth_us: float) -> tuple[str, str, str]:
    return _ms(before_us), _ms(now_us), f"{round(growth_us / 1e3, 2) + 0.0:+.2f}"


def _change(item: AccountChange) -> tuple[str, ...]:
    what, why = _named(item.account) if item.account.part != UNEXPLAINED else ("unexplained", "")
    return what, why, *_times(item.before_us, item.now_us, item.growth_us), "; ".join(item.facts)
