"""An answer to a question, printed for people."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from cli.output import say
from kg.nouns.situation import assumption_line
from kg.nouns.values import show as show_value

if TYPE_CHECKING:
    from kg.nouns.situation import Situation
    from recommender.answers.answer import Answer
    from recommender.ranking.change import Change


def show(answer: Answer, *, verbose: bool = False) -> None:
    """Print an answer for people; all of a plan if ``verbose``."""
    from cli import output
    from cli.commands.plan_text import show_missed, show_plan

    plan = answer.plan
    for text in answer.notes:
        output.note(text)
    problem = answer.problem
    work = problem.workload
    what = " ".join(part for part in (work.model, work.operator) if part)
    shape = f" ({work.shape})" if work.shape else ""
    say(f"{what}{shape} on {answer.place}, by {problem.objective.metric}")
    if plan is not None:
        show_missed(plan)
        if verbose:
            show_situation(answer.situation)
        show_plan(answer, plan, verbose=verbose)
        _show_rest(answer, verbose=verbose)
        return
    if line := assumption_line(answer.assumed, with_options=verbose):
        say(line)
    say()
    if answer.findings:
        from cli.diagnosis.finding_text import show_briefly

        show_briefly(answer.findings)
    if verbose:
        show_situation(answer.situation)
    listed = list(answer)
    if answer.abstention is not None:
        say(f"No recommendation: {answer.abstention.reason}.\nMeasure these next, and ingest them:\n")
        listed = [item for item in answer if item.id in answer.abstention.measure]
    for place, item in enumerate(listed, 1):
        _show_one(place, item)
    if 1 in answer.regret and answer.abstention is None:
        parts = (
            f"{'only the first' if k == 1 else f'the first {k}'}: "
            f"expect {math.expm1(value):.0%} above the best"
            for k, value in answer.regret.items()
        )
        say(f"If you time {'; '.join(parts)}.")
    _show_rest(answer, verbose=True)


def show_situation(situation: Situation) -> None:
    """Print what is known of the case, each fact with its origin."""
    from cli import output

    rows = [(fact.name, show_value(fact.value), str(fact.origin)) for fact in situation]
    output.table(("fact", "value", "origin"), rows)
    say()


def _show_rest(answer: Answer, *, verbose: bool) -> None:
    """What the changes win together, the ceiling, and what was not checked or left out."""
    from cli import output

    if verbose and answer.together is not None:
        say(f"Together: {combination_text(answer)}.")
    if answer.ceiling is not None:
        say(f"All observed bottlenecks together: at most {output.factor(answer.ceiling)}.")
    for limit in answer.unchecked:
        say(f"Not checked: {limit.metric} <= {output.quantity(limit.maximum, limit.unit)}.")
    if answer.refused and answer.plan is None:
        rules = dict.fromkeys(item.rule for item in answer.refused)
        say(f"Ruled out: {len(answer.refused)} ({'; '.join(rules)}).")


def combination_text(answer: Answer) -> str:
    """The joint gain of the recommended strategies, and which of them it counts."""
    from cli import output
    from kg.nouns.gain import factor_text

    both = answer.together
    if both is None:
        return "nothing"
    titles = {item.id: item.title for item in answer}
    names = " + ".join(titles[item] for item in both.ids)
    cap = "" if both.ceiling is None else f", ceiling {output.factor(both.ceiling)}"
    out = ", ".join(titles[item] for item in both.left_out)
    return f"{factor_text(both.gain)} with {names}{cap}" + (f" (without {out})" if out else "")


def _show_one(place: int, item: Change) -> None:
    from cli import output
    from kg.nouns.gain import factor_text

    say(f"{place}. {item.title}   [{item.id}]")
    if item.how:
        say(f"     # {item.how}")
    for line in item.flags:
        print(f"     {line}")
    if item.gain is None:
        say("   gain        unknown: nobody has published a time")
    else:
        helps = "" if item.helps is None else f", {item.helps:.0%} chance to help"
        say(f"   gain        {factor_text(item.gain)}, 90 % interval{helps}, against {item.baseline}")
    say(f"   rests on    {item.basis}")
    if item.bottleneck:
        cap = "" if item.ceiling is None else f", at most {output.factor(item.ceiling)}"
        say(f"   for         {item.bottleneck}{cap}")
    for support in item.evidence[:2]:
        say(
            f"   evidence    {support.kind}: {support.says}"
            + (f" <{support.source}>" if support.source else "")
        )
    if item.conflicts:
        say(f"   not with    {', '.join(item.conflicts)}")
    for condition in item.conditions[:3]:
        say(f"   caution     {condition}")
    if item.accuracy != "unchanged" and item.strategy:
        say(f"   accuracy    {item.accuracy.replace('-', ' ')}: measure it")
    say()
