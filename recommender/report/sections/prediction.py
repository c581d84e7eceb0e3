"""The prediction of a report: what tuning is expected to bring, as a ladder of intervals."""

from collections.abc import Mapping
from typing import Any

from recommender.report.charts import BAR_WIDTH, interval
from recommender.report.markup import Markup, joined, name, table, tag
from recommender.report.scales import Scale, number, quantity, times
from recommender.report.sections.common import facts, notes, tier
from recommender.report.words import Words

TITLE = "Prediction"
_COSTS = (("memory", "memory"), ("energy_per_unit", "energy"))
"""Key and word of what is better small."""


def draw(content: Mapping[str, Any], words: Words) -> Markup:
    """The section of one prediction."""
    count, hardware = content.get("count"), content["hardware"]
    place = f"{count} × {hardware}" if count else str(hardware)
    lead = words(
        "{what} on {where}, by {metric}",
        what=tag("b", name(content.get("model") or "?")),
        where=tag("b", name(place)),
        metric=words.term(str(content["objective"])),
    )
    parts = [tag("p", lead, class_="lead"), _now(content.get("now"), words)]
    whole = [*content["predictions"], *([content["together"]] if content.get("together") else [])]
    gains = [item[key] for item in whole for key, _, _ in _quantities(item) if item.get(key)]
    scale = Scale.over(
        [1.0, *(it[end] for it in gains for end in ("low", "high"))], 0, BAR_WIDTH, is_log=True
    )
    rows = [
        (tag("b", f"{at}. ", name(item["title"], 80)), *_cells(item, scale, words))
        for at, item in enumerate(whole, 1)
    ]
    columns = (words("change"), words("factor (90 %); the dotted line is 1x"), words("known by"))
    parts += [table(columns, rows, class_="cards"), notes(content.get("notes", ()), words)]
    return joined(parts)


def _quantities(item: Mapping[str, Any]) -> list[tuple[str, str, bool]]:
    """Key and word of each quantity, and whether more of its factor is better."""
    gained = item.get("gain_in", "throughput")
    return [(gained, gained, True), *((key, word, False) for key, word in _COSTS)]


def _cells(item: Mapping[str, Any], scale: Scale, words: Words) -> tuple[Markup, Markup]:
    """The rungs of one change: an interval for each quantity, and how it is known."""
    rungs: list[Markup] = []
    known: list[Markup] = []
    for key, word, is_more in _quantities(item):
        gain = item.get(key)
        if not gain:
            continue
        low, high = gain["low"], gain["high"]
        side = 0 if low <= 1 <= high else 1 if (low > 1) == is_more else -1
        text = f"{times(gain['factor'])} ({number(low, 3)} – {number(high, 3)})"
        is_other = is_more and key != "throughput"
        label = words("gain in {metric}", metric=words.term(word)) if is_other else words(word)
        drawn = interval(scale, low, gain["factor"], high, 1.0, {0: "s1", 1: "s3", -1: "s2"}[side])
        rungs.append(tag("div", label, " ", tag("b", text), drawn))
        known.append(
            tag(
                "div",
                label,
                " ",
                tier(gain["kind"], words),
                " ",
                tag("span", gain["reason"], class_="soft"),
            )
        )
    if carbon := item.get("carbon_saved_g_per_million"):
        text = f"{number(carbon['expected'])} g ({number(carbon['low'])} – {number(carbon['high'])})"
        rungs.append(tag("div", words("carbon saved a million"), " ", tag("b", text)))
    if not rungs:
        rungs.append(tag("span", words("unknown: nothing supports a figure"), class_="soft"))
    return joined(rungs), joined(known)


def _now(now: Mapping[str, Any] | None, words: Words) -> Markup:
    if now is None:
        return tag("p", words("The present configuration is not modelled."))
    low, high = now["throughput_interval_90"]
    known = [
        (
            words("throughput now"),
            quantity(now["throughput"], now["throughput_unit"]),
            f"{number(low)} – {number(high)}",
        ),
        (
            words("memory of a device"),
            quantity(now["memory_bytes"], "B"),
            words("of {n}", n=quantity(now["memory_capacity_bytes"], "B"))
            if now.get("memory_capacity_bytes")
            else None,
        ),
    ]
    if now.get("power_w") is not None:
        known.append((words("power of a device"), quantity(now["power_w"], "W"), words.term("modelled")))
    return facts(known)
