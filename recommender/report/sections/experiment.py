"""An A/B test of a report: verdict, guardrails, and the interval after each pair, valid at every moment."""

import math
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
    band,
    chart,
    frame,
    key,
    line,
)
from recommender.report.markup import Markup, joined, name, table, tag
from recommender.report.scales import Scale, number, percent, times
from recommender.report.sections.common import facts, notes
from recommender.report.words import Words

TITLE = "A/B test"
_SIGNS = {"better": "↑", "worse": "↓", "equivalent": "=", "undecided": "?"}
MOST_TRACK = 400
"""Points of the interval over pairs that are drawn: evenly taken where there are more."""


def draw(content: Mapping[str, Any], words: Words) -> Markup:
    """The section of one A/B test."""
    design = content["design"]
    said = words(
        "{name}: {metric}, {better} is better; chance of a wrong verdict {alpha}, {scheme}.",
        name=tag("b", name(content["name"])),
        metric=words.term(str(design["metric"])),
        better=words.term(str(design["better"])),
        alpha=percent(design["alpha"]),
        scheme=words.term(str(design["scheme"])),
    )
    ended = content.get("stop")
    left = content.get("pairs_left")
    state = None
    if ended:
        state = words("Ended: {reason}.", reason=ended)
    elif left:
        state = words("About {n} pairs more would decide.", n=number(left))
    parts = [tag("p", said, " ", state, class_="lead")]
    parts += [_treatment(item, design, words) for item in content["treatments"]]
    parts.append(notes(content.get("notes", ()), words))
    return joined(parts)


def _treatment(item: Mapping[str, Any], design: Mapping[str, Any], words: Words) -> Markup:
    verdict = str(item["verdict"])
    ratio, low, high = (times(item[end]) for end in ("ratio", "ratio_low", "ratio_high"))
    interval = words("{low} to {high} at every moment", low=low or "?", high=high or "?")
    shown = facts(
        [
            (words("verdict"), joined([_SIGNS.get(verdict, ""), " ", words.term(verdict)]), item["reason"]),
            (words("gain"), ratio or "–", interval),
            (
                words("pairs"),
                number(item["pairs"]),
                words("p {p}, valid at every moment", p=number(item["p"], 2)),
            ),
        ]
    )
    rows = [(words("control"), _settings(design["arms"].get("control", {})))]
    rows.append((name(item["arm"]), _settings(design["arms"].get(item["arm"], {}))))
    parts = [tag("h3", name(item["arm"])), shown, table((words("arm"), words("what to set")), rows)]
    if item.get("track"):
        parts.append(_track(item["track"], design, words))
    if item.get("guards"):
        guards = [(tag("code", it["guard"]), words.term(it["state"]), _worse(it)) for it in item["guards"]]
        parts.append(table((words("guardrail"), words("state"), words("worse by")), guards))
    if item.get("impact"):
        saved = [
            (
                it.get("name", ""),
                f"{number(it.get('expected'))} {it.get('unit', '')}",
                f"{number(it.get('low'))} – {number(it.get('high'))}",
            )
            for it in item["impact"]
        ]
        parts.append(table((words("saves"), words("expected"), words("interval")), saved, numbers=(1, 2)))
    return joined(parts)


def _settings(settings: Mapping[str, Any]) -> Markup:
    return joined([tag("code", f"{key}={value}") for key, value in settings.items()], " ")


def _worse(guard: Mapping[str, Any]) -> str:
    value = guard.get("worse")
    if value is None:
        return "–"
    return percent(math.expm1(value)) if guard.get("relative") else number(value)


def _track(track: Sequence[Sequence[Any]], design: Mapping[str, Any], words: Words) -> Markup:
    """The interval after each pair, a line where nothing changes, and the margin that does not matter."""
    known = [(at, low, high) for at, low, high, *_ in track if low is not None and high is not None]
    pairs = max(track[-1][0], 2)
    if not known:
        return tag(
            "p", words("No interval yet: {n} pairs say nothing at this alpha.", n=number(track[-1][0]))
        )
    margin = float(design["margin"])
    reach = max(4 * margin, 3 * max(abs(known[-1][1]), abs(known[-1][2])))
    clipped = [(at, max(low, -reach), min(high, reach)) for at, low, high in known]
    ends = [math.exp(value) for _, low, high in clipped for value in (low, high)]
    x = Scale(0, pairs, LEFT, WIDTH - RIGHT - 6)
    y = Scale.over([*ends, 1.0], HEIGHT - BOTTOM, TOP + 4, is_log=True)
    lows = [(x(at), y(math.exp(low))) for at, low, _ in clipped]
    highs = [(x(at), y(math.exp(high))) for at, _, high in clipped]
    edges = [(x(0), x(pairs), y(math.exp(sign * margin))) for sign in (1, -1)]
    body = [
        frame(
            Axis(scale=x, title=words("pairs"), ticks=[tick for tick in x.ticks(8) if tick == int(tick)]),
            Axis(scale=y, title=words("gain: above 1x the treatment is better"), label=times),
        ),
        band(lows, highs, "s1"),
        line(lows, "s1"),
        line(highs, "s1"),
        *(tag("path", d=f"M{start:g} {at:g}H{end:g}", class_="l d s6") for start, end, at in edges),
        tag("path", d=f"M{LEFT} {y(1.0):g}H{WIDTH - RIGHT}", class_="l s2"),
    ]
    last = known[-1]
    said = words(
        "After {n} pairs the gain lies between {low} and {high}.",
        n=number(track[-1][0]),
        low=times(math.exp(last[1])),
        high=times(math.exp(last[2])),
    )
    marks = key(
        ("f s1", words("interval, valid at every moment")),
        ("l s2", words("no change")),
        ("l s6 d", words("margin")),
    )
    return joined([chart(words("Interval over the pairs"), said, *body), marks])
