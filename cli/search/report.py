"""What ``tunegraph search`` prints of a search: its result, its course, what contributed."""

from __future__ import annotations

import math
import os
from typing import TYPE_CHECKING

from cli import output
from kg.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from kg.nouns.values import Settings
    from kg.triples.names import Names
    from recommender.measuring.outcome import RunOutcome
    from recommender.search.report.contribution import Contribution
    from recommender.search.report.history import History
    from recommender.search.report.result import EvaluatedConfiguration, Result

SHOWN = 5


def show(result: Result) -> None:
    """Print where a search stands or what it found."""
    task, tried = result.task, result.configurations()
    front = {item.configuration for item in result.front()} if len(task.objectives) > 1 else set()
    objectives = [*task.objectives]
    limited = [item for item in task.limits if item.metric not in {x.metric for x in objectives}]
    names = [*(x.metric for x in task.objectives), *(x.metric for x in task.limits)]
    rows = []
    shown = [item for item in tried if item.configuration in front] if front else tried
    for place, item in enumerate(shown[: 2 * SHOWN if front else SHOWN], 1):
        values = dict(zip(names, item.values, strict=True))
        cells = [_cell(values[x.metric], x.unit, item if x is objectives[0] else None) for x in objectives]
        cells += [_cell(values[x.metric], x.unit, None) for x in limited]
        rows.append((place, *cells, item.measured, "" if item.keeps else "over a limit", item.configuration))
    columns = ("", *(x.metric for x in objectives), *(x.metric for x in limited), "runs", "", "configuration")
    title = "nothing is better in every objective than" if front else "best first"
    output.table(columns, rows, title=f"{result.log.name}: {title}")
    print()
    _close(result, modelled=task.is_modelled)


def _close(result: Result, *, modelled: bool) -> None:
    states = [trial.state for trial in result.trials]
    failed = sum(not item.ok for item in result.evaluations)
    parts = [f"{len(result.evaluations)} evaluations, {failed} failed"]
    for state, word in (("RUNNING", "running"), ("WAITING", "waiting")):
        if count := states.count(state):
            parts.append(f"{count} {word}")
    print("; ".join(parts) + ".")
    best, gain = result.best(), result.gain()
    if best is None:
        print("Nothing has kept the limits so far.")
    elif gain is not None:
        print(f"The best is {output.factor(gain)} the default.")
    if modelled:
        print("Modelled by the cost model, not measured.")
    if best is not None:
        for note in best.notes:
            print(f"Mind: {note}.")
    if reason := result.log.metadata.stop_reason:
        print(f"Ended: {reason}.")


def _cell(value: float | None, unit: str | None, item: EvaluatedConfiguration | None) -> str:
    if value is None:
        return "unknown"
    text = output.quantity(value, unit or "") if unit else f"{value:.5g}"
    if item is not None and item.interval is not None:
        half = (item.interval[1] - item.interval[0]) / 2
        text += f" +-{100 * half / abs(value):.1f} %"
    return text.strip()


def own(result: Result, *, measure: bool, plot: Path | None, as_json: bool) -> None:
    """Report one of our searches."""
    contributions: list[Contribution] = []
    why = ""
    try:
        contributions = result.contributions(_evaluator(result, measure=measure))
    except InputError as fault:
        why = str(fault)
    if measure:
        result = type(result).of(result.log, result.task)  # with what was measured just now
    importances = result.importances()
    if plot is not None:
        _plots(result, plot)
    if as_json:
        output.as_json(
            {
                **result.to_json(),
                "contributions": [
                    {
                        "parameters": list(item.names),
                        "before": list(item.before),
                        "after": list(item.after),
                        "factor": math.exp(item.log_gain),
                        "log_gain": item.log_gain,
                        "evaluated": item.evaluated,
                    }
                    for item in contributions
                ],
                "importances": importances,
                "checkup": _checkup(result.history),
            }
        )
        return
    show(result)
    from recommender.search.report.history import figure_rows

    print()
    output.table(("", ""), figure_rows(result.history.figures()), title="Course of the search")
    print()
    _symptoms(result.history)
    if why:
        output.note(why)
        return
    total = sum(item.log_gain for item in contributions)
    rows = [
        (
            item.title,
            output.factor(item.log_gain),
            f"{100 * item.log_gain / total:.0f} %" if total > 0 else "",
            "" if item.evaluated else "predicted",
            "" if not importances else " ".join(f"{importances.get(name, 0):.2f}" for name in item.names),
        )
        for item in contributions
    ]
    output.table(
        ("change", "gain", "share of the gain", "", "importance (PED-ANOVA)" if importances else ""),
        rows,
        title="From the default to the best, one change at a time, the largest gain first",
    )


def _symptoms(history: History) -> None:
    """What ails the search, with cause and remedy; nothing where it is healthy."""
    from recommender.search.report.symptoms import check

    found = check(history)
    for item in found.symptoms:
        print(f"{item.name.capitalize()}: {item.cause}.\n  {item.remedy}.")
    if found.symptoms:
        print()
    for text in found.undetermined:
        output.note(f"not told: {text}")


def _checkup(history: History) -> dict[str, object]:
    from dataclasses import asdict

    from recommender.search.report.symptoms import check

    found = asdict(check(history))
    return {"symptoms": list(found["symptoms"]), "untold": list(found["undetermined"])}


def _evaluator(result: Result, *, measure: bool) -> Callable[[Settings], RunOutcome] | None:
    """What evaluates the steps between default and best; None to predict them."""
    import threading
    from pathlib import Path

    from recommender.search.run.assembly import SearchPlace, evaluator_of
    from recommender.search.run.manual import record_evaluation
    from recommender.search.run.task import TaskCommand

    if isinstance(result.task.number_source, TaskCommand) and not measure:
        return None
    place = SearchPlace(folder=Path(result.log.metadata.folder), base=dict(os.environ))
    evaluator, _ = evaluator_of(result.task, place)
    if evaluator is None:
        return None
    cancel = threading.Event()
    if not measure:
        return lambda configuration: evaluator.evaluate(configuration, cancel)

    def logged(configuration: Settings) -> RunOutcome:
        outcome = evaluator.evaluate(configuration, cancel)
        record_evaluation(result.log, result.task, configuration, outcome, "ablation")
        return outcome

    return logged


def _plots(result: Result, plot: Path) -> None:
    from recommender.cost_model.plots import write
    from recommender.search.report.plots import front_svg, history_svg

    write(plot, history_svg(result.history))
    output.note(f"wrote {plot}")
    objectives = result.task.objectives
    if len(objectives) < 2:
        return
    front = {item.configuration for item in result.front()}
    points = [
        (item.values[0], item.values[1], item.configuration in front)
        for item in result.configurations()
        if item.values[0] is not None and item.values[1] is not None
    ]
    second = plot.with_name(f"{plot.stem}-front{plot.suffix}")
    write(second, front_svg(points, objectives[0], objectives[1]))
    output.note(f"wrote {second}")


def imported(path: Path, names: Names, *, metric: str, plot: Path | None, as_json: bool) -> None:
    """Report a search of another tool."""
    from ingest.reading import read
    from kg.nouns.entities import Case
    from recommender.search.report.history import figure_rows
    from recommender.search.report.history import histories_of as histories

    cases = [item for item in read([path], names) if isinstance(item, Case)]
    if not cases:
        raise InputError(f"{path}: no measurement could be read", hint="see why: tunegraph ingest --dry-run")
    found = {
        title: history for title, history in histories(cases, metric=metric).items() if history.evaluations
    }
    if plot is not None:
        from recommender.cost_model.plots import write
        from recommender.search.report.plots import history_svg

        write(plot, history_svg(next(iter(found.values()))))
        output.note(f"wrote {plot}")
    if as_json:
        searches = {title: _figures(history) for title, history in found.items()}
        checkups = {title: _checkup(history) for title, history in found.items()}
        output.as_json({"file": str(path), "searches": searches, "checkups": checkups})
        return
    for title, history in found.items():
        figures = _figures(history)
        if figures is None:
            print(f"{title}: nothing succeeded\n")
            _symptoms(history)
            continue
        output.table(("", ""), figure_rows(figures), title=title)
        print()
        _symptoms(history)


def _figures(history: object) -> dict[str, object] | None:
    from kg.errors import NoEvidenceError
    from recommender.search.report.history import History

    assert isinstance(history, History)  # noqa: S101  the one caller's type
    try:
        return history.figures()
    except NoEvidenceError:
        return None
