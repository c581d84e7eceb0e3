"""The carbon plan of a report: the grid's intensity with its forecast, the job as asked and as planned.

docs/report.md has the form of the content.
"""

import math
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from kg.errors import InputError
from recommender.report.charts import (
    BOTTOM,
    LEFT,
    RIGHT,
    TOP,
    WIDTH,
    Axis,
    band,
    chart,
    frame,
    key,
    line,
    steps,
)
from recommender.report.markup import Markup, joined, name, table, tag
from recommender.report.scales import Scale, hours, number, percent, quantity
from recommender.report.sections.common import facts, notes, source_link, tier
from recommender.report.words import Words

TITLE = "Carbon"
_HEIGHT = 340
_LANE = 18
"""Height of the lane of a bar above the bottom axis."""


def draw(content: Mapping[str, Any], words: Words) -> Markup:
    """The section of one plan."""
    parts = []
    saving = content.get("saving") or {}
    if saving:
        low, high = saving.get("low"), saving.get("high")
        said = (
            words("90 % interval {low} to {high}", low=percent(low), high=percent(high))
            if low is not None
            else None
        )
        shown: list[tuple[object, object, object]] = [
            (words("carbon saved"), percent(saving["expected"], 3), said)
        ]
        for key_of, text in (("asked_g", "asked"), ("planned_g", "planned")):
            if saving.get(key_of) is not None:
                shown.append((words(text), quantity(saving[key_of], "g"), None))
        parts.append(facts(shown))
    if content.get("series") or content.get("forecast"):
        parts.append(_timeline(content, words))
    else:
        parts.append(tag("p", _times(content, words)))
    if content.get("statement"):
        parts.append(_statement(content["statement"], words))
    return joined([*parts, notes(content.get("notes", ()), words)])


def seconds(text: object) -> float:
    """Unix time of a moment in ISO 8601, in UTC where it has no zone.

    Raises:
        InputError: It is none.
    """
    try:
        moment = datetime.fromisoformat(str(text))
    except ValueError:
        raise InputError(
            f"{text!r} in a carbon plan: no moment in ISO 8601", hint="2026-11-22T10:00:00+00:00"
        ) from None
    return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()


def _values(series: Mapping[str, Any], field: str) -> list[tuple[float, float]]:
    """Moment and value of each slot that has one, from the start of the slot."""
    start, slot = seconds(series["start"]), float(series["slot_minutes"]) * 60
    return [
        (start + at * slot, float(value))
        for at, value in enumerate(series.get(field, ()))
        if isinstance(value, int | float) and math.isfinite(value)
    ]


def _runs(places: Sequence[tuple[float, float]], slot: float) -> list[list[tuple[float, float]]]:
    """Values in runs without a hole."""
    found: list[list[tuple[float, float]]] = []
    for place in places:
        if found and place[0] - found[-1][-1][0] < 1.5 * slot:
            found[-1].append(place)
        else:
            found.append([place])
    return found


def _timeline(content: Mapping[str, Any], words: Words) -> Markup:
    series, forecast = content.get("series") or {}, content.get("forecast") or {}
    measured = _values(series, "g_per_kwh") if series else []
    middle, low, high = (_values(forecast, field) if forecast else [] for field in ("middle", "low", "high"))
    asked, planned = content.get("asked") or {}, content.get("planned") or ()
    spans = [(seconds(it["start"]), seconds(it["end"])) for it in [*([asked] if asked else []), *planned]]
    moments = [at for at, _ in (*measured, *middle)] + [at for span in spans for at in span]
    if not moments:
        return Markup("")
    slot = float((series or forecast)["slot_minutes"]) * 60
    bottom = _HEIGHT - BOTTOM - 2 * _LANE - 10
    x = Scale(min(moments), max(max(moments) + slot, min(moments) + 3600), LEFT, WIDTH - RIGHT)
    y = Scale.over(
        [0.0, *(value for _, value in (*measured, *middle, *low, *high))], bottom, TOP + 6, margin=0.02
    )
    region = str((series or forecast).get("region") or content.get("region") or "")
    body: list[object] = [
        frame(
            Axis(
                scale=x, title=words("time (UTC)"), ticks=hours(x.low, x.high), label=_moment(x.high - x.low)
            ),
            Axis(scale=y, title=words("gram of CO2e a kWh")),
            height=_HEIGHT,
        )
    ]
    if low and high:
        body.append(band(_placed(low, x, y), _placed(high, x, y), "s4"))
    body += [line(_placed(run, x, y), "s4 d") for run in _runs(middle, slot)]
    body += [steps(_placed(run, x, y), "s1", end=x(run[-1][0] + slot)) for run in _runs(measured, slot)]
    lanes = [(words("asked"), [asked] if asked else [], "s6"), (words("planned"), list(planned), "s3")]
    for at, (text, bars, class_) in enumerate(lanes):
        top = bottom + 8 + at * _LANE
        body.append(tag("text", text, x=LEFT - 8, y=top + 11, class_="e"))
        for item in bars:
            left, right = x(seconds(item["start"])), x(seconds(item["end"]))
            body.append(
                tag(
                    "rect",
                    x=left,
                    y=top,
                    width=max(round(right - left, 1), 1),
                    height=_LANE - 5,
                    class_=f"b {class_}",
                )
            )
    if content.get("deadline"):
        place = x(seconds(content["deadline"]))
        body.append(tag("path", d=f"M{place:g} {TOP}V{_HEIGHT - BOTTOM}", class_="l d s2"))
        body.append(tag("text", words("deadline"), x=place - 5, y=TOP + 12, class_="e"))
    entries = [
        (measured, "l s1", words("intensity")),
        (middle, "l s4 d", words("forecast")),
        (low and high, "f s4", words("its 90 % interval")),
        (asked, "b s6", words("asked")),
        (planned, "b s3", words("planned")),
    ]
    marks = key(*((class_, text) for there, class_, text in entries if there))
    title = words("Carbon intensity, {region}", region=name(region)) if region else words("Carbon intensity")
    return joined([chart(title, _times(content, words), *body, height=_HEIGHT), marks])


def _times(content: Mapping[str, Any], words: Words) -> Markup:
    """The times at which the job was requested and is planned, in words."""
    asked, planned = content.get("asked"), content.get("planned") or ()
    said = [words("Asked {span}.", span=_span(asked))] if asked else []
    said += [words("Planned {span}.", span=", ".join(map(_span, planned)))] if planned else []
    return joined(said, " ")


def _placed(run: Sequence[tuple[float, float]], x: Scale, y: Scale) -> list[tuple[float, float]]:
    return [(x(at), y(value)) for at, value in run]


def _moment(span: float) -> Any:
    """The writer of moments on an axis of that many seconds."""
    form = "%d %b" if span > 4 * 86_400 else "%d %b %H:%M" if span > 86_400 else "%H:%M"
    return lambda value: datetime.fromtimestamp(value, UTC).strftime(form)


def _span(item: Mapping[str, Any]) -> str:
    first, last = (datetime.fromtimestamp(seconds(item[end]), UTC) for end in ("start", "end"))
    return (
        f"{first:%Y-%m-%d %H:%M} – {last:%H:%M}"
        if first.date() == last.date()
        else f"{first:%Y-%m-%d %H:%M} – {last:%m-%d %H:%M}"
    )


def _statement(statement: Mapping[str, Any], words: Words) -> Markup:
    rows = [
        (
            it["what"],
            quantity(it["value"], it["unit"]),
            "" if it.get("low") is None else f"{number(it['low'])} – {number(it['high'])}",
            tier(it["kind"], words),
            source_link(it.get("source")),
        )
        for it in statement.get("numbers", ())
    ]
    columns = (words("number"), words("value"), words("interval"), words("known by"), words("source"))
    said = [tag("p", text) for text in statement.get("text", ())]
    return joined(
        [tag("h3", words("Statement")), *said, table(columns, rows, numbers=(1, 2)) if rows else None]
    )
