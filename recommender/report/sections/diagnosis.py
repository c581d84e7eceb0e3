"""The diagnosis of a report: causes of lost time with their evidence and remedies, the split of the step."""

from collections.abc import Mapping
from typing import Any

from recommender.report.charts import bar, key, stacked
from recommender.report.markup import Markup, joined, name, table, tag
from recommender.report.scales import number, percent, quantity, times
from recommender.report.sections.common import notes, source_link
from recommender.report.sections.heat_map import draw_heat
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
    """The largest accounts of the slowest rank's step."""
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
    """The changes since the earlier run, the largest first, and the total growth."""
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


TITLE = "Diagnosis"
_MOST_ROWS = 6


def draw(content: Mapping[str, Any], words: Words) -> Markup:
    """The section of one diagnosis."""
    causes, least = content["causes"], percent(content["significant_share"])
    if causes:
        said = (
            words("One cause, which costs at least {least} of the step.", least=least)
            if len(causes) == 1
            else words("{n} causes that cost at least {least} of the step each.", n=len(causes), least=least)
        )
    else:
        said = words(
            "Nothing that was collected costs {least} of the step and shows a known cause.", least=least
        )
    beside = words("Beside {path}.", path=name(content["against"])) if content.get("against") else None
    parts = [tag("p", said, " ", beside, class_="lead"), notes(content.get("notes", ()), words)]
    parts += [_cause(cause, words) for cause in causes]
    if content.get("next_measurement"):
        parts.append(draw_next(content["next_measurement"], words))
    if content.get("ledger"):
        parts.append(draw_ledger(content["ledger"], words))
    if content.get("heat"):
        parts.append(draw_heat(content["heat"], words))
    return joined(parts)


def _cause(cause: Mapping[str, Any], words: Words) -> Markup:
    gain = cause["gain"]
    cost = words(
        "Costs {share} of the step ({lost}), confidence {confidence}; at most {gain} without it.",
        share=percent(cause["share"]),
        lost=quantity(cause["lost_us"] * _MICRO, "s"),
        confidence=percent(cause["confidence"]),
        gain=times(gain["factor"]),
    )
    return tag(
        "div",
        tag("h3", name(cause["label"]), " ", tag("code", cause["cause"])),
        tag("p", cost),
        tag("p", words("Chain: {chain}", chain=" ← ".join(cause["chain"]))),
        tag("ul", *(_evidence(item, words) for item in cause["evidence"])),
        _perhaps(cause, words),
        _remedies(cause, words),
        class_="item",
    )


def _evidence(item: Mapping[str, Any], words: Words) -> Markup:
    rank = words("rank {rank}: ", rank=item["rank"]) if item.get("rank") is not None else None
    places = [
        name(f"{place['file']}:{','.join(map(str, place['rows'][:_MOST_ROWS]))}".rstrip(":"), 100)
        for place in item["places"]
    ]
    at = tag("span", " (", joined(places, "; "), ")", class_="soft") if places else None
    return tag("li", rank, item["says"], at)


def _perhaps(cause: Mapping[str, Any], words: Words) -> Markup | None:
    if not cause.get("perhaps"):
        return None
    texts = [f"{item['cause']} {percent(item['chance'])}" for item in cause["perhaps"]]
    return tag("p", words("Perhaps behind it: {causes}", causes=", ".join(texts)), class_="soft")


def _effect(case: Mapping[str, Any], factor: str) -> str:
    return f"{case['metric']} {times(case[factor])}, {case['kind']}"


def _remedies(cause: Mapping[str, Any], words: Words) -> Markup | None:
    rows = []
    for item in cause.get("remedies", ()):
        effects = [
            f"{_effect(case, 'mean_factor')}, {case['hardware'] or '?'} (n={number(case['n'])})"
            for case in item["cases"]
        ]
        settings = joined([tag("code", text) for text in item["settings"]], " ")
        sources = joined([source_link(source) for source in item["sources"][:2]], "; ")
        rows.append((name(item["label"]), settings, "; ".join(effects), sources))
    rows += [
        (
            name(case["strategy"]),
            case["bottleneck"],
            f"{_effect(case, 'factor')}, {case['model'] or '?'}, {case['hardware'] or '?'}",
            words("a case of the workspace"),
        )
        for case in cause.get("matching_cases", ())
    ]
    if not rows:
        return None
    return table(
        (
            words("what to do"),
            words("setting, or what it was for"),
            words("what it did elsewhere"),
            words("source"),
        ),
        rows,
    )


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
