"""The critical path of a step on the page: what makes it as long as it is, and what to measure next."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from recommender.report.charts import bar
from recommender.report.markup import Markup, joined, name, table, tag
from recommender.report.scales import percent, quantity

if TYPE_CHECKING:
    from collections.abc import Mapping

    from recommender.report.words import Words

_MOST = 12
"""Rows of the path: the longest."""
_RANKS = 8
_OPERATORS = 3
_MICRO = 1e-6


def draw_path(content: Mapping[str, Any], words: Words) -> Markup | None:
    """The longest parts of the path by rank and operator; None where the step has no length."""
    sums: dict[tuple[int, str], float] = {}
    for item in content["segments"]:
        if item["waits_for"]:
            ranks = ", ".join(map(str, item["waits_for"][:_RANKS]))
            told = {words("waits for rank {ranks}, not profiled", ranks=ranks): item["us"]}
        else:
            told = item["operators"]
        for what, us in told.items():
            sums[item["rank"], what] = sums.get((item["rank"], what), 0.0) + us
    length = content["length_us"]
    if length <= 0 or not sums:
        return None
    shown = sorted(sums.items(), key=lambda pair: (-pair[1], pair[0]))[:_MOST]
    rows = [
        (
            rank,
            name(what, 60),
            quantity(us * _MICRO, "s"),
            percent(us / length),
            bar(us, shown[0][1], "s1"),
        )
        for (rank, what), us in shown
    ]
    columns = (words("rank"), words("operator"), words("time"), words("share"), "")
    title = words("What makes the step as long as it is, over the ranks that others waited for")
    return joined([tag("h3", title), table(columns, rows, numbers=(2, 3))])


def draw_stages(content: Mapping[str, Any], words: Words) -> Markup:
    """The pipeline stage of most work, with the operators that make it."""
    largest = [(what, us) for what, us in content["operators"].items() if us > 0][:_OPERATORS]
    said = words(
        "Stage {stage} computes {more} longer than the others: {operators}.",
        stage=content["stage"],
        more=quantity(content["more_us"] * _MICRO, "s"),
        operators=", ".join(f"{what} {quantity(us * _MICRO, 's')}" for what, us in largest),
    )
    return tag("p", said)


def draw_next(content: Mapping[str, Any], words: Words) -> Markup:
    """The measurement that would tell most of what is open."""
    said = words(
        "To measure next: {how}. It tells {tells} ({open}, {share} of the step).",
        how=content["how"],
        tells=content["tells"],
        open=quantity(content["open_us"] * _MICRO, "s"),
        share=percent(content["share"]),
    )
    return tag("p", said)
