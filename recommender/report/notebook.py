"""Results in a notebook: a section of the report without scripts, and plain text where HTML is not shown."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from html import unescape
from typing import Any

from data import text
from recommender.report.document import finite
from recommender.report.markup import Markup, joined, name, table, tag
from recommender.report.page import SECTIONS
from recommender.report.words import Words

_BREAKS = re.compile(r"</(?:p|h\d|li|tr|div|dd|figcaption|summary|pre|ul)>|<tr>")
_GAPS = re.compile(r"</?(?:t[dh]|dt|small)\b[^>]*>")
_DRAWN = re.compile(r"<svg.*?</svg>", re.DOTALL)
_TAGS = re.compile(r"<[^>]*>")


def mime_bundle(kind: str, content: Mapping[str, Any]) -> dict[str, str]:
    """What IPython shows of a result, by type of content.

    Args:
        kind: Which section draws it.
        content: What it draws.
    """
    _, draw = SECTIONS[kind]
    drawn = draw(finite(dict(content)), Words())
    return {"text/html": _boxed(drawn), "text/plain": as_text(drawn)}


def told_bundle(headline: str, sections: Iterable[tuple[str, Sequence[str]]]) -> dict[str, str]:
    """The same of a result in words: a headline, then headings with their lines."""
    parts = [tag("p", tag("b", headline))]
    for title, lines in sections:
        parts += [tag("h4", title), tag("ul", *(tag("li", line) for line in lines))]
    drawn = joined(parts)
    return {"text/html": _boxed(drawn), "text/plain": as_text(drawn)}


def table_bundle(columns: Sequence[str], rows: Iterable[Sequence[object]]) -> dict[str, str]:
    """The same of a result that is a table."""
    drawn = table(columns, [[name(cell) for cell in row] for row in rows])
    return {"text/html": _boxed(drawn), "text/plain": as_text(drawn)}


def _boxed(drawn: Markup) -> str:
    """A section with its style, which reaches no further than its box."""
    style = re.sub(r"(?<![-\w.>])(?::root|body)(?=[{,])", "&", text("report/report.css"))
    return tag("div", tag("style", Markup(f".tunegraph{{{style}}}")), drawn, class_="tunegraph")


def as_text(drawn: str) -> str:
    """Markup as plain text: a line for each block, gaps between cells, nothing for drawings."""
    lines = _TAGS.sub("", _GAPS.sub("  ", _BREAKS.sub("\n", _DRAWN.sub("", drawn)))).splitlines()
    shown = (" ".join(unescape(line).split()) for line in lines)
    return "\n".join(line for line in shown if line)
