"""An answer, printed for people: the start as a block to paste, the changes to test, what is not for here."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from cli import output
from cli.output import say
from kg.nouns.gain import factor_text
from kg.nouns.setting import SettingPlace
from kg.nouns.situation import assumption_line
from kg.nouns.values import show as show_value
from kg.terms.purposes import plain_key

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kg.nouns.situation import Situation
    from recommender.answers.answer import Answer
    from recommender.ranking.change import Change
    from recommender.ranking.plan.plan import Plan
    from recommender.ranking.start import ExpectedValue, StartConfiguration

_MOST_ADDED = 8
"""Settings of the start that a script lacks, by name; so many fit two lines of a screen."""
_CHANGES = 3
"""Changes in full without ``-v``: those that have a gain or are for a bottleneck that was told."""
_FOLDED = 40
"""Letters of changes without a number: with their heading and the count a line of a screen."""
_LOAD, _RUNNING = "traits.concurrency", "traits.running"
"""Requests at once as they are told or found, and those that run of more than fit."""
_SHORT = 3
"""Settings that stand for a kernel's configuration in a line: the sides of its tile come first."""


def show(answer: Answer, *, verbose: bool = False, every: bool = False) -> None:
    """Print an answer for people; all of a plan if ``verbose``, all of its changes if ``every``."""
    plan = answer.plan
    for text in answer.notes:
        output.note(text)
    problem = answer.problem
    work = problem.workload
    what = " ".join(part for part in (work.model, work.operator) if part)
    shape = f" ({work.shape})" if work.shape else ""
    decides = "" if problem.objective.metric == "throughput" else f", by {problem.objective.metric}"
    say(f"{what}{shape} on {answer.place}{decides}")
    if any(item.stops for item in answer.findings):
        from cli.diagnosis.finding_text import show_stopping

        show_stopping(answer.findings)
    if plan is not None:
        show_missed(plan)
        if verbose:
            _show_situation(answer.situation)
        show_plan(answer, plan, verbose=verbose, every=every)
        _show_limits(answer, verbose=verbose)
        return
    if line := assumption_line(answer.assumed, with_options=verbose):
        say(line)
    say()
    _show_findings(answer)
    if verbose:
        _show_situation(answer.situation)
    listed = list(answer)
    if answer.abstention is not None:
        say(f"No recommendation: {answer.abstention.reason}.\nMeasure these next, and ingest them:\n")
        listed = [item for item in answer if item.id in answer.abstention.measure]
    for place, item in enumerate(listed, 1):
        _show_change(place, item, verbose=verbose)
    if 1 in answer.regret and answer.abstention is None:
        parts = (
            f"{'only the first' if k == 1 else f'the first {k}'}: "
            f"expect {math.expm1(value):.0%} above the best"
            for k, value in answer.regret.items()
        )
        say(f"If you time {'; '.join(parts)}.")
    _show_limits(answer, verbose=True)


def _show_situation(situation: Situation) -> None:
    """Print the facts of the case, each with its origin."""
    rows = [(fact.name, show_value(fact.value), str(fact.origin)) for fact in situation]
    output.table(("fact", "value", "origin"), rows)
    say()


def _show_limits(answer: Answer, *, verbose: bool) -> None:
    """Print the joint gain of the changes, the ceiling, and limits that were not checked."""
    if verbose and answer.together is not None:
        say(f"Together: {_combination_text(answer)}.")
    if answer.ceiling is not None:
        say(f"All observed bottlenecks together: at most {output.factor(answer.ceiling)}.")
    for limit in answer.unchecked:
        say(f"Not checked: {limit.metric} <= {output.quantity(limit.maximum, limit.unit)}.")
    if answer.refused and answer.plan is None:
        rules = dict.fromkeys(item.rule for item in answer.refused)
        say(f"Ruled out: {len(answer.refused)} ({'; '.join(rules)}).")


def _combination_text(answer: Answer) -> str:
    """The joint gain of the recommended strategies, and which of them it counts."""
    both = answer.together
    if both is None:
        return "nothing"
    titles = {item.id: item.title for item in answer}
    names = " + ".join(titles[item] for item in both.ids)
    cap = "" if both.ceiling is None else f", ceiling {output.factor(both.ceiling)}"
    out = ", ".join(titles[item] for item in both.left_out)
    return f"{factor_text(both.gain)} with {names}{cap}" + (f" (without {out})" if out else "")


def show_missed(plan: Plan) -> None:
    """Print the limits that nothing keeps, with what comes nearest."""
    for item in plan.missed:
        nearest = output.quantity(item.value, item.unit)
        limit = f"{item.metric} <= {output.quantity(item.maximum, item.unit)}"
        if item.within_reach:
            is_changed = any(change.gain is not None for change in plan.changes)
            kept = "the changes below keep it" if is_changed else "it is kept"
            say(f"Modelled to miss {limit}: {nearest}; {kept} by a chance of {item.chance:.0%}")
        else:
            say(f"Nothing here keeps {limit}: the nearest is modelled at {nearest}")


def show_plan(answer: Answer, plan: Plan, *, verbose: bool = False, every: bool = False) -> None:
    """Print a plan: start, findings on what runs, what it takes, and changes; all of it if ``verbose``.

    Without it, changes that no number speaks for stand on a line; with ``every`` all that were asked for are
    listed.
    """
    start = plan.start
    if start.fits is False:
        _show_unfit(answer, plan)
        return
    if answer.engines:
        _show_engines(answer)
    else:
        say(_headline(answer, plan))
        if line := _assumptions(answer, plan, with_options=verbose):
            say(line)
        _show_lines(answer, start)
    if added := _added(answer):
        say(f"Not in yours: {added}")
    if start.needs:
        say(f"Needs: {'; '.join(start.needs)}")
    if start.official and not verbose:
        say(start.official)
    _show_findings(answer)
    for line in start.because if verbose else ():
        say(f"  # {line}")
    if verbose or not answer.problem.workload.model:
        _show_others(answer, plan, () if verbose else start.because[1:2])
    telling = [one for one in plan.changes if one.wins or one.bottleneck]
    shown = plan.changes if verbose or every else telling[:_CHANGES]
    if shown:
        say("Test next:")
    for place, change in enumerate(shown, 1):
        _show_change(place, change, verbose=verbose)
    others = [item for item in plan.changes if item not in shown]
    also = "Also documented" if answer.problem.workload.model else "Also worth timing"
    _show_rest(plan, others, also, verbose=verbose)


def _show_lines(answer: Answer, start: StartConfiguration) -> None:
    """Print the lines to paste, and where they belong if they have no command of their own."""
    if any(item.where is SettingPlace.CODE for item in start.settings):
        say("In your program:")
    elif start.is_bare:
        if answer.problem.situation.has_script:
            say("In your launch (--write FILE writes it whole):")
        elif start.paste_lines:
            say("In the launch of your own script:")
        elif start.framework:
            say(f"No command of {start.framework} for it is known here")
    held = {_last(name): value for name, value in (answer.problem.current or {}).items()}
    mended = " ".join(one.remedy for one in answer.findings if one.stops)
    own = (one for one in start.settings if one.file and f"{one.key}=" not in mended)
    same = (one for one in own if held.get(_last(one.key), ...) == one.value)
    yours, lines = tuple(f"{one.file}: {one.key}=" for one in same), start.paste_lines
    shown = [text for text in lines if not text.startswith(yours)]
    for text in shown:
        print(f"  {text}")
    if len(shown) < len(lines):
        say(f"  and {len(lines) - len(shown)} more as in your file")


def _last(key: str) -> str:
    """The last name of a field, however it is spelled."""
    return plain_key(key).rpartition(".")[2].replace("_", "").lower()


def _added(answer: Answer) -> str:
    """Settings of the start that the script lacks, in words; empty without a script."""
    keys = answer.added
    more = f"; {len(keys) - _MOST_ADDED} more" if len(keys) > _MOST_ADDED else ""
    return "" if answer.engines else ", ".join(keys[:_MOST_ADDED]) + more


def _show_findings(answer: Answer) -> None:
    if answer.findings:
        from cli.diagnosis.finding_text import show_briefly

        show_briefly(answer.findings, of_measured=answer.plan is not None and answer.plan.start.is_measured)


def _headline(answer: Answer, plan: Plan) -> str:
    """The decision in a sentence: program, layout, what it reaches, and at which load."""
    start = plan.start
    limited = {limit.metric for limit in answer.problem.limits}
    results = [item for place, item in enumerate(start.expected) if not place or item.metric in limited]
    layout = "" if start.layout is None else str(start.layout)
    numbers = [_number(item) for item in results]
    if results:
        load = _load(answer)
        numbers.append(results[0].tier + (f" at {load}" if load and not start.is_measured else ""))
    release = f" with {start.framework} {start.version}".rstrip() if start.framework else ""
    lead = f"{'Start' if plan.keeps_limits else 'Nearest'}{release}"
    reached = ", ".join(filter(None, (layout, "; ".join(numbers))))
    return f"{lead}: {reached}" if reached else lead


def _load(answer: Answer) -> str:
    """The requests at once behind the numbers, in words; empty where there are none."""
    facts = answer.situation.facts
    fact = facts.get(_RUNNING) or facts.get(_LOAD)
    if fact is None:
        return ""
    return fact.words or ("one request at once" if fact.value == 1 else f"{fact.value:,} requests at once")


def _assumptions(answer: Answer, plan: Plan, *, with_options: bool) -> str:
    """Assumptions beyond those in the headline."""
    said = {f"{plan.start.framework} {plan.start.version}", _load(answer) if plan.start.expected else ""}
    rest = [fact for fact in answer.assumed if with_options or fact.words not in said]
    return assumption_line(rest, with_options=with_options)


def _show_others(answer: Answer, plan: Plan, bound: Sequence[str]) -> None:
    """Print the bound of a kernel, and alternatives to the start: layouts, tiles, roles apart."""
    for line in () if answer.problem.workload.model else bound:
        say(f"Because: {line}")
    if plan.alternatives:
        say(f"Or {'; '.join(map(_in_few_words, plan.alternatives))}")
    apart = answer.separation
    if apart is None or answer.engines or any(one.title.endswith(str(apart)) for one in plan.changes):
        return
    say(f"Or prefill and decode apart, {apart}")


def _show_engines(answer: Answer) -> None:
    """Print prefill and decode apart: what both reach, and the block to paste of either."""
    start, apart = answer.engines[0].start, answer.separation
    expected = () if apart is None else apart.expected
    say(f"Start with {start.framework} {start.version}, prefill and decode apart: {apart}")
    say("Together: " + ", ".join(_expected(item) for item in expected))
    if line := assumption_line(answer.assumed, with_options=False):
        say(line)
    for engine in answer.engines:
        of_each = f", each of {engine.instances}" if engine.instances > 1 else ""
        say(f"To {engine.role}{of_each}:")
        for text in engine.start.paste_lines:
            print(f"  {text}")


def _show_rest(plan: Plan, others: Sequence[Change], also: str, *, verbose: bool) -> None:
    """Print the rest: changes without a number on one line, and changes that are not for this question."""
    documented = [item for item in (*others, *plan.further) if item.gain is None]
    if verbose and plan.further:
        say(f"Further: {'; '.join(item.strategy or item.title for item in plan.further)}")
    elif others or plan.further:
        shown = _in_a_line([_words(item) for item in documented])
        count = len(plan.further) + len(others) - len(shown)
        more = [f"{count} more (-k 50)"] if count else []
        say(f"{also}: {'; '.join([*shown, *more])}" if shown else f"And {more[0]}")
    if verbose and plan.not_here:
        say(f"Not here: {'; '.join(f'{item.strategy} ({item.because})' for item in plan.not_here)}")


def _in_a_line(words: Sequence[str]) -> list[str]:
    """The first words that fit on a line of the screen."""
    shown: list[str] = []
    for word in words:
        if len("; ".join([*shown, word])) <= _FOLDED:
            shown.append(word)
    return shown


def _words(change: Change) -> str:
    """The settings of a change, on the line of those without a number."""
    condition = f" (if {change.provided})" if change.provided else ""
    return (", ".join(change.words) or change.title) + condition


def _figures(item: ExpectedValue) -> tuple[str, str, str]:
    """A value with its unit, and the ends of its interval: with a unit only where theirs is another."""
    numbers = (item.value, item.low, item.high)
    if item.unit == "s":
        value, *ends = (output.quantity(number, "s") for number in numbers)
        unit = value[value.index(" ") :]
        low, high = (
            end.removesuffix(unit) if all(one.endswith(unit) for one in ends) else end for end in ends
        )
        return value, low, high
    value, *ends = (f"{number:,.0f}" if number >= 100 else f"{number:.3g}" for number in numbers)
    return f"{value} {item.unit}", ends[0], ends[1]


def _number(item: ExpectedValue) -> str:
    """An expected value without its kind of evidence; a rate needs no name beside its unit."""
    value, low, high = _figures(item)
    name = "" if "/" in item.unit else f"{item.metric} "
    return f"{name}{value}" + ("" if low == high else f" ({low} to {high})")


def _expected(item: ExpectedValue) -> str:
    """An expected value with its kind of evidence."""
    value, low, high = _figures(item)
    return f"{item.metric} {value} ({'' if low == high else f'{low} to {high}, '}{item.tier})"


def _in_few_words(start: StartConfiguration) -> str:
    """Another start by its layout, or a kernel's by its tile, and the middle of what it reaches."""
    tile = " ".join(f"{item.key}={show_value(item.value)}" for item in start.settings[:_SHORT])
    reached = f" at {_figures(start.expected[0])[0]}" if start.expected else ""
    return (tile if start.layout is None else str(start.layout)) + reached


def _show_change(place: int, change: Change, *, verbose: bool) -> None:
    """A change with its gain and what must hold, and what to set beside it: on its line where both fit."""
    gain = "" if change.gain is None else f"{factor_text(change.gain)}, "
    title = f"{place}. {gain}{change.tier}: {change.title}"
    provided = [f"if {change.provided}"] if change.provided else []
    is_open = change.accuracy == "may-change" and "accuracy" not in change.provided
    accuracy = [change.known_accuracy or "accuracy may change: measure it"] if is_open else []
    apart = any(word.startswith(("export ", "without ")) for word in change.words)
    done = ("; " if apart else " ").join(change.words or change.flags)
    done = done or change.how.rstrip(".") or "work, not a setting"
    if not (provided or accuracy) and output.fits_a_line(f"{title}: {done}"):
        say(f"{title}: {done}")
    else:
        say(title)
        say(f"     {'; '.join([done, *provided, *accuracy])}")
    if verbose and change.gain is not None and change.against:
        say(f"     that gain was measured against {change.against}")


def _show_unfit(answer: Answer, plan: Plan) -> None:
    many = answer.place if answer.problem.hardware.count else f"1 x {answer.place}"
    layout = plan.start.layout
    if layout is None and plan.start.because:
        say(f"As it is, it does not fit on {many}: {plan.start.because[0]}.")
    elif layout is None:
        say(f"It does not fit on {many}, nor on any number up to 1,024.")
    elif plan.start.because and layout.devices > (answer.problem.hardware.count or 1):
        say(f"As it is, it does not fit on {many}; {plan.start.because[0]}.")
        say(f"Unchanged, the smallest layout that does: {layout}, {layout.devices} devices.")
    elif plan.start.because:
        say(f"It does not fit on {many}: {plan.start.because[0]}. This does: {layout}.")
    else:
        say(f"It does not fit on {many}. The smallest layout that does: {layout}, {layout.devices} devices.")
    if plan.start.fits_in is not None:
        name, small = plan.start.fits_in
        say(
            f"In {name} it fits here: {small} (--precision {name}). What that loses in accuracy is not known."
        )
