"""Provenance: where each number of a report is from, how it is known, and the row that holds it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from recommender.report.markup import Markup, joined, name, table, tag
from recommender.report.scales import number, percent, quantity, times
from recommender.report.sections.common import source_link, tier

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from recommender.report.document import ReportPart
    from recommender.report.words import Words

TITLE = "Where each number is from"
_MOST_ROWS = 6
"""Rows of a file that are named."""

_Row = tuple[object, object, str, object, object]
"""What, value, tier, source, row."""


def draw(parts: Sequence[ReportPart], words: Words) -> Markup:
    """One table over all sections."""
    rows: list[tuple[object, ...]] = []
    for part in parts:
        for what, value, kind, source, row in _NUMBERS.get(part.kind, _nothing)(part.content, words):
            rows.append(
                (what, value, tier(kind, words), source if source is not None else name(part.source, 60), row)
            )
    versions = sorted(
        {str(part.content["knowledge_version"]) for part in parts if part.content.get("knowledge_version")}
    )
    said = [tag("p", words("Knowledge: {versions}.", versions=", ".join(versions)))] if versions else []
    columns = (words("number"), words("value"), words("known by"), words("source"), words("row"))
    return joined([*said, table(columns, rows, numbers=(1,)) if rows else None])


def _nothing(_: Mapping[str, Any], __: Words) -> Iterator[_Row]:
    return iter(())


def _answer(content: Mapping[str, Any], words: Words) -> Iterator[_Row]:
    for item in (content.get("start") or {}).get("expected", ()):
        yield (
            words("expected {metric} of the start", metric=words.term(item["metric"])),
            quantity(item["value"], item["unit"]),
            item["tier"],
            words("computed here"),
            "",
        )
    for item in (*content.get("changes", ()), *content.get("recommendations", ())):
        gain = item.get("gain")
        if not gain:
            continue
        evidence = item.get("evidence", ())
        sources = list(dict.fromkeys(str(one["source"]) for one in evidence if one.get("source")))
        yield (
            words("gain of {change}", change=name(item["title"], 60)),
            times(gain["expected_factor"]),
            str(item.get("tier") or (evidence[0]["kind"] if evidence else "modelled")),
            joined([source_link(one) for one in sources[:3]], "; ") if sources else words("computed here"),
            name(item["id"]),
        )


def _diagnosis(content: Mapping[str, Any], words: Words) -> Iterator[_Row]:
    for cause in content.get("causes", ()):
        for item in cause.get("evidence", ()):
            places = [
                f"{place['file']}:{','.join(map(str, place['rows'][:_MOST_ROWS]))}".rstrip(":")
                for place in item["places"]
            ]
            yield (
                name(item["node"]),
                percent(item["share"]),
                "measured",
                item["says"],
                joined([name(p, 90) for p in places], "; "),
            )
        yield (
            words("gain of removing {cause}", cause=name(cause["cause"])),
            times(cause["gain"]["expected"]),
            str(cause["gain"]["kind"]),
            words("computed here"),
            "",
        )


def _search(content: Mapping[str, Any], words: Words) -> Iterator[_Row]:
    best = content.get("best")
    kind = "modelled" if content.get("modelled") else "measured"
    units = {
        item["metric"]: item["unit"] for item in (*content.get("objectives", ()), *content.get("limits", ()))
    }
    for metric, value in (best or {}).get("values", {}).items():
        trials = ", ".join(map(str, best["trials"][:_MOST_ROWS])) if best else ""
        yield (
            words("best {metric}", metric=words.term(metric)),
            quantity(value, units.get(metric)),
            kind,
            None,
            words("trial {numbers}", numbers=trials),
        )


def _experiment(content: Mapping[str, Any], words: Words) -> Iterator[_Row]:
    for item in content.get("treatments", ()):
        factor = item.get("ratio")
        yield (
            words("gain of {change}", change=name(item["arm"])),
            times(factor),
            "measured",
            None,
            words("{n} pairs", n=item.get("pairs", 0)),
        )


def _prediction(content: Mapping[str, Any], words: Words) -> Iterator[_Row]:
    now = content.get("now")
    if now:
        yield (
            words("throughput now"),
            quantity(now["throughput"], now["throughput_unit"]),
            str(now["kind"]),
            words("computed here"),
            "",
        )
    for item in content.get("predictions", ()):
        if gain := item.get(item.get("gain_in", "throughput")):
            yield (
                words("gain of {change}", change=name(item["title"], 60)),
                times(gain["factor"]),
                str(gain["kind"]),
                gain["reason"],
                name(item["id"] or ""),
            )


def _estimate(content: Mapping[str, Any], words: Words) -> Iterator[_Row]:
    for item in content.get("estimates", ())[:20]:
        setting = ", ".join(f"{key}={value}" for key, value in item["settings"].items())
        yield (
            words("time of a step, {settings}", settings=name(setting, 60)),
            quantity(item["time_s"], "s"),
            str(item["kind"]),
            words("computed here"),
            "",
        )


def _green(content: Mapping[str, Any], words: Words) -> Iterator[_Row]:
    series = content.get("series") or {}
    if series:
        yield (
            words("carbon intensity"),
            words("{n} slots", n=number(len(series.get("g_per_kwh", ())))),
            str(series.get("kind", "")),
            source_link(series.get("source")),
            "",
        )
    if saving := content.get("saving"):
        yield words("carbon saved"), percent(saving["expected"], 3), "modelled", words("computed here"), ""
    for item in (content.get("statement") or {}).get("numbers", ()):
        yield (
            item["what"],
            quantity(item["value"], item["unit"]),
            str(item["kind"]),
            source_link(item.get("source")),
            "",
        )


_NUMBERS = {
    "answer": _answer,
    "diagnosis": _diagnosis,
    "search": _search,
    "experiment": _experiment,
    "prediction": _prediction,
    "estimate": _estimate,
    "green": _green,
}
