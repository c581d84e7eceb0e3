"""The ledger of a step: its parts add up to it, and their differences to the growth since an earlier run."""

from __future__ import annotations

import statistics
from typing import TYPE_CHECKING, Any

from recommender.report.charts import bar, key, stacked
from recommender.report.markup import Markup, joined, name, table, tag
from recommender.report.scales import percent, quantity

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from recommender.report.words import Words

PARTS = (
    ("computing_us", "computing", "s1"),
    ("exposed_us", "communication exposed", "s2"),
    ("free_us", "device free", "s6"),
    ("unexplained_us", "unexplained", "s5"),
)
_MOST = 8
"""Ranks listed: the slowest."""
_MOST_OPERATORS = 12
_MICRO = 1e-6


def draw_ledger(content: Mapping[str, Any], words: Words) -> Markup:
    """The parts of the step of each rank and, beside an earlier run, what grew."""
    ranks = sorted(content["ranks"], key=lambda item: -item["step_us"])[:_MOST]
    most = max(item["step_us"] for item in ranks)
    rows = [
        (
            name(item["rank"], 24),
            quantity(item["step_us"] * _MICRO, "s"),
            stacked([(max(item[part], 0.0), class_) for part, _, class_ in PARTS], most),
            *(percent(item[part] / item["step_us"]) if item["step_us"] else "" for part, _, _ in PARTS),
        )
        for item in ranks
    ]
    columns = (words("rank"), words("step"), words("its parts"), *(words(text) for _, text, _ in PARTS))
    parts: list[Markup | None] = [
        tag("h3", words("The step, every microsecond once")),
        key(*((f"b {class_}", words(text)) for _, text, class_ in PARTS)),
        table(columns, rows, numbers=(1, 3, 4, 5, 6)),
    ]
    if len(content["ranks"]) > _MOST:
        parts.append(
            tag(
                "p",
                words("The {n} slowest of {all} ranks.", n=_MOST, all=len(content["ranks"])),
                class_="soft",
            )
        )
    if content.get("before"):
        parts += [
            _difference(content["ranks"], content["before"], words),
            _operators(content.get("operators", ()), words),
        ]
    return joined(parts)


def _difference(
    now: Sequence[Mapping[str, Any]], before: Sequence[Mapping[str, Any]], words: Words
) -> Markup:
    """The growth of the mean step by part; the parts add up to it."""

    def mean(ranks: Sequence[Mapping[str, Any]], part: str) -> float:
        return statistics.fmean(item[part] for item in ranks)

    parts = [("step_us", "whole step"), *((part, text) for part, text, _ in PARTS)]
    grown = {part: mean(now, part) - mean(before, part) for part, _ in parts}
    most = max(map(abs, grown.values()))
    rows = [
        (
            tag("b", words(text)) if part == "step_us" else words(text),
            quantity(mean(before, part) * _MICRO, "s"),
            quantity(mean(now, part) * _MICRO, "s"),
            _signed(grown[part]),
            _growth(grown[part], most),
        )
        for part, text in parts
    ]
    columns = (
        words("part"),
        words("before"),
        words("now"),
        words("difference"),
        words("slower to the right"),
    )
    return joined(
        [tag("h3", words("What grew since the earlier run")), table(columns, rows, numbers=(1, 2, 3))]
    )


def _operators(items: Sequence[Mapping[str, Any]], words: Words) -> Markup | None:
    if not items:
        return None
    shown = sorted(items, key=lambda item: -abs(item["now_us"] - item["before_us"]))[:_MOST_OPERATORS]
    most = max(abs(item["now_us"] - item["before_us"]) for item in shown)
    rows = [
        (
            name(item["name"], 40),
            quantity(item["before_us"] * _MICRO, "s"),
            quantity(item["now_us"] * _MICRO, "s"),
            _signed(item["now_us"] - item["before_us"]),
            _growth(item["now_us"] - item["before_us"], most),
        )
        for item in shown
    ]
    columns = (
        words("operator"),
        words("before"),
        words("now"),
        words("difference"),
        words("slower to the right"),
    )
    return joined(
        [tag("h3", words("Operators that changed most, in a step")), table(columns, rows, numbers=(1, 2, 3))]
    )


def _signed(us: float) -> str:
    return ("+" if us > 0 else "") + quantity(us * _MICRO, "s")


def _growth(us: float, most: float) -> Markup:
    """A bar from the middle: to the right where it grew."""
    wide = abs(us)
    return bar(wide, 2 * most, "s2" if us > 0 else "s3", start=most if us > 0 else most - wide)
