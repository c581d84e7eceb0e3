"""A section of the report as plain text: a line for each block, gaps between cells, nothing for drawings."""

import re
from collections.abc import Mapping
from html import unescape
from typing import Any

from recommender.report.document import finite
from recommender.report.page import SECTIONS
from recommender.report.words import Words

_BREAKS = re.compile(r"</(?:p|h\d|li|tr|div|dd|figcaption|summary|pre|ul)>|<tr>")
_GAPS = re.compile(r"</?(?:t[dh]|dt|small)\b[^>]*>")
_DRAWN = re.compile(r"<svg(?:(?!</?svg).)*+</svg>", re.DOTALL)
_TAGS = re.compile(r"<[^<>]*>")


def section_text(kind: str, content: Mapping[str, Any]) -> str:
    """Text of the section of a kind with some content."""
    _, draw = SECTIONS[kind]
    drawn = draw(finite(dict(content)), Words())
    lines = _TAGS.sub("", _GAPS.sub("  ", _BREAKS.sub("\n", _DRAWN.sub("", drawn)))).splitlines()
    return "\n".join(line for text in lines if (line := " ".join(unescape(text).split())))
