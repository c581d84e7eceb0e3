"""Text of ``tunegraph search``: the result of a search, its course, what contributed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cli import output
from cli.output import say
from cli.text.language import keep, localised

if TYPE_CHECKING:
    from collections.abc import Mapping

    from recommender.search.report.result import EvaluatedConfiguration, Result
    from recommender.search.report.search_report import CourseReport, SearchReport

SHOWN = 5


def show(result: Result) -> None:
    """Print where a search stands or what it found."""
    task, tried = result.task, result.configurations()
    keep(task.space.names)
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
    say()
    _close(result, modelled=task.is_modelled)


def _close(result: Result, *, modelled: bool) -> None:
    states = [trial.state for trial in result.trials]
    failed = sum(not item.ok for item in result.evaluations)
    parts = [f"{len(result.evaluations)} evaluations, {failed} failed"]
    for state, word in (("RUNNING", "running"), ("WAITING", "waiting")):
        if count := states.count(state):
            parts.append(f"{count} {word}")
    say("; ".join(parts) + ".")
    best, gain = result.best(), result.gain()
    if best is None:
        say("Nothing has kept the limits so far.")
    elif gain is not None:
        say(f"The best is {output.factor(gain)} the default.")
    if modelled:
        say("Modelled by the cost model, not measured.")
    if best is not None:
        for note in best.notes:
            say(f"Mind: {note}.")
    if reason := result.log.metadata.stop_reason:
        say(f"Ended: {reason}.")


def _cell(value: float | None, unit: str | None, item: EvaluatedConfiguration | None) -> str:
    if value is None:
        return "unknown"
    text = output.quantity(value, unit or "") if unit else f"{value:.5g}"
    if item is not None and item.interval is not None:
        half = (item.interval[1] - item.interval[0]) / 2
        text += f" +-{100 * half / abs(value):.1f} %"
    return text.strip()


def show_report(report: SearchReport, *, as_json: bool) -> None:
    """Print the report of one of our searches."""
    if as_json:
        output.as_json(report.to_json())
        return
    show(report.result)
    say()
    output.table(("", ""), _figure_rows(report.result.history.figures()), title="Course of the search")
    say()
    _symptoms(report.course)
    if report.missing:
        output.note(report.missing)
        return
    total = sum(item.log_gain for item in report.contributions)
    rows = [
        (
            item.title,
            output.factor(item.log_gain),
            f"{100 * item.log_gain / total:.0f} %" if total > 0 else "",
            "" if item.evaluated else "predicted",
        )
        for item in report.contributions
    ]
    output.table(
        ("change", "gain", "share of the gain", ""),
        rows,
        title="From the default to the best, one change at a time, the largest gain first",
    )


def _symptoms(course: CourseReport) -> None:
    """Print symptoms of the search, with cause and remedy; nothing where it is healthy."""
    checkup = course.checkup
    for item in checkup.symptoms:
        name, cause, remedy = map(localised, (item.name, item.cause, item.remedy))
        output.as_it_stands(f"{name.capitalize()}: {cause}.")
        output.as_it_stands(f"  {remedy}.")
    if checkup.symptoms:
        say()
    for text in checkup.undetermined:
        output.note(f"not judged: {text}")


def show_courses(file: str, courses: Mapping[str, CourseReport], *, as_json: bool) -> None:
    """Print the report of searches of another tool."""
    if as_json:
        searches = {title: course.figures for title, course in courses.items()}
        checkups = {title: course.checkup_json() for title, course in courses.items()}
        output.as_json({"file": file, "searches": searches, "checkups": checkups})
        return
    for title, course in courses.items():
        figures = course.figures
        if figures is None:
            say(f"{title}: nothing succeeded\n")
        else:
            output.table(("", ""), _figure_rows(figures), title=title)
            say()
        _symptoms(course)


def _figure_rows(figures: Mapping[str, object]) -> list[tuple[str, str]]:
    """Figures of a search in words."""
    best = output.quantity(float(str(figures["best"])), str(figures["unit"] or "")).strip()
    rows = [
        ("evaluations", str(figures["evaluations"])),
        ("failed", f"{figures['failed']}, of which {figures['out_of_memory']} out of memory"),
        ("over a limit", str(figures["over_limits"])),
        ("measured again", str(figures["repeated"])),
        (f"best {figures['metric']}", best),
        ("evaluations to 95 % of the best", str(figures["evaluations_to_95_percent"])),
        ("time to 95 % of the best", _seconds(figures["time_to_95_percent_s"])),
        ("evaluations since the last gain", str(figures["since_gain"])),
    ]
    for key, title in (
        ("regret", "regret, mean"),
        ("late_spread", "spread of the last 10"),
        ("noise", "noise of one evaluation"),
    ):
        value = figures[key]
        rows.append((title, "unknown" if not isinstance(value, float) else f"{100 * value:.1f} %"))
    return rows


def _seconds(span: object) -> str:
    return f"{span:.3g} s" if isinstance(span, float) else "unknown"
