"""Settings that a program's own pages list in tables: Markdown, HTML, reStructuredText; English or Chinese.

Only facts are taken: name, type, range, choices, default, unit.
"""

from __future__ import annotations

import html
import json
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tools.oracle.settings.source import Mined

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

_COLUMNS = {
    "key": ("配置项", "环境变量", "参数名称", "parameters", "environment variable", "环境变量名"),
    "type": ("取值类型", "type", "types"),
    "range": ("取值范围", "value range", "values", "setting description"),
    "default": ("默认值", "缺省值", "default value"),
}
_TYPES = (
    (("bool",), "bool"),
    (("vector", "set<", "list", "std::set"), "list"),
    (("int", "size_t"), "int"),
    (("float", "double"), "float"),
    (("map", "dict"), "object"),
    (("string", "str"), "str"),
)
_KEY = re.compile(r"^-{0,2}[A-Za-z][A-Za-z0-9_]*$")
_DEFAULT = re.compile(
    r"(?:默认值为?|缺省值为?|[Dd]efault value is|[Dd]efaults?(?: to| is)?)\s*[:：]?\s*"
    r"[\"“`]*([^\s\"”`，,；;。<>]+?)[\"”`]*\s*(?:[，,；;。.<]|\s|$)"
)
_RANGE = re.compile(r"[\[(]\s*(-?\d+(?:\.\d+)?)\s*,\s*(-?\d+(?:\.\d+)?)\s*[\])]|range (-?\d+) to (-?\d+)")
_UNIT = re.compile(r"单位[:：为]\s*([A-Za-z%]+|秒)|\b(seconds|milliseconds)\b")
_UNITS = {"seconds": "s", "秒": "s", "milliseconds": "ms"}
_ROW = re.compile(r"<tr>(.*?)</tr>", re.DOTALL)
_CELL = re.compile(r"<t[dh][^>]*>(.*?)</t[dh]>", re.DOTALL)
_ITEM = re.compile(r"<li>(.*?)</li>")


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """A page of a program that lists settings in tables.

    Attributes:
        pattern: Its path, with wildcards.
        place: Where the settings are written.
        carrier: File that holds them.
        sections: JSON file whose structure says where the keys of a section stand; empty for plain names.
        only: Pattern that a key must match.
    """

    pattern: str
    place: str
    carrier: str = ""
    sections: str = ""
    only: str = ""


def page_settings(root: Path, page: Page) -> Iterator[Mined]:
    """The settings in the tables of a page."""
    places = _places(root / page.sections) if page.sections else {}
    for path in sorted(root.glob(page.pattern)):
        section = ""
        columns: dict[str, int] = {}
        for number, row in _rows(path.read_text(encoding="utf-8", errors="replace")):
            if isinstance(row, str):
                section, columns = row, {}
                continue
            if (header := _header(row)) and "key" in header:
                columns = header
                continue
            key = _plain(row[columns["key"]]) if columns and columns["key"] < len(row) else ""
            if not _KEY.match(key) or (page.only and not re.match(page.only, key)):
                continue
            item = Mined(key=key, place=page.place, path=path.relative_to(root).as_posix(), line=number)
            item.carrier = page.carrier
            if page.sections:
                above = places.get(section, "")
                item.key = f"{above}.{key}" if above else key
            _read(item, columns, row)
            yield item


def _read(item: Mined, columns: Mapping[str, int], row: list[str]) -> None:
    cells = {name: row[place] for name, place in columns.items() if place < len(row)}
    words = cells.get("type", "").lower()
    item.type = next((kind for marks, kind in _TYPES if any(mark in words for mark in marks)), "any")
    everything = " ".join(row)
    if (found := _RANGE.search(cells.get("range", ""))) is not None:
        low, high = (float(part) for part in found.groups() if part is not None)
        item.low, item.high = low, high
        if item.type == "any":
            item.type = "float" if "." in found.group() else "int"
    choices = [
        _plain(text).split("：")[0].split(":")[0].strip('"') for text in _ITEM.findall(cells.get("range", ""))
    ]
    if len(choices) > 1 and item.type != "bool" and all(choice and " " not in choice for choice in choices):
        item.choices = tuple(choices)
    if (unit := _UNIT.search(everything)) is not None:
        text = unit.group(1) or unit.group(2)
        item.unit = _UNITS.get(text, text)
    text = _plain(cells["default"]) if "default" in cells else ""
    if not text and (found := _DEFAULT.search(_plain(everything))) is not None:
        text = found.group(1)
    _default(item, text.split(" or ")[0].split(" (")[0])


def _default(item: Mined, text: str) -> None:
    plain = text.strip(" .*\"'`")
    if not plain or plain.lower() in {"n/a", "na", "path", "the", "-"}:
        return
    if plain.lower() in {"none", "not set", "unset", "null"}:
        item.default, item.stated = None, True
        return
    if plain.lower() in {"true", "false"} and item.type in {"bool", "any", "str"}:
        item.type, item.default, item.stated = "bool", plain.lower() == "true", True
    elif re.fullmatch(r"-?\d+", plain) and item.type in {"int", "any", "float"}:
        item.type = "int" if item.type == "any" else item.type
        item.default, item.stated = int(plain), True
    elif re.fullmatch(r"-?\d+\.\d+", plain) and item.type in {"float", "any"}:
        item.type, item.default, item.stated = "float", float(plain), True
    elif item.type == "str" and re.fullmatch(r"[\w./:-]+", plain):
        item.default, item.stated = plain, True


def _places(path: Path) -> dict[str, str]:
    """Path of each object of a JSON file by its own name."""
    found: dict[str, str] = {}

    def walk(value: Any, above: str) -> None:
        if isinstance(value, dict):
            for name, inner in value.items():
                here = f"{above}.{name}" if above else name
                if isinstance(inner, dict | list):
                    found.setdefault(name, here)
                walk(inner, here)
        elif isinstance(value, list):
            for inner in value:
                walk(inner, above)

    if path.is_file():
        walk(json.loads(path.read_text(encoding="utf-8")), "")
    return found


def _rows(text: str) -> Iterator[tuple[int, list[str] | str]]:
    """Rows of all tables with their line, and the first word of each heading."""
    if ".. list-table::" in text:
        yield from _listed(text)
        return
    if "<tr>" in text:
        for row in _ROW.finditer(text):
            yield text.count("\n", 0, row.start()) + 1, _CELL.findall(row.group(1))
        return
    for number, line in enumerate(text.splitlines(), 1):
        if line.startswith("#"):
            title = re.match(r"[A-Za-z]*", line.lstrip("# "))
            yield number, title.group() if title else ""
        elif line.startswith("|") and not re.match(r"^\|[\s:|-]+\|$", line):
            yield number, [cell.strip() for cell in line.strip().strip("|").split("|")]


def _listed(text: str) -> Iterator[tuple[int, list[str] | str]]:
    row: list[str] = []
    start = 0
    for number, line in enumerate(text.splitlines(), 1):
        first, next_cell = re.match(r"^\s*\* - ?(.*)$", line), re.match(r"^\s+- ?(.*)$", line)
        if first:
            if row:
                yield start, row
            row, start = [first.group(1)], number
        elif row and next_cell:
            row.append(next_cell.group(1))
        elif row and line.strip() and line.startswith("  "):
            row[-1] += " " + line.strip()
        elif row and line.strip():
            yield start, row
            row = []
    if row:
        yield start, row


def _header(row: list[str]) -> dict[str, int]:
    names = [_plain(cell).lower() for cell in row]
    return {
        column: names.index(name) for column, known in _COLUMNS.items() for name in known if name in names
    }


def _plain(cell: str) -> str:
    text = re.sub(r"<br\s*/?>|</li>", " ", cell)
    return html.unescape(re.sub(r"<[^>]+>|\*\*|`|\\(?=[_*])", "", text)).strip()
