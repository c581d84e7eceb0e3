"""Charts with a row for each change: the interval of its gain, or what it added on the way to the best."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from recommender.report.charts import BOTTOM, RIGHT, WIDTH, chart
from recommender.report.markup import Markup, joined, shorten, tag
from recommender.report.scales import Scale, number, times

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from recommender.report.words import Words

_START = 300
"""Where the scale begins: the names of the changes stand before it."""
_ROW, _TOP = 26, 20
_MOST_LETTERS = 44


@dataclass(frozen=True, slots=True, kw_only=True)
class _Row:
    """A change on the scale of factors: from one end to the other, with a mark where it is expected."""

    title: str
    start: float
    end: float
    middle: float | None
    class_: str


def gain_ladder(content: Mapping[str, Any], words: Words) -> Markup | None:
    """The gains of an answer's changes with their intervals; None where none has a number.

    Args:
        content: The answer as JSON.
        words: Of the reader's language.
    """
    rows = []
    for item in (*content.get("changes", ()), *content.get("recommendations", ())):
        gain = item.get("gain")
        if gain:
            low, middle, high = (float(gain[f"{end}_factor"]) for end in ("low", "expected", "high"))
            class_ = "s3" if low > 1 else "s2" if high < 1 else "s1"
            title = item.get("title") or ", ".join(f"{k}={v}" for k, v in item["configuration"].items())
            rows.append(_Row(title=title, start=low, end=high, middle=middle, class_=class_))
    if not rows:
        return None
    said = words(
        "{n} changes; a bar is 90 % of what is expected, the dotted line is 1x.", n=number(len(rows))
    )
    return _ladder(rows, words("Expected gain of each change"), said, words("gain"))


def contribution_chart(items: Sequence[Mapping[str, Any]], words: Words) -> Markup | None:
    """From the default to the best, one change on top of the other; None where there are none."""
    rows, reached = [], 1.0
    for item in items:
        after = reached * math.exp(item["log_gain"])
        title = ", ".join(
            f"{name} {'–' if old is None else old} → {'–' if new is None else new}"
            for name, old, new in zip(item["parameters"], item["before"], item["after"], strict=True)
        )
        class_ = "s3" if after >= reached else "s2"
        rows.append(_Row(title=title, start=reached, end=after, middle=None, class_=class_))
        reached = after
    if not rows:
        return None
    said = words("{n} changes take the default to {factor}.", n=number(len(rows)), factor=times(reached))
    return _ladder(rows, words("From the default to the best, one change at a time"), said, words("gain"))


def _ladder(rows: Sequence[_Row], title: Markup, said: Markup, axis: Markup) -> Markup:
    ends = [1.0, *(end for row in rows for end in (row.start, row.end))]
    scale = Scale.over(ends, _START, WIDTH - RIGHT - 30, is_log=True)
    height = _TOP + _ROW * len(rows) + BOTTOM
    bottom, parts = height - BOTTOM, list[Markup]()
    for value in scale.ticks():
        parts.append(tag("path", d=f"M{scale(value):g} {_TOP - 6}V{bottom}", class_="g"))
        parts.append(tag("text", times(value), x=scale(value), y=bottom + 18, class_="m"))
    parts.append(tag("path", d=f"M{scale(1.0):g} {_TOP - 6}V{bottom}", class_="z"))
    for place, row in enumerate(rows):
        middle = _TOP + _ROW * (place + 0.5)
        parts.append(
            tag("text", shorten(row.title, _MOST_LETTERS), x=_START - 12, y=round(middle + 4, 1), class_="e")
        )
        left, right = sorted((scale(row.start), scale(row.end)))
        if row.middle is None:
            size = {"x": round(left, 1), "width": round(max(right - left, 1.5), 1)}
            parts.append(tag("rect", **size, y=middle - 7, height=14, class_=f"b {row.class_}"))
        else:
            path = f"M{left:g} {middle:g}H{max(right, left + 1):g}"
            parts.append(tag("path", d=path, class_=f"i {row.class_}"))
            mark = {"x": round(scale(row.middle) - 2, 1), "width": 4}
            parts.append(tag("rect", **mark, y=middle - 8, height=16, class_=f"b {row.class_}"))
    parts.append(tag("text", axis, x=(_START + WIDTH - RIGHT) / 2, y=height - 6, class_="m q"))
    return chart(title, said, joined(parts), height=height)
