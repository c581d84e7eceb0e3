"""What carries an answer: its changes and settings, the evidence of each, and the sources behind, as a graph.

Three layers from left to right. The order in a layer follows the mean place of what a node is tied to in the
layer before, so the drawing is the same for the same answer.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from recommender.report.charts import WIDTH, chart
from recommender.report.markup import Markup, joined, plain, shorten, table, tag
from recommender.report.scales import number
from recommender.report.sections.common import source_link, source_name, tier

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from recommender.report.words import Words

TITLE = "What carries the answer"

MOST = 14
"""Nodes drawn of a layer: those tied to most come first; the table has all."""
_STEP = 30
_COLUMNS = (0, 240, 496)
_LETTERS = (27, 30, 29)
"""Letters of a label that fit each column."""
_LETTER = 7.2
"""Width of a letter, of the widest of the fonts that the page asks for (DejaVu Sans)."""


@dataclass(frozen=True, slots=True)
class Tie:
    """One thing that an answer rests on.

    Attributes:
        item: Setting or change of the answer.
        evidence: What is known of it.
        kind: How it is known.
        source: Who says so; empty where it is computed here.
        weight: Its share of the expectation; None where it has none.
    """

    item: str
    evidence: str
    kind: str
    source: str
    weight: float | None = None


@dataclass(slots=True)
class _Layer:
    """Nodes of a column in their order."""

    names: list[str] = field(default_factory=list)

    def place(self, name: str) -> float:
        return 24.0 + _STEP * self.names.index(name)


def ties(content: Mapping[str, Any]) -> list[Tie]:
    """All that an answer rests on, in the order of the answer."""
    found: list[Tie] = []
    for setting in (content.get("start") or {}).get("settings", ()):
        origin = str(setting["from"])
        found.append(Tie("start", f"{origin}: {setting['key']}", origin, str(setting.get("source") or "")))
    for item in (*content.get("changes", ()), *content.get("recommendations", ())):
        title = str(item["title"])
        found += [
            Tie(title, str(one["says"]), str(one["kind"]), str(one.get("source") or ""), one.get("weight"))
            for one in item.get("evidence", ())
        ]
    return found


def draw(content: Mapping[str, Any], words: Words) -> Markup:
    """The graph and its table; nothing where the answer has no evidence."""
    found = ties(content)
    if not found:
        return Markup("")
    drawn = _bundled(found, words)
    sources = len({tie.source for tie in found if tie.source})
    said = words(
        "{ties} pieces of evidence from {sources} sources; thick lines carry most weight.",
        ties=len(found),
        sources=sources,
    )
    rows = [
        (
            shorten(tie.item, 60),
            tie.evidence,
            tier(tie.kind, words),
            "" if tie.weight is None else number(tie.weight, 2),
            source_link(tie.source),
        )
        for tie in found
    ]
    columns = (words("of the answer"), words("evidence"), words("known by"), words("weight"), words("source"))
    return joined(
        [
            chart(words("From the answer to its sources"), said, _graph(drawn), height=_height(drawn)),
            tag("details", tag("summary", words("The same as a table")), table(columns, rows, numbers=(3,))),
        ]
    )


def _bundled(found: list[Tie], words: Words) -> list[Tie]:
    """Ties as they are drawn: settings of the start from one source are one piece of evidence."""
    counts: dict[tuple[str, str], int] = {}
    for tie in found:
        if tie.item == "start":
            counts[tie.kind, tie.source] = counts.get((tie.kind, tie.source), 0) + 1
    start = plain(words("start")).capitalize()
    bundled = [
        Tie(
            start,
            f"{words('{n} settings', n=n)}, {words.term(kind)}",
            kind,
            source_name(source) or str(words("computed here")),
        )
        for (kind, source), n in counts.items()
    ]
    rest = [
        Tie(
            tie.item,
            tie.evidence,
            tie.kind,
            source_name(tie.source) or str(words("computed here")),
            tie.weight,
        )
        for tie in found
        if tie.item != "start"
    ]
    return [*bundled, *rest]


def _layers(drawn: list[Tie]) -> tuple[_Layer, _Layer, _Layer]:
    items, evidence, sources = _Layer(), _Layer(), _Layer()
    items.names = list(dict.fromkeys(tie.item for tie in drawn))[:MOST]
    evidence.names = _ordered(((tie.evidence, tie.item) for tie in drawn if tie.item in items.names), items)
    sources.names = _ordered(
        ((tie.source, tie.evidence) for tie in drawn if tie.evidence in evidence.names), evidence
    )
    return items, evidence, sources


def _ordered(pairs: Iterable[tuple[str, str]], before: _Layer) -> list[str]:
    """Nodes by the mean place of what they are tied to; the most tied ones where there are too many."""
    tied: dict[str, list[int]] = {}
    for name, other in pairs:
        tied.setdefault(name, []).append(before.names.index(other))
    kept = sorted(tied, key=lambda name: (-len(tied[name]), min(tied[name]), name))[:MOST]
    return sorted(kept, key=lambda name: (sum(tied[name]) / len(tied[name]), name))


def _height(drawn: list[Tie]) -> int:
    return 40 + _STEP * max(len(layer.names) for layer in _layers(drawn))


def _graph(drawn: list[Tie]) -> Markup:
    layers = _layers(drawn)
    edges: dict[tuple[int, str, str], float] = {}
    for tie in drawn:
        for column, (one, other) in enumerate(((tie.item, tie.evidence), (tie.evidence, tie.source))):
            if one in layers[column].names and other in layers[column + 1].names:
                edge = (column, one, other)
                edges[edge] = max(edges.get(edge, 0.0), tie.weight or 0.0)
    parts = []
    for (column, one, other), weight in edges.items():
        x, y = _COLUMNS[column] + 12 + _LETTER * min(len(one), _LETTERS[column]), layers[column].place(one)
        end, to = _COLUMNS[column + 1] - 2, layers[column + 1].place(other)
        middle = (x + end) / 2
        path = f"M{x:.0f} {y:g}C{middle:.0f} {y:g} {middle:.0f} {to:g} {end} {to:g}"
        parts.append(tag("path", d=path, class_="l s6", stroke_width=f"{1 + 4 * weight:.1f}", opacity="0.6"))
    for column, layer in enumerate(layers):
        for name in layer.names:
            y, x = layer.place(name), _COLUMNS[column]
            parts.append(tag("path", d=f"M{x + 4} {y:g}h0", class_=f"p s{(1, 3, 2)[column]}"))
            label = shorten(plain(name), _LETTERS[column])
            parts.append(tag("text", label, tag("title", plain(name)[:300]), x=x + 12, y=y + 4))
    return joined(parts)


assert _COLUMNS[-1] + 12 + _LETTER * _LETTERS[-1] <= WIDTH  # noqa: S101  labels stay in the drawing
