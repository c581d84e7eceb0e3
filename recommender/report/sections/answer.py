"""The answer of a report: where to start, what to test on it, what is not for here, or why there is none."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

from kg.nouns.layout import DEGREES, ParallelLayout
from recommender.report.charts import BAR_WIDTH, interval
from recommender.report.markup import Markup, joined, name, plain, table, tag
from recommender.report.scales import Scale, between, number, percent, quantity, times
from recommender.report.sections.common import facts, linked, notes, source_link, tier
from recommender.report.words import Words

TITLE = "The answer"


def draw(content: Mapping[str, Any], words: Words) -> Markup:
    """The section of one answer."""
    parts: list[Markup | None] = [tag("p", question(content.get("problem", {}), words), class_="lead")]
    if content.get("abstained"):
        parts.append(_abstention(content["abstained"], words))
    start = content.get("start")
    parts.append(_findings(content.get("findings", ()), words))
    if start:
        parts.append(_start(start, words))
        parts.append(_alternatives(content.get("alternatives", ()), words))
        parts.append(_changes(content.get("changes", ()), words))
        parts.append(_further(content.get("further", ()), words))
    if content.get("recommendations"):
        parts.append(_recommendations(content["recommendations"], words))
    parts.append(_limits(content, words))
    parts.append(_not_here(content.get("not_here", ()), words))
    parts.append(notes(content.get("notes", ()), words))
    return joined(parts)


def _findings(findings: Sequence[Mapping[str, Any]], words: Words) -> Markup | None:
    """The costs of settings in the running launch, worst first."""
    rows = [
        (
            tag("code", f"{item['setting']} {item['value']}"),
            str(item["line"] or ""),
            plain(item["says"].get(words.language) or item["says"].get("en", "")),
            _price(item.get("priced")),
            tag(
                "code",
                item["remedy"].get("write")
                or " ".join(f"- {key}" for key in item["remedy"].get("remove", ())),
            ),
            source_link(item["source"]) if item.get("source") else "",
        )
        for item in findings
    ]
    if not rows:
        return None
    head = [words(name) for name in ("setting", "line", "what it does", "without it", "write", "source")]
    return joined([tag("h3", words("What runs now costs you")), table(head, rows)])


def _price(priced: Mapping[str, Any] | None) -> str:
    gain = (priced or {}).get("throughput") or (priced or {}).get("throughput_at_one_request")
    if gain is None:
        return ""
    low, high = (number(gain[key], 3) for key in ("low_factor", "high_factor"))
    return f"{times(gain['expected_factor'])} ({low} – {high})"


def question(problem: Mapping[str, Any], words: Words) -> Markup:
    """The question in a line."""
    subject = " ".join(str(part) for part in (problem.get("model"), problem.get("operator")) if part)
    shape = ", ".join(
        f"{key}={number(value, 9).replace(',', '')}" for key, value in problem.get("shape", {}).items()
    )
    count = problem.get("count")
    place = f"{count} × {problem.get('hardware')}" if count else str(problem.get("hardware", "?"))
    asked = tag("b", name(subject or "?"))
    return words(
        "{what} on {where}, by {metric}",
        what=joined([asked, f" ({shape})" if shape else None]),
        where=tag("b", name(place)),
        metric=words.term(str(problem.get("objective", "?"))),
    )


def layout_text(layout: Mapping[str, Any] | None) -> str:
    """A layout as people write it: ``TP 4 × DP 2``."""
    if not layout:
        return ""
    split = zip(DEGREES, ParallelLayout.from_json(layout).split, strict=True)
    return " × ".join(f"{key.upper()} {size}" for key, size in split if size > 1) or "1"


def _start(start: Mapping[str, Any], words: Words) -> Markup:
    fits = start.get("fits")
    shown = [
        (words("layout"), layout_text(start.get("layout")) or "–", words("{n} devices", n=_devices(start))),
        *(
            (
                words.term(str(item["metric"])),
                quantity(item["value"], item["unit"]),
                joined([between(item["low"], item["high"], item["unit"]), ", ", words.term(item["tier"])]),
            )
            for item in start.get("expected", ())
        ),
    ]
    framework = " ".join(str(part) for part in (start.get("framework"), start.get("version")) if part)
    pasted, why = start.get("paste"), [*start.get("needs", ()), *start.get("because", ())]
    verdict = (
        words("It does not fit the memory; this is the smallest layout that does.") if fits is False else None
    )
    return joined(
        [
            tag("h3", words("Start here")),
            tag("p", verdict, class_="worse") if verdict else None,
            facts([(words("framework"), framework or "–", None), *shown]),
            tag("pre", tag("code", "\n".join(map(plain, pasted))), tabindex="0") if pasted else None,
            _settings(start.get("settings", ()), words, is_open=not pasted),
            tag("ul", *(tag("li", linked(line)) for line in why)) if why else None,
        ]
    )


def _devices(start: Mapping[str, Any]) -> str:
    return str((start.get("layout") or {}).get("devices", "?"))


def _settings(settings: Sequence[Mapping[str, Any]], words: Words, *, is_open: bool) -> Markup:
    if not settings:
        return Markup("")
    rows = [
        (
            tag("code", setting_text(item)),
            words.term(str(item["from"])),
            percent(item["agreement"], 2) if item.get("agreement") is not None else "",
            source_link(item.get("source")),
        )
        for item in settings
    ]
    columns = (words("setting"), words("from"), words("recipes that agree"), words("source"))
    summary = tag("summary", words("Every setting with its source"))
    return tag("details", summary, table(columns, rows, numbers=(2,)), open=is_open)


def setting_text(item: Mapping[str, Any]) -> str:
    """One setting as it is written."""
    value = item.get("value")
    if value is True and item.get("where") == "flag":
        return str(item["key"])
    sign = " " if item.get("where") == "flag" else "="
    return f"{item['key']}{sign}{number(value, 12).replace(',', '') if isinstance(value, float) else value}"


def _alternatives(alternatives: Sequence[Mapping[str, Any]], words: Words) -> Markup | None:
    if not alternatives:
        return None
    rows = [
        (
            layout_text(item.get("layout")) or "–",
            _devices(item),
            joined(
                [
                    tag(
                        "div",
                        f"{quantity(e['value'], e['unit'])} ({between(e['low'], e['high'], e['unit'])})",
                    )
                    for e in item["expected"]
                ]
            ),
            joined([linked(line) for line in item.get("because", ())[:2]], "; "),
        )
        for item in alternatives
    ]
    columns = (words("layout"), words("devices"), words("expected (90 %)"), words("because"))
    return joined([tag("h3", words("Alternatives of another kind")), table(columns, rows, numbers=(1,))])


def gain_scale(gains: Sequence[Mapping[str, Any] | None]) -> Scale:
    """One scale of factors for all gains of a table, 1x in it."""
    ends = [
        1.0,
        *(float(it[end]) for it in gains if it for end in ("low_factor", "high_factor") if it.get(end)),
    ]
    return Scale.over(ends, 0, BAR_WIDTH, is_log=True)


def gain_cell(gain: Mapping[str, Any] | None, chance: object, scale: Scale, words: Words) -> Markup:
    """A gain with its interval, as words and as a drawing, and the chance that it helps at all."""
    if not gain:
        return tag("span", words("no number: nobody measured it"), class_="soft")
    low, middle, high = (float(gain[key]) for key in ("low_factor", "expected_factor", "high_factor"))
    better = "s3" if low > 1 else "s2" if high < 1 else "s1"
    text = f"{times(middle)} ({number(low, 3)} – {number(high, 3)})"
    said = words("helps with chance {chance}", chance=percent(chance)) if chance is not None else None
    return joined(
        [tag("b", text), interval(scale, low, middle, high, 1.0, better), tag("div", said, class_="soft")]
    )


def _changes(changes: Sequence[Mapping[str, Any]], words: Words) -> Markup | None:
    if not changes:
        return None
    scale = gain_scale([item.get("gain") for item in changes])
    rows = []
    for place, item in enumerate(changes, 1):
        condition, gain = item.get("if"), item.get("gain")
        baseline = (gain or {}).get("against")
        is_open = item.get("accuracy") not in {None, "unchanged"}
        about = [
            tag("div", item["how"], class_="soft") if item.get("how") else None,
            tag("div", joined([tag("code", setting_text(one)) for one in item.get("settings", ())], " ")),
            tag("div", words("if {condition}", condition=condition)) if condition else None,
            tag("div", words("may change accuracy: measure it")) if is_open else None,
            None if baseline in {None, "the start"} else tag("div", words("gain against {it}", it=baseline)),
        ]
        rows.append(
            (
                joined([tag("b", f"{place}. ", name(item["title"])), *about]),
                gain_cell(gain, (gain or {}).get("chance"), scale, words),
                tier(item.get("tier"), words),
            )
        )
    columns = (words("change"), words("gain (90 %); the dotted line is 1x"), words("known by"))
    title = words("Worth testing on it, in this order")
    return joined([tag("h3", title), table(columns, rows, class_="cards")])


def _further(further: Sequence[Mapping[str, Any]], words: Words) -> Markup | None:
    if not further:
        return None
    return tag(
        "p", words("Further:"), " ", joined([name(item["title"]) for item in further], "; "), class_="soft"
    )


def _recommendations(items: Sequence[Mapping[str, Any]], words: Words) -> Markup:
    scale = gain_scale([item.get("gain") for item in items])
    rows = [
        (
            joined(
                [
                    tag("b", f"{place}. ", name(item["title"])),
                    tag(
                        "div",
                        joined(
                            [tag("code", f"{key}={value}") for key, value in item["configuration"].items()],
                            " ",
                        ),
                    ),
                    *(tag("div", line, class_="soft") for line in item.get("conditions", ())[:2]),
                ]
            ),
            gain_cell(item.get("gain"), item.get("probability_of_gain"), scale, words),
            item.get("basis"),
        )
        for place, item in enumerate(items, 1)
    ]
    columns = (words("configuration"), words("gain (90 %); the dotted line is 1x"), words("rests on"))
    return joined([tag("h3", words("Recommendations, best first")), table(columns, rows, class_="cards")])


def _abstention(abstained: Mapping[str, Any], words: Words) -> Markup:
    return tag(
        "p",
        tag("b", words("No recommendation: {reason}.", reason=abstained["reason"])),
        " ",
        words(
            "What is listed is worth a measurement and no more: measure {ids} next.",
            ids=", ".join(abstained.get("measure_next", ())) or "–",
        ),
    )


def _limits(content: Mapping[str, Any], words: Words) -> Markup | None:
    ceiling = content.get("ceiling_factor") or content.get("ceiling")
    lines = []
    if isinstance(ceiling, int | float) and math.isfinite(ceiling):
        lines.append(words("All observed bottlenecks together: at most {factor}.", factor=times(ceiling)))
    lines += [
        words(
            "Modelled to miss {limit}: {value} ({low} to {high}).",
            limit=f"{item['metric']} <= {quantity(item['maximum'], item['unit'])}",
            **{name: quantity(item[name], item["unit"]) for name in ("value", "low", "high")},
        )
        for item in content.get("missed_limits", ())
    ]
    lines += [
        words("Not checked: {limit}.", limit=f"{item['metric']} <= {quantity(item['maximum'], item['unit'])}")
        for item in content.get("unchecked_limits", ())
    ]
    return joined([tag("p", line) for line in lines]) if lines else None


def _not_here(items: Sequence[Mapping[str, Any]], words: Words) -> Markup | None:
    if not items:
        return None
    rows = [(name(it["strategy"]), it["because"], source_link(it.get("source"))) for it in items]
    columns = (words("strategy or setting"), words("why not"), words("source"))
    summary = tag(
        "summary",
        words("Not here: {n} strategies and settings, each with the fact that rules it out", n=len(items)),
    )
    return tag("details", summary, table(columns, rows))
