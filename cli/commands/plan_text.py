"""A plan for people: the start as a block to paste, the changes to test, what is not for here."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from cli import output
from cli.output import say
from kg.nouns.gain import factor_text
from kg.nouns.values import show as show_value

if TYPE_CHECKING:
    from collections.abc import Sequence

    from recommender.answers.answer import Answer
    from recommender.ranking.change import Change
    from recommender.ranking.plan.plan import Plan
    from recommender.ranking.start import ExpectedValue, StartConfiguration

_REASONS = 3
"""Reasons for a start without ``-v``."""
_CHANGES = 3
"""Changes in full without ``-v``: those that have a gain or are for a bottleneck that was told."""
_LEAST_AGREEMENT = 0.01
"""Agreement of recipes with an alternative that is worth a word: less reads as 0 %."""
_FOLDED = 80
"""Letters of changes without a number: with their heading a line and a half of a screen."""
_ADDRESS = re.compile(r" <https?://[^>]*>")
"""An address behind a sentence: -v and --json have it."""

_SHORT = 3
"""Settings that stand for a kernel's configuration in a line: the sides of its tile come first."""


def show_missed(plan: Plan) -> None:
    """Print the limits that nothing keeps, with what comes nearest."""
    for item in plan.missed:
        numbers = [output.quantity(number, item.unit) for number in (item.value, item.low, item.high)]
        nearest = f"{numbers[0]} ({numbers[1]} to {numbers[2]}, modelled)"
        limit = f"{item.metric} <= {output.quantity(item.maximum, item.unit)}"
        if item.within_reach:
            say(
                f"Modelled to miss {limit}: {nearest}; "
                f"chance to keep it with the changes below {item.chance:.0%}"
            )
        else:
            say(f"Nothing here keeps {limit}: the nearest is modelled at {nearest}")


def show_plan(answer: Answer, plan: Plan, *, verbose: bool = False) -> None:
    """Print a plan: start, alternatives, changes, and what is not for here."""
    start = plan.start
    release = f" with {start.framework} {start.version}".rstrip() if start.framework else ""
    if start.fits is False:
        _show_unfit(answer, plan)
        return
    where = f"{'Start' if plan.keeps_limits else 'Nearest'}{release}"
    if start.layout is not None:
        where += f": {start.layout}"
    limited = {limit.metric for limit in answer.problem.limits}
    results = [item for place, item in enumerate(start.expected) if not place or item.metric in limited]
    if answer.engines:
        _show_engines(answer)
    else:
        say(where + "".join(f", {_expected(item)}" for item in results))
        for line in start.paste_lines:
            print(f"  {line}")
    if verbose:
        for line in start.because:
            say(f"  # {line}")
    elif reasons := [_ADDRESS.sub("", line) for line in start.because[:_REASONS]]:
        say(f"Because: {'; '.join(reasons)}")
    _show_others(answer, plan, verbose=verbose)
    telling = [one for one in plan.changes if one.gain or one.bottleneck]
    shown = plan.changes if verbose else telling[:_CHANGES]
    if shown:
        say("\nTest next, in this order:")
    for place, change in enumerate(plan.changes, 1):
        if change in shown:
            _show_change(place, change)
    _show_rest(plan, [item for item in plan.changes if item not in shown], verbose=verbose)


def _show_others(answer: Answer, plan: Plan, *, verbose: bool) -> None:
    """Print what else could be begun with: other layouts, and prefill and decode apart."""
    for item in plan.alternatives:
        if verbose or not _is_change(item, plan.changes):
            say(f"Or {_in_short(item)}")
    apart = answer.apart
    if apart is None or answer.engines or any(one.title.endswith(str(apart)) for one in plan.changes):
        return
    start = plan.start.expected[0] if plan.start.expected else None
    is_even = start is not None and start.value < apart.throughput
    said = "modelled to be no faster than engines that do both" if is_even else _expected(apart.expected[0])
    say(f"Or prefill and decode apart, {apart}: {said}")


def _show_engines(answer: Answer) -> None:
    """Print prefill and decode apart: what both reach, and the block to paste of either."""
    start, apart = answer.engines[0].start, answer.apart
    expected = () if apart is None else apart.expected
    say(f"Start with {start.framework} {start.version}, prefill and decode apart: {apart}")
    say("Together: " + ", ".join(_expected(item) for item in expected))
    for engine in answer.engines:
        of_each = f", each of {engine.instances}" if engine.instances > 1 else ""
        say(f"To {engine.role}{of_each}:")
        for line in engine.start.paste_lines:
            print(f"  {line}")


def _is_change(start: StartConfiguration, changes: Sequence[Change]) -> bool:
    """Whether an alternative is believed faster, and a layout stands among the changes to test."""
    return not start.expected and any(change.title.startswith("Divide it as ") for change in changes)


def _show_rest(plan: Plan, others: Sequence[Change], *, verbose: bool) -> None:
    """The changes that nobody has put a number on, and what is not for here, in a line each."""
    if smaller := [item for item in others if item.gain is not None]:
        gains = (f"{factor_text(item.gain)} {item.title}" for item in smaller if item.gain is not None)
        say(f"Then: {'; '.join(gains)}")
    documented = [item for item in others if item.gain is None]
    if verbose and plan.further:
        say(f"Further: {'; '.join(item.strategy or item.title for item in plan.further)}")
    elif documented:
        shown = _in_a_line([_words(item) for item in documented])
        count = len(plan.further) + len(documented) - len(shown)
        more = [f"{count} more (-k 50)"] if count else []
        say(f"Also documented, without a number: {'; '.join([*shown, *more])}")
    elif plan.further:
        say(f"{len(plan.further)} more changes (-k 50 lists them)")
    if verbose and plan.not_here:
        say(f"Not here: {'; '.join(f'{item.strategy} ({item.because})' for item in plan.not_here)}")
    elif plan.not_here:
        say(f"Not for here: {len(plan.not_here)} strategies and settings (-v says why)")


def _in_a_line(words: Sequence[str]) -> list[str]:
    """Those of some words that a line of a screen holds, the first ones first."""
    shown: list[str] = []
    for word in words:
        if len("; ".join([*shown, word])) <= _FOLDED:
            shown.append(word)
    return shown


def _words(change: Change) -> str:
    """What a change sets, on the line of those without a number."""
    condition = f" (if {change.provided})" if change.provided else ""
    return (", ".join(change.words) or change.title) + condition


def _expected(item: ExpectedValue) -> str:
    if item.unit == "s":
        numbers = [output.quantity(number, "s") for number in (item.value, item.low, item.high)]
    else:
        numbers = [
            f"{number:,.0f}" if number >= 100 else f"{number:.3g}"
            for number in (item.value, item.low, item.high)
        ]
    unit = "" if item.unit == "s" else f" {item.unit}"
    interval = "" if numbers[1] == numbers[2] else f"{numbers[1]} to {numbers[2]}, "
    return f"{item.metric} {numbers[0]}{unit} ({interval}{item.tier})"


def _in_short(start: StartConfiguration) -> str:
    tile = " ".join(f"{item.key}={show_value(item.value)}" for item in start.settings[:_SHORT])
    reached = [_expected(item) for item in start.expected[:1]]
    if not reached and start.layout is not None:
        reached = list(start.because[:1])
    return (
        (tile if start.layout is None else str(start.layout))
        + "".join(f", {text}" for text in reached)
        + (f"; recipes agree by {start.agreement:.0%}" if (start.agreement or 0) >= _LEAST_AGREEMENT else "")
    )


def _show_change(place: int, change: Change) -> None:
    """A change with its gain, what to set, and what must hold."""
    gain = "" if change.gain is None else f"{factor_text(change.gain)}, "
    say(f"{place}. {gain}{change.tier}: {change.title}")
    settings = change.words
    say("     " + ("; ".join(settings) if settings else change.how or "work, not a setting"))
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
