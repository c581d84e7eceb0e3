"""A plan for people: the start as a block to paste, a table of changes, what is not for here."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from cli import output
from cli.output import say
from kg.nouns.gain import factor_text
from kg.nouns.values import show as show_value

if TYPE_CHECKING:
    from recommender.answers.answer import Answer
    from recommender.ranking.change import Change
    from recommender.ranking.plan.plan import Plan
    from recommender.ranking.start import ExpectedValue, StartConfiguration

_REASONS = 4
"""Reasons for a start without ``-v``."""
_ADDRESS = re.compile(r" <https?://[^>]*>")
"""An address behind a sentence: -v and --json have it."""

_SHORT = 3
"""Settings that stand for a kernel's configuration in a line: the sides of its tile come first."""


def show_plan(answer: Answer, plan: Plan, *, verbose: bool = False) -> None:
    """Print a plan: start, alternatives, changes, and what is not for here."""
    start = plan.start
    release = f" with {start.framework} {start.version}".rstrip() if start.framework else ""
    if start.fits is False:
        _show_unfit(answer, plan)
        return
    where = f"Start{release}"
    if start.layout is not None:
        where += f": {start.layout}"
    limited = {limit.metric for limit in answer.problem.limits}
    results = [item for place, item in enumerate(start.expected) if not place or item.metric in limited]
    say(where + "".join(f", {_expected(item)}" for item in results))
    for line in start.paste_lines:
        print(f"  {line}")
    for line in start.because if verbose else start.because[:_REASONS]:
        say(f"  # {line if verbose else _ADDRESS.sub('', line)}")
    for item in plan.alternatives:
        say(f"Or {_in_short(item)}")
    say()
    if plan.changes:
        say("Worth testing on it, in this order:")
        output.table(
            ("", "change", "gain (90 %)", "chance", "known"),
            ([str(place), *_row(change)] for place, change in enumerate(plan.changes, 1)),
        )
        for place, change in enumerate(plan.changes, 1):
            _show_change(place, change)
    if plan.further:
        names = ", ".join(item.strategy or item.title for item in plan.further)
        say(
            f"\n{len(plan.further)} more without a measured gain"
            + (f": {names}" if verbose else " (-k 50 lists them)")
        )
    if plan.not_here:
        shown = plan.not_here if verbose else plan.not_here[:3]
        told = "; ".join(f"{item.strategy} ({item.because})" for item in shown)
        say(
            f"Not here: {told}"
            + (f"; {len(plan.not_here) - len(shown)} more" if len(shown) < len(plan.not_here) else "")
        )


def _expected(item: ExpectedValue) -> str:
    if item.unit == "s":
        numbers = [output.quantity(number, "s") for number in (item.value, item.low, item.high)]
    else:
        numbers = [f"{number:,.0f}" for number in (item.value, item.low, item.high)]
    unit = "" if item.unit == "s" else f" {item.unit}"
    return f"{item.metric} {numbers[0]}{unit} ({numbers[1]} to {numbers[2]}, {item.tier})"


def _in_short(start: StartConfiguration) -> str:
    tile = " ".join(f"{item.key}={show_value(item.value)}" for item in start.settings[:_SHORT])
    reached = [_expected(item) for item in start.expected[:1]]
    if not reached and start.layout is not None:
        reached = list(start.because[:1])
    return (
        (tile if start.layout is None else str(start.layout))
        + "".join(f", {text}" for text in reached)
        + ("" if start.agreement is None else f"; recipes agree by {start.agreement:.0%}")
    )


def _row(change: Change) -> list[str]:
    gain = change.gain
    return [
        change.title,
        "" if gain is None else factor_text(gain),
        "" if gain is None else f"{gain.probability_of_gain:.0%}",
        change.tier,
    ]


def _show_change(place: int, change: Change) -> None:
    """What to set, and what must hold."""
    settings = change.words
    say(f"{place:>3}  " + ("; ".join(settings) if settings else change.how or "work, not a setting"))
    if change.provided:
        say(f"     if {change.provided}")
    if change.gain is not None and change.against:
        say(f"     that gain was measured against {change.against}")
    if change.accuracy == "may-change":
        say("     accuracy may change: measure it")


def _show_unfit(answer: Answer, plan: Plan) -> None:
    many = answer.place if answer.problem.hardware.count else f"1 x {answer.place}"
    layout = plan.start.layout
    if layout is None and plan.start.because:
        say(f"It does not fit on {many}: {plan.start.because[0]}.")
    elif layout is None:
        say(f"It does not fit on {many}, nor on any number up to 1,024.")
    elif plan.start.because:
        say(f"It does not fit on {many}: {plan.start.because[0]}. This does: {layout}.")
    else:
        say(f"It does not fit on {many}. The smallest layout that does: {layout}, {layout.devices} devices.")
    if plan.start.fits_in is not None:
        name, small = plan.start.fits_in
        say(
            f"In {name} it fits here: {small} (--precision {name}). What that loses in accuracy is not known."
        )
