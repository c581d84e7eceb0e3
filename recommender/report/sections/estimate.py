"""The estimate of a report: where the time of a step goes by the cost model, and the device's roofline."""

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
    chart,
    frame,
    key,
    line,
    stacked,
)
from recommender.report.markup import Markup, joined, name, table, tag
from recommender.report.scales import Scale, between, number, quantity
from recommender.report.sections.common import notes
from recommender.report.sections.pareto import draw_front
from recommender.report.words import Words

TITLE = "Estimate by the cost model"
_MOST = 40
"""Configurations listed: those that no other beats first."""
_NAMES, _TIMES, _ROW, _LETTER = 200, 80, 24, 7.2
"""Widths of names and times beside the bars of a drawing, height of a row, width of a letter."""
_INTENSITIES = (1.0, 1e5)
"""Operations a byte at the ends of a roofline."""


def draw(content: Mapping[str, Any], words: Words) -> Markup:
    """The section of one estimate."""
    said = words(
        "{what} on {where}, {phase}; modelled.",
        what=tag("b", name(content.get("model") or "?")),
        where=tag("b", name(f"{content.get('count') or 1} × {content['hardware']}")),
        phase=words.term(content["phase"]),
    )
    parts = [
        tag("p", said, class_="lead"),
        draw_split(content["estimates"], words, content.get("pareto", {}).get("front", ())),
    ]
    if content.get("front_points"):
        parts.append(draw_front(content["front_points"], words))
    if content.get("roofline"):
        parts.append(draw_roofline(content["roofline"], content["estimates"], words))
    return joined([*parts, notes(content.get("notes", ()), words)])


def draw_split(records: Sequence[Mapping[str, Any]], words: Words, front: Sequence[int] = ()) -> Markup:
    """The parts of the time of each configuration as stacked bars in a table."""
    order = [*front, *(at for at in range(len(records)) if at not in set(front))][:_MOST]
    names = [part for part in records[0]["split_s"] if any(records[at]["split_s"].get(part) for at in order)]
    classes = {part: f"s{at % 8 + 1}" for at, part in enumerate(names)}
    most = max(sum(records[at]["split_s"].values()) for at in order)
    rows = []
    for at in order:
        record = records[at]
        text = " ".join(f"{key}={value}" for key, value in record["settings"].items()) or "defaults"
        low, high = record["time_interval_90_s"]
        largest = sorted(names, key=lambda part: -record["split_s"].get(part, 0.0))[:3]
        total = sum(record["split_s"].values()) or 1.0
        shares = [
            joined([words.term(part), f" {100 * record['split_s'].get(part, 0.0) / total:.0f} %"])
            for part in largest
        ]
        rows.append(
            (
                tag("code", text),
                f"{quantity(record['time_s'], 's')} ({between(low, high, 's')})",
                stacked([(record["split_s"].get(part, 0.0), classes[part]) for part in names], most),
                joined(shares, ", "),
                quantity(record["throughput"], record["throughput_unit"]),
                quantity(record["memory_total_bytes"], "B"),
                {True: words("fits"), False: words("does not fit")}.get(record["fits"], "?"),
            )
        )
    columns = (
        words("configuration"),
        words("time (90 %)"),
        words("its parts"),
        words("the largest"),
        words("throughput"),
        words("memory"),
        "",
    )
    marks = key(*((f"b {classes[part]}", words.term(part)) for part in names))
    return joined(
        [tag("h3", words("Where the time of a step goes")), marks, table(columns, rows, numbers=(4, 5))]
    )


def draw_roofline(roofline: Mapping[str, Any], records: Sequence[Mapping[str, Any]], words: Words) -> Markup:
    """The roof of a device on log axes, and the share of it that the best configuration reaches."""
    peak, slope = float(roofline["peak_flops"]), float(roofline["memory_bandwidth"])
    ridge = peak / slope
    x = Scale(*_INTENSITIES, LEFT, WIDTH - RIGHT, is_log=True)
    y = Scale(slope, peak * 2, HEIGHT - BOTTOM, TOP + 6, is_log=True)
    roof = [(x(at), y(min(peak, slope * at))) for at in (1.0, ridge, _INTENSITIES[1])]
    body = [
        frame(
            Axis(scale=x, title=words("operations a byte"), label=lambda v: number(v, 2)),
            Axis(
                scale=y,
                title=words("operations a second"),
                label=lambda v: quantity(v, "FLOP/s").replace("\u00a0", "").removesuffix("FLOP/s"),
            ),
        ),
        line(roof, "s1"),
        tag("text", quantity(peak, "FLOP/s"), x=x(_INTENSITIES[1]), y=y(peak) - 6, class_="e"),
    ]
    uses = [record.get("cube_use") for record in records if isinstance(record.get("cube_use"), float)]
    best = max((use for use in uses if use), default=None)
    said = words("The roof bends at {n} operations a byte.", n=number(ridge, 3))
    if best:
        at = y(max(best * peak, slope))
        body += [
            tag("path", d=f"M{LEFT} {at:g}H{WIDTH - RIGHT}", class_="l d s2"),
            tag("text", f"{100 * best:.0f} %", x=x(_INTENSITIES[1]), y=at - 6, class_="e"),
        ]
        said = joined(
            [
                said,
                " ",
                words(
                    "The dashed line is the {share} of the peak that the best reaches.",
                    share=f"{100 * best:.0f} %",
                ),
            ]
        )
    title = words("Roofline of {device}", device=name(roofline["device"]))
    return chart(title, said, *body)
