"""The search of a report: its course, what each change contributed, and what ails it."""

from collections.abc import Mapping, Sequence
from typing import Any

from recommender.report.charts import (
    BOTTOM,
    HEIGHT,
    LEFT,
    RIGHT,
    TOP,
    WIDTH,
    Axis,
    bar,
    chart,
    crosses,
    frame,
    key,
    points,
    steps,
)
from recommender.report.markup import Markup, joined, name, table, tag
from recommender.report.scales import Scale, is_scaled, number, percent, quantity, times
from recommender.report.sections.common import facts, notes
from recommender.report.sections.pareto import draw_front
from recommender.report.words import Words

TITLE = "Search"
_FEW = 60
"""Evaluations up to which the points of a course are large."""
_MOST_TOP = 5


def draw(content: Mapping[str, Any], words: Words) -> Markup:
    """The section of one search."""
    parts: list[Markup | None] = [_lead(content, words)]
    if content.get("course"):
        parts.append(draw_course(content["course"], words))
    if content.get("front_points"):
        parts.append(draw_front(content["front_points"], words))
    parts += [
        _best(content, words),
        _contributions(content, words),
        _checkup(content.get("checkup") or {}, words),
        _failures(content.get("failures", ()), words),
        notes(content.get("notes", ()), words),
    ]
    return joined(parts)


def _lead(content: Mapping[str, Any], words: Words) -> Markup:
    figures, state = content.get("figures") or {}, content.get("state") or {}
    shown: list[tuple[object, object, object]] = []
    if figures:
        best = words("best {metric}", metric=words.term(str(figures["metric"])))
        gain = content.get("gain_factor")
        remark = words("{gain} the default", gain=times(gain)) if gain else None
        shown.append((best, quantity(figures["best"], figures["unit"]), remark))
    done = state.get("ended", figures.get("evaluations"))
    failed = state.get("failed", figures.get("failed"))
    if done is not None:
        shown.append((words("evaluations"), number(done), words("{n} failed", n=number(failed))))
    if figures:
        near = figures["evaluations_to_95_percent"]
        shown.append((words("to 95 % of the best"), number(near), words("evaluations")))
    said = [words("Ended: {reason}.", reason=content["stop_reason"])] if content.get("stop_reason") else []
    if content.get("modelled"):
        said.append(words("Modelled by the cost model, not measured."))
    if not figures:
        said.append(words("Nothing has succeeded within the limits so far."))
    return joined([facts(shown), tag("p", joined(said, " ")) if said else None])


def draw_course(course: Mapping[str, Any], words: Words) -> Markup:
    """The chart of a course and what its marks mean."""
    marks = key(("p s1", words("evaluation")), ("l s2", words("best so far")), ("x s8", words("failed")))
    return joined([course_chart(course, words), marks])


def course_chart(course: Mapping[str, Any], words: Words) -> Markup:
    """Every evaluation, the best so far, and failures along the bottom."""
    values = [value for _, value in (*course["points"], *course["best"])]
    many = max(int(course["evaluations"]), 2)
    x = Scale(1, many, LEFT + 6, WIDTH - RIGHT - 6)
    spread = min(values, default=1.0) > 0 and max(values, default=1.0) / min(values, default=1.0) > 10
    y = Scale.over(values, HEIGHT - BOTTOM - 10, TOP + 6, is_log=spread)
    unit, metric = course["unit"], words.term(str(course["metric"]))
    titled = metric if not unit or is_scaled(unit) else joined([metric, ", ", unit])
    body = [
        frame(
            Axis(
                scale=x, title=words("evaluation"), ticks=[tick for tick in x.ticks(8) if tick == int(tick)]
            ),
            Axis(scale=y, title=titled, label=lambda value: quantity(value, unit if is_scaled(unit) else "")),
        )
    ]
    small = "small" if many > _FEW else ""
    body += [
        points([(x(at), y(value)) for at, value in course["points"]], f"s1 {small} o" if small else "s1"),
        steps([(x(at), y(value)) for at, value in course["best"]], "s2", end=x(many)),
        crosses([(x(at), HEIGHT - BOTTOM - 5) for at in course["failed"]], "s8"),
    ]
    best = course["best"][-1] if course["best"] else None
    said = words(
        "{n} evaluations, {failed} failed, {over} over a limit; the best is {best} at evaluation {at}.",
        n=number(course["evaluations"]),
        failed=number(course["failed_count"]),
        over=number(len(course["over_limits"])),
        best=quantity(best[1], unit) if best else "–",
        at=number(best[0]) if best else "–",
    )
    title = words(
        "Course of the search: {metric}, {better} is better",
        metric=metric,
        better=words.term(str(course["better"])),
    )
    return chart(title, said, *body)


def _best(content: Mapping[str, Any], words: Words) -> Markup | None:
    best = content.get("best")
    if not best:
        return None
    units = {item["metric"]: item["unit"] for item in (*content["objectives"], *content["limits"])}
    default = (content.get("default") or {}).get("configuration") or {}
    rows = []
    for item in content.get("top", ())[:_MOST_TOP]:
        setting = joined(
            [
                tag("code", f"{k}={v}", class_="better" if default and default.get(k) != v else None)
                for k, v in item["configuration"].items()
            ],
            " ",
        )
        rows.append(
            (
                setting,
                *(quantity(v, units.get(k)) for k, v in item["values"].items()),
                number(item["measured"]),
            )
        )
    columns = (words("configuration"), *(words.term(metric) for metric in best["values"]), words("runs"))
    return joined([tag("h3", words("Best first")), table(columns, rows, numbers=range(1, len(columns)))])


def _contributions(content: Mapping[str, Any], words: Words) -> Markup | None:
    items = content.get("contributions", ())
    parts: list[Markup] = []
    if items:
        total = sum(item["log_gain"] for item in items)
        most = max(abs(item["log_gain"]) for item in items) or 1.0
        rows = [
            (
                joined([_changed(item)]),
                times(item["factor"]),
                bar(abs(item["log_gain"]), most, "s3" if item["log_gain"] >= 0 else "s2"),
                percent(item["log_gain"] / total) if total > 0 else "",
                words("measured") if item["evaluated"] else words("predicted"),
            )
            for item in items
        ]
        columns = (
            words("change"),
            words("gain"),
            words("size"),
            words("share of the gain"),
            words("known by"),
        )
        title = words("From the default to the best, one change at a time")
        parts += [tag("h3", title), table(columns, rows, numbers=(1, 3))]
    return joined(parts)


def _changed(item: Mapping[str, Any]) -> Markup:
    steps_of = zip(item["parameters"], item["before"], item["after"], strict=True)
    return joined(
        [
            tag("code", f"{what} {'–' if old is None else old} → {'–' if new is None else new}")
            for what, old, new in steps_of
        ],
        " ",
    )


def _checkup(checkup: Mapping[str, Any], words: Words) -> Markup | None:
    found = checkup.get("symptoms", ())
    if not found:
        return None
    items = [
        tag("li", tag("b", str(item["name"])), ": ", f"{item['cause']}. {item['remedy']}.") for item in found
    ]
    return joined([tag("h3", words("What ails this search")), tag("ul", *items)])


def _failures(failures: Sequence[Mapping[str, Any]], words: Words) -> Markup | None:
    if not failures:
        return None
    rows = [(name(item["reason"], 160), number(item["times"])) for item in failures]
    summary = tag("summary", words("Why evaluations failed"))
    return tag("details", summary, table((words("reason"), words("times")), rows, numbers=(1,)))
