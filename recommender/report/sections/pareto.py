"""The Pareto front of a report with movable weights.

The choice is the point of the front with the least weighted sum of costs; a cost is the log of a value,
turned so that less is better, from 0 at the best of the front to 1 at its worst.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from recommender.report.charts import (
    BOTTOM,
    HEIGHT,
    LEFT,
    RIGHT,
    TOP,
    WIDTH,
    Axis,
    chart,
    frame,
    key,
    points,
    steps,
)
from recommender.report.markup import Markup, joined, name, table, tag
from recommender.report.scales import Scale, is_scaled, number, quantity
from recommender.report.words import Words

_SHARES = (0.0, 0.25, 0.5, 0.75, 1.0)
"""Weights of the first objective in the table that needs no script."""


def front_costs(content: Mapping[str, Any]) -> NDArray[np.float64]:
    """Costs of the points of the front by objective, 0 for the best of the front to 1 for its worst."""
    values = np.array([content["points"][at] for at in content["front"]], float)
    signs = np.array([1.0 if item["better"] == "lower" else -1.0 for item in content["objectives"]])
    logs = signs * np.log(values)
    low, reach = logs.min(axis=0), np.ptp(logs, axis=0)
    return np.asarray((logs - low) / np.where(reach > 0, reach, 1.0))


def choice(costs: NDArray[np.float64], weights: Sequence[float]) -> int:
    """Place in the front that the weights choose; the first where several are equal."""
    return int(np.argmin(costs @ np.array(weights, float)))


def draw_front(content: Mapping[str, Any], words: Words) -> Markup:
    """The front of the first two objectives, a weight for each, and what some weights choose."""
    marks = key(("p s6", words("configuration")), ("p sq s2", words("beaten by none")))
    scales = ";".join(",".join(f"{value:.12g}" for value in _plain(scale)) for scale in _scales(content))
    weights = _weights(content["objectives"], words)
    return joined(
        [
            tag("h3", words("What no other beats")),
            tag("div", front_chart(content, words), marks, weights, class_="front", data_scales=scales),
            _choices(content, front_costs(content), words),
        ]
    )


def _scales(content: Mapping[str, Any]) -> tuple[Scale, Scale]:
    """Scales of the first two objectives over all points."""
    ends = [list(column) for column in zip(*(point[:2] for point in content["points"]), strict=True)]
    logs = [_is_wide(values) for values in ends]
    x = Scale.over(ends[0], LEFT + 6, WIDTH - RIGHT - 6, is_log=logs[0])
    return x, Scale.over(ends[1], HEIGHT - BOTTOM - 6, TOP + 6, is_log=logs[1])


def front_chart(content: Mapping[str, Any], words: Words) -> Markup:
    """All points by the first two objectives, those that no other beats, and what even weights choose."""
    objectives, values = content["objectives"], content["points"]
    first, second = objectives[:2]
    x, y = _scales(content)
    on_front = set(content["front"])
    rest = [(x(p[0]), y(p[1])) for at, p in enumerate(values) if at not in on_front]
    front = sorted((x(values[at][0]), y(values[at][1])) for at in content["front"])
    edge = front if first["better"] == "lower" else front[::-1]  # level until the next point that is reached
    at = values[content["front"][choice(front_costs(content), [1.0] * len(objectives))]]
    title = words(
        "{second} against {first}",
        first=words.term(str(first["metric"])),
        second=words.term(str(second["metric"])),
    )
    said = words(
        "{n} of {all} configurations are beaten by none in every objective. "
        "The ring is what the weights choose.",
        n=number(len(front)),
        all=number(content["configurations_count"]),
    )
    ring = tag("circle", transform=f"translate({x(at[0]):g} {y(at[1]):g})", r=9, class_="ring")
    return chart(
        title,
        said,
        frame(
            Axis(scale=x, title=_axis(first, words), label=_label(first)),
            Axis(scale=y, title=_axis(second, words), label=_label(second)),
        ),
        points(rest, "s6 small o"),
        steps(edge, "s2 d") if len(objectives) == 2 else None,
        points(front, "sq s2"),
        ring,
    )


def _is_wide(values: Sequence[float]) -> bool:
    return min(values) > 0 and max(values) / min(values) > 20


def _axis(objective: Mapping[str, Any], words: Words) -> Markup:
    unit = objective["unit"]
    said = words(
        "{metric}, {better} is better",
        metric=words.term(str(objective["metric"])),
        better=words.term(str(objective["better"])),
    )
    return said if not unit or is_scaled(unit) else joined([said, ", ", unit])


def _label(objective: Mapping[str, Any]) -> Callable[[float], str]:
    """The writer of values on an axis: with a unit where it has a prefix of its own."""
    unit = objective["unit"] if is_scaled(objective["unit"]) else ""
    return lambda value: quantity(value, unit)


def _plain(scale: Scale) -> list[float]:
    return [scale.low, scale.high, scale.start, scale.end, float(scale.is_log)]


def _weights(objectives: Sequence[Mapping[str, Any]], words: Words) -> Markup:
    """A slider for each objective and a place for the choice; both need the script."""
    sliders = [
        tag(
            "label",
            words("weight of {metric}", metric=words.term(str(item["metric"]))),
            " ",
            tag("output", "0.5"),
            tag("input", type="range", min=0, max=1, step=0.01, value=0.5),
        )
        for item in objectives
    ]
    return tag(
        "div",
        tag("div", *sliders, class_="weights"),
        tag("p", class_="choice", aria_live="polite"),
        class_="live",
    )


def _choices(content: Mapping[str, Any], costs: NDArray[np.float64], words: Words) -> Markup:
    """The choices under some weights: for print, and for readers without scripts."""
    objectives = content["objectives"]
    rows: list[tuple[object, ...]] = []
    for share in _SHARES:
        others = (1 - share) / (len(objectives) - 1)
        at = content["front"][choice(costs, [share, *(others for _ in objectives[1:])])]
        values = [quantity(v, it["unit"]) for v, it in zip(content["points"][at], objectives, strict=True)]
        known = content["configurations"].get(str(at))
        row = (*values, name(known["set"], 160) if known else "")
        if rows and rows[-1][1:] == row:
            rows[-1] = (f"{str(rows[-1][0]).split(' – ')[0]} – {share:g}", *row)
        else:
            rows.append((f"{share:g}", *row))
    columns = (
        words("weight of {metric}", metric=words.term(str(objectives[0]["metric"]))),
        *(words.term(str(item["metric"])) for item in objectives),
        words("configuration"),
    )
    return table(columns, rows, numbers=range(1, len(objectives) + 1))
