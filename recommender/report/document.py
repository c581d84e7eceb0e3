"""The document of a report: all that its page shows as plain JSON, which any other form is made from."""

import gzip
import json
import math
import re
import zlib
from base64 import b64decode, b64encode
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self

from kg.errors import InputError
from kg.nouns.codec import JsonNoun, fields_json, in_json, noun_of
from kg.nouns.values import load_json

FORMAT = "tunegraph report"
VERSION = 1

LARGEST_BYTES = 512 * 1024 * 1024
"""Plain content of a page beyond which it is not read: a few bytes can be packed to stand for any number."""
_EMBEDDED = re.compile(r'<script type="application/gzip" id="document">([\w+/=]*)</script>')


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportPart(JsonNoun):
    """The content of one section.

    Attributes:
        kind: Which section draws it.
        source: Where it is from: a path, a name, a command.
        content: Plain JSON.
    """

    kind: str
    source: str
    content: Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportDocument(JsonNoun):
    """A report as plain content.

    Attributes:
        title: Of the page.
        made: When, in ISO 8601.
        program: Name and version of what made it.
        parts: Content by section, in the order of the page.
        not_collected: What there is no content of, each with the way to get it.
    """

    title: str
    made: str
    program: str
    parts: tuple[ReportPart, ...]
    not_collected: tuple[tuple[str, str], ...] = field(
        default=(),
        metadata=in_json(
            write=lambda pairs: [{"what": what, "how": how} for what, how in pairs],
            read=lambda items: tuple((str(item["what"]), str(item["how"])) for item in items),
        ),
    )

    def to_json(self) -> dict[str, Any]:
        """Plain content; numbers that JSON lacks are null."""
        content = {"format": FORMAT, "version": VERSION, **fields_json(self)}
        return {name: finite(value) for name, value in content.items()}

    @classmethod
    def from_json(cls, content: object, where: str = "report") -> Self:
        """The inverse of :meth:`to_json`.

        Raises:
            InputError: It is no report, or one of a later version.
        """
        if not isinstance(content, dict) or content.get("format") != FORMAT:
            raise InputError(f"{where}: holds no report", hint="a page or JSON file of tunegraph report")
        if content.get("version") != VERSION:
            raise InputError(
                f"{where}: is a report of version {content.get('version')}, this program reads {VERSION}",
                hint="read it with the program that wrote it",
            )
        try:
            return noun_of(
                cls, {name: value for name, value in content.items() if name not in {"format", "version"}}
            )
        except InputError as fault:
            raise InputError(f"{where}: is a damaged report ({fault})", hint="make it again") from None

    @classmethod
    def read(cls, path: Path) -> Self:
        """Read a report back from its page or its JSON file.

        Raises:
            InputError: There is none, or it holds no report.
        """
        try:
            text = path.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as fault:
            reason = getattr(fault, "strerror", None) or "it is no text"
            raise InputError(
                f"{path}: cannot be read ({reason})", hint="a page of tunegraph report"
            ) from None
        found = _EMBEDDED.search(text)
        try:
            raw = load_json(_unpacked(found[1]) if found else text)
        except (ValueError, zlib.error):
            raise InputError(f"{path}: holds no report", hint="a page of tunegraph report") from None
        return cls.from_json(raw, str(path))


def embedded(content: object) -> str:
    """JSON that may stand in an element of a page: compressed, in letters that no element ends at."""
    text = json.dumps(content, allow_nan=False, separators=(",", ":"))
    return b64encode(gzip.compress(text.encode(), mtime=0)).decode()


def _unpacked(letters: str) -> bytes:
    """The inverse of :func:`embedded`, of a page that may be anybody's.

    Raises:
        ValueError: It is damaged or too large.
        zlib.error: It is damaged.
    """
    reader = zlib.decompressobj(wbits=31)
    content = reader.decompress(b64decode(letters, validate=True), LARGEST_BYTES)
    if not reader.eof:
        raise ValueError("it is cut off or too large")
    return content


def finite(content: Any) -> Any:
    """Content as JSON gives it back: lists for tuples, null for what is not finite."""
    if isinstance(content, float):
        return content if math.isfinite(content) else None
    if isinstance(content, dict):
        return {str(name): finite(value) for name, value in content.items()}
    if isinstance(content, list | tuple):
        return [finite(value) for value in content]
    return content
