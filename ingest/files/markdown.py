"""Markdown blocks that can hold results: headings, text, tables and fenced code, with their lines."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from ingest.files.content import Content, ContentError

MAXIMUM_BYTES = 16 << 20

_HEADING = re.compile(r" {0,3}(#{1,6})\s++(.*)")
_FENCE = re.compile(r"\s*(```+|~~~+)\s*(.*)$")
_RULE = re.compile(r"\s*+(?:\|\s*+)?:?-++:?\s*+(?:\|\s*+:?-++:?\s*+)*+\|?\s*$")
_LINK = re.compile(r"\[([^\]\[]*)\]\(([^()\s]+)\)")
_BAR = re.compile(r"(?<!\\)\|")


@dataclass(frozen=True, slots=True, kw_only=True)
class Heading:
    """A heading."""

    line: int
    level: int
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Text:
    """A line of text outside of other blocks."""

    line: int
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Code:
    """A block of fenced code.

    Attributes:
        line: Of its fence.
        language: First word after the fence.
        text: Its lines.
    """

    line: int
    language: str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class MarkdownTable:
    """A table.

    Attributes:
        line: Of its header.
        header: Names of its columns, plain.
        rows: Line and cells of each row, as many as the header has.
        uneven: Line and number of cells of rows that have more, or fewer.
    """

    line: int
    header: tuple[str, ...]
    rows: tuple[tuple[int, tuple[str, ...]], ...]
    uneven: tuple[tuple[int, int], ...]


Block = Heading | Text | Code | MarkdownTable


def load_markdown(content: Content) -> list[str]:
    """The lines of a document.

    Raises:
        ContentError: It is too long or no UTF-8.
    """
    try:
        return content.read_all(MAXIMUM_BYTES).decode("utf-8-sig").splitlines()
    except UnicodeDecodeError as fault:
        raise ContentError(f"no UTF-8 at byte {fault.start + 1}") from fault


def parse_blocks(lines: list[str]) -> Iterator[Block]:
    """The blocks of a document, in order."""
    at = 0
    while at < len(lines):
        line = lines[at]
        if (fence := _FENCE.match(line)) is not None:
            end = at + 1
            while end < len(lines) and not lines[end].strip().startswith(fence[1]):
                end += 1
            words = fence[2].split()
            yield Code(line=at + 1, language=words[0] if words else "", text="\n".join(lines[at + 1 : end]))
            at = end + 1
        elif "|" in line and at + 1 < len(lines) and "-" in lines[at + 1] and _is_rule(lines[at + 1], line):
            end = at + 2
            while end < len(lines) and "|" in lines[end]:
                end += 1
            yield _table(lines, at, end)
            at = end
        else:
            if (heading := _HEADING.match(line)) is not None:
                yield Heading(
                    line=at + 1,
                    level=len(heading[1]),
                    text=strip_markup(heading[2].rstrip().rstrip("#").rstrip()),
                )
            elif line.strip():
                yield Text(line=at + 1, text=line.strip())
            at += 1


def strip_markup(cell: str) -> str:
    """A cell without emphasis, code marks, footnotes and the targets of links."""
    cell = re.sub(r"\[\^[^\]]*\]", "", _LINK.sub(r"\1", cell))
    return cell.replace("**", "").replace("`", "").replace("\\_", "_").strip()


def first_link(cell: str) -> str:
    """The target of the first link in a cell; empty if it has none."""
    found = _LINK.search(cell)
    return found[2] if found else ""


def _table(lines: list[str], start: int, end: int) -> MarkdownTable:
    header = tuple(strip_markup(cell) for cell in _cells(lines[start]))
    rows, uneven = [], []
    for number in range(start + 2, end):
        cells = _cells(lines[number])
        if len(cells) == len(header):
            rows.append((number + 1, tuple(cells)))
        else:
            uneven.append((number + 1, len(cells)))
    return MarkdownTable(line=start + 1, header=header, rows=tuple(rows), uneven=tuple(uneven))


def _is_rule(line: str, header: str) -> bool:
    return len(line) < 10_000 and _RULE.match(line) is not None and len(_cells(line)) == len(_cells(header))


def _cells(line: str) -> list[str]:
    text = line.strip()
    text = text.removeprefix("|")
    if text.endswith("|") and not text.endswith("\\|"):
        text = text[:-1]
    return [cell.strip().replace("\\|", "|") for cell in _BAR.split(text)]
