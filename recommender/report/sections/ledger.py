"""The ledger of a step: its parts add up to it, and their differences to the growth since an earlier run."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from recommender.report.charts import bar, key, stacked
from recommender.report.markup import Markup, joined, name, table, tag
from recommender.report.scales import percent, quantity

if TYPE_CHECKING:
    from collections.abc import Mapping

    from recommender.report.words import Words

PARTS = (
    ("computing_us", "computing", "s1"),
    ("exposed_us", "communication exposed", "s2"),
    ("free_us", "device free", "s6"),
    ("unexplained_us", "unexplained", "s5"),
)
_MOST = 8
"""Ranks listed: the slowest."""
_MOST_ACCOUNTS = 12
_MICRO = 1e-6


def draw_ledger(content: Mapping[str, Any], words: Words) -> Markup:
    """The parts of the step of each rank, what they went to, and what grew since an earlier run."""
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
    parts.append(_accounts(ranks[0], words))
    if content.get("difference"):
        parts.append(_difference(content["difference"], words))
    return joined(parts)


def _accounts(rank: Mapping[str, Any], words: Words) -> Markup | None:
    """What the slowest rank's step went to: its largest accounts."""
    shown = sorted(rank["accounts"], key=lambda item: -item["us"])[:_MOST_ACCOUNTS]
    most = max((item["us"] for item in shown), default=0.0)
    if most <= 0:
        return None
    rows = [
        (
            name(item["operator"] or item["part"], 40),
            words.term(item["reason"]) if item["reason"] else "",
            quantity(item["us"] * _MICRO, "s"),
            percent(item["us"] / rank["step_us"]),
            bar(max(item["us"], 0.0), most, "s1"),
        )
        for item in shown
    ]
    columns = (words("operator"), words("reason"), words("time"), words("share"), "")
    title = words("Where the step of rank {rank} goes", rank=rank["rank"])
    return joined([tag("h3", title), table(columns, rows, numbers=(2, 3))])


def _difference(content: Mapping[str, Any], words: Words) -> Markup:
    """What changed since the earlier run, the largest first, and the growth that all of it adds up to."""
    changes = content["changes"]
    most = max((abs(item["now_us"] - item["before_us"]) for item in changes), default=0.0)
    rest = changes[_MOST_ACCOUNTS:]
    rows = [
        _change(
            joined(
                [
                    name(item["operator"] or item["part"], 40),
                    *([", ", words.term(item["reason"])] if item["reason"] else []),
                ]
            ),
            item["before_us"],
            item["now_us"],
            most,
            "; ".join(item["changed"]),
        )
        for item in changes[:_MOST_ACCOUNTS]
    ]
    if rest:
        sums = [sum(item[key] for item in rest) for key in ("before_us", "now_us")]
        rows.append(_change(words("{n} more", n=len(rest)), sums[0], sums[1], most, ""))
    rows.append(_change(tag("b", words("whole step")), content["before_us"], content["now_us"], most, ""))
    columns = (
        words("what"),
        words("before"),
        words("now"),
        words("difference"),
        words("slower to the right"),
        words("changed"),
    )
    return joined(
        [tag("h3", words("What grew since the earlier run")), table(columns, rows, numbers=(1, 2, 3))]
    )


def _change(
    what: Markup, before_us: float, now_us: float, most: float, changed: str
) -> tuple[Markup | str, ...]:
    grown = now_us - before_us
    return (
        what,
        quantity(before_us * _MICRO, "s"),
        quantity(now_us * _MICRO, "s"),
        _signed(grown),
        _growth(min(max(grown, -most), most), most),
        changed,
    )


def _signed(us: float) -> str:
    return ("+" if us > 0 else "") + quantity(us * _MICRO, "s")


def _growth(us: float, most: float) -> Markup:
    """A bar from the middle: to the right where it grew."""
    wide = abs(us)
    return bar(wide, 2 * most, "s2" if us > 0 else "s3", start=most if us > 0 else most - wide)
