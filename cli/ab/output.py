"""Printing for ``tunegraph ab``: the state of an experiment, while it runs and afterwards."""

from __future__ import annotations

import csv
import math
import sys
from typing import TYPE_CHECKING, Any, Self

from cli import output
from cli.output import say
from cli.text.language import keep, localised
from recommender.experiment.design import CONTROL, UNTOLD
from recommender.experiment.verdict import Verdict

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kg.nouns.values import Settings
    from recommender.experiment.comparison import ArmComparison
    from recommender.experiment.design import ExperimentDesign
    from recommender.experiment.impact import Prices, Saving
    from recommender.experiment.journal import Logged
    from recommender.experiment.standing import ExperimentState
    from recommender.experiment.testing import Lesson
    from recommender.experiment.verdict import Interval


class ExperimentProgress:
    """The progress of an experiment on stderr: one line that moves on a terminal, a line a round elsewhere.

    Args:
        design: What is fixed.
        prices: What the device costs; None if not told.
    """

    def __init__(self, design: ExperimentDesign, prices: Prices | None) -> None:
        self._design = design
        self._prices = prices
        self._live = sys.stderr.isatty()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._live:
            print(file=sys.stderr)

    def update(self, state: ExperimentState) -> None:
        """Show the state after a round."""
        parts = [f"pair {state.rounds}"]
        for item in state.comparisons:
            name = f"{item.arm} " if len(state.comparisons) > 1 else ""
            parts.append(f"{name}{ratio(item.interval)}, p {item.interval.p:.2g}")
            if item.failures.treatment or item.failures.control:
                parts.append(f"failed {item.failures.treatment}, control {item.failures.control}")
        parts.append(_cost(state, self._prices))
        if state.pairs_left:
            parts.append(f"about {state.pairs_left} more")
        text = localised("; ".join(parts))
        if self._live:
            output.moving_line(text)
        else:
            print(text, file=sys.stderr, flush=True)


def ratio(interval: Interval) -> str:
    """A ratio with its interval: ``1.031x (0.995 to 1.068)``."""
    if math.isnan(interval.mean):
        return "nothing measured"
    return f"{_times(interval.mean)} ({_times(interval.low)} to {_times(interval.high)})"


def result(
    logged: Logged,
    state: ExperimentState,
    prices: Prices | None,
    *,
    as_json: bool,
    lesson: Lesson | None = None,
) -> None:
    """Print the state of an experiment."""
    worth = {
        item.arm: prices.savings(item.interval) if prices is not None and item.interval.pairs else []
        for item in state.comparisons
    }
    learned = None if lesson is None else _learned(lesson)
    if as_json:
        output.as_json(_plain(logged, state, worth, learned))
        return
    design = logged.design
    keep(name for name in design.arms if name not in {"treatment", CONTROL})
    say(f"{logged.name}: {design.metric}, {design.better!s} is better, alpha {design.alpha:g}")
    for item in state.comparisons:
        say(f"\n{item.arm}: {item.verdict.upper()} ({item.reason})")
        say(f"  set          {_set(design.arms[item.arm])}")
        say(f"  against      {_set(design.arms[CONTROL])}")
        say(f"  gain         {ratio(item.interval)}, {100 * (1 - design.level):g} % at every moment")
        say(f"  p-value      {item.interval.p:.3g}, valid at every moment")
        say(f"  rests on     {_rests_on(item)}")
        for guarded in item.guards:
            say(f"  guardrail    {guarded.guard.text}: {guarded.state}")
        for saving in worth[item.arm]:
            say(f"  saves        {_saved(saving)}")
    say()
    if len(state.comparisons) > 1:
        say(f"best: {state.best or 'not known; one of ' + ', '.join(state.contenders)}")
    say(f"{state.rounds} rounds, {_cost(state, prices)}; {_why(state)}")
    for note in state.notes:
        output.note(note)
    if learned:
        output.note(learned)


def _learned(lesson: Lesson) -> str:
    if not lesson.rows:
        return "the graph knew this outcome already"
    if lesson.strategies:
        return f"the graph has learned from this: {', '.join(lesson.strategies)}"
    return "the graph has this case now"


def listing(experiments: Sequence[tuple[Logged, ExperimentState]]) -> None:
    """Print experiments, a line each."""
    rows = []
    for logged, state in experiments:
        first = state.comparisons[0]
        rows.append(
            (
                logged.name,
                logged.design.metric,
                state.verdict,
                ratio(first.interval),
                state.rounds,
                logged.design.scheme,
            )
        )
    output.table(("experiment", "metric", "verdict", "gain", "rounds", "scheme"), rows)


FORMULA = (*"=+-@＝＋－＠", "\t", "\r", "\n")
"""With these a spreadsheet takes a cell for a formula, which may run programs (CWE-1236)."""


def in_short(logged: Logged, state: ExperimentState) -> dict[str, object]:
    """An experiment for a list."""
    return {"name": logged.name, "metric": logged.design.metric, **state.to_json()}


def raw(logged: Logged) -> None:
    """Print every raw value as CSV."""
    writer = csv.writer(sys.stdout, lineterminator="\n")

    def text(content: str) -> str:
        return f"'{content}" if content.startswith(FORMULA) else content

    metrics = sorted({name for item in logged.samples for runs in item.runs for run in runs for name in run})
    writer.writerow(
        ["pair", "order", "arm", "session", "warmup", "input", "run", "status", "reason", *map(text, metrics)]
    )
    for order, item in enumerate(logged.samples):
        head: list[Any] = [item.round, order, text(item.arm), item.session, int(item.is_warmup)]
        if not item.ok:
            writer.writerow([*head, "", "", str(item.status), text(item.reason), *("" for _ in metrics)])
        for place, runs in enumerate(item.runs, 1):
            for number, run in enumerate(runs, 1):
                values = [repr(run[name]) if name in run else "" for name in metrics]
                writer.writerow([*head, place, number, str(item.status), "", *values])


def _plain(
    logged: Logged, state: ExperimentState, worth: dict[str, list[Saving]], learned: str | None
) -> dict[str, object]:
    content = state.to_json()
    treatments = content["treatments"]
    if isinstance(treatments, list):
        for item, plain in zip(state.comparisons, treatments, strict=True):
            plain["impact"] = [saving.to_json() for saving in worth[item.arm]]
    return {
        "name": logged.name,
        "design": logged.design.to_json(),
        "samples": len(logged.samples),
        **content,
        "told": learned,
    }


def _set(configuration: Settings) -> str:
    return "(not stated)" if UNTOLD in configuration or not configuration else str(configuration)


def _rests_on(item: ArmComparison) -> str:
    parts = [f"{item.interval.pairs} pairs"]
    if math.isfinite(item.interval.noise):
        parts.append(f"noise of a pair {100 * item.interval.noise:.2g} %")
    if item.failures.treatment or item.failures.control:
        parts.append(f"failures: {item.failures.treatment}, control {item.failures.control}")
        if item.failures.reason:
            parts.append(item.failures.reason[:100])
    return "; ".join(parts)


def _saved(saving: Saving) -> str:
    low = "unknown" if not math.isfinite(saving.low) else f"{saving.low:.4g}"
    return (
        f"{saving.expected:.4g} {saving.unit} of {saving.now:.4g} ({low} to {saving.high:.4g}), {saving.name}"
    )


def _why(state: ExperimentState) -> str:
    if state.stop:
        return state.stop
    if state.verdict is Verdict.UNDECIDED and state.pairs_left:
        return f"about {state.pairs_left} pairs more would decide"
    return "more may be measured"


def _cost(state: ExperimentState, prices: Prices | None) -> str:
    text = f"{state.cost_s:.3g} s"
    if prices is not None and prices.price is not None:
        text += f", {state.cost_s / 3600 * prices.price:.3g} {prices.currency}".rstrip()
    return text


def _times(value: float) -> str:
    if value == math.inf:
        return "any"
    return "0" if value == -math.inf else f"{math.exp(value):.4g}x"
