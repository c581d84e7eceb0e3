"""The statements of a result file, run by run: values by name, whatever the form of the file.

A JSON document and a line of JSON give the paths of their values. A text gives labels with values, rows of
drawn tables and of CSV, options of the command that it shows, and what patterns of lines find. A text is
read line by line, and only what a tool's table asks for is kept.
"""

import csv
import json
import math
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import TypeAlias

from ingest.files.content import Content, ContentError
from ingest.files.documents import SMALL
from ingest.files.safe_yaml import load_yaml
from ingest.files.sniffing import read_head
from ingest.formats.outputs.tool import Tool, plain
from kg.errors import Fault
from kg.terms.units import unit

Scalar: TypeAlias = str | float | bool | None

MOST_VALUES = 1_000_000
"""Values of one name that are kept: the steps of the longest run, or the requests of a long log."""
LARGEST_DOCUMENT = 128 << 20
_TOO_LONG = f"longer than {LARGEST_DOCUMENT >> 20} MiB, which no summary is"
LONGEST_LINE = 20_000
"""Characters of a line of text that are looked at."""
_BOX = re.compile("[|\u2502\u2503]")
_RULE = re.compile("[-+=\\s|:\u2500-\u257f]*")
_LABEL = re.compile(r"^\s*+(?P<label>[^:\s][^:]{0,78}?[^:\s])\s*:\s++(?P<value>\S(?:.*\S)?)\s*$")
_NUMBER = re.compile(r"(?P<number>[-+]?(?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d+)?(?:[eE][-+]?\d+)?|nan|NaN|inf)")
_SPREAD = re.compile(r"(?<!\s)\s*+(?:\u00b1|\+/-)\s*+")
_RATE = re.compile(r"([\d.,]+) ((?:\w+ )*\w+/s)$")
_OPTION = re.compile(r"(?<=\s)--?([a-z][\w-]*)(?:=|\s+)('[^']*'|\"[^\"]*\"|[^\s-]\S*)")
_ARGUMENT = re.compile(r"(?<!\w)(\w++)=('[^']*'|\"[^\"]*\"|[^,()\s]+)")
_DOTTED = re.compile(r"(?<!\w)(\w++) \.{3,}+ ('[^']*'|\S+)")
_SHOW_OPTIONS = ("...", "Namespace(", "bench", "backend_model=")
_JSON = re.compile(r"\s*(\[\s*)?\{\s*\"")
_STATISTICS = frozenset(
    ["avg", "average", "mean", "min", "max", "median", "value", "p50", "p75", "p90", "p95", "p99", "std"]
)
_HEADERS = frozenset({"metric", "key", "type", "performance_parameters", "common_metric", "statistic"})
_SECONDS = {"_ms": "ms", "_s": "s", "_us": "us"}


@dataclass(slots=True, kw_only=True)
class StatedRun:
    """One run, as a file states it.

    Attributes:
        place: Where it stands in the file.
        values: By name, in the order in which they stand there.
        units: Units that stand behind values, by name.
        faults: What contradicts itself.
    """

    place: str = ""
    values: dict[str, list[Scalar]] = field(default_factory=dict)
    units: dict[str, str] = field(default_factory=dict)
    faults: list[str] = field(default_factory=list)

    def first(self, names: Iterable[str]) -> Scalar:
        """The last value of the first name that has one; null and empty ones are none."""
        for name in names:
            for value in reversed(self.values.get(name, ())):
                if value is not None and value != "":
                    return value
        return None

    def number(self, names: Iterable[str]) -> float | None:
        """The number of the first name that has one, of a text the number in it."""
        for name in names:
            found = number_in(self.first([name]))
            if found is not None:
                return found
        return None

    def numbers(self, name: str) -> list[float]:
        """All numbers of a name, in their order."""
        return [found for value in self.values.get(name, ()) if (found := number_in(value)) is not None]

    def add(self, name: str, value: Scalar, wanted: frozenset[str]) -> None:
        """Keep a value if its name is asked for."""
        if name in wanted:
            kept = self.values.setdefault(name, [])
            if len(kept) < MOST_VALUES:
                kept.append(value)


def number_in(value: Scalar) -> float | None:
    """A value as a finite number; None if it is none."""
    if isinstance(value, bool) or value is None:
        return None
    try:
        found = float(value)
    except (ValueError, OverflowError):
        return None
    return found if math.isfinite(found) else None


def runs_of(content: Content, tool: Tool) -> Iterator[StatedRun | Fault]:
    """The runs of a file, and faults of what cannot be read."""
    wanted, joined = tool.names, StatedRun()
    try:
        if _JSON.match(read_head(content.path).text):
            found = _of_json(content, tool, wanted)
        elif content.path.suffix in {".yaml", ".yml"}:
            found = _of_document(load_yaml(content.read_all(SMALL)), tool, wanted, "")
        elif tool.header_rows:
            found = _of_rows(content, tool, wanted)
        else:
            found = _of_text(content, tool, wanted)
        for run in found:
            if isinstance(run, Fault) or not tool.joined:
                yield run
            else:
                for name, values in run.values.items():
                    joined.values.setdefault(name, []).extend(values[:MOST_VALUES])
    except ContentError as fault:
        yield Fault(place="", reason=str(fault))
    if tool.joined:
        _compute(joined, tool)
        yield joined


def _compute(run: StatedRun, tool: Tool) -> None:
    """Keep what follows from all values of a run."""
    for name, (above, *below) in tool.computed.items():
        under = [run.numbers(key) for key in below]
        span = max(under[0], default=0.0) - min(under[1], default=0.0) if len(under) > 1 else None
        divisor = span if span is not None else sum(under[0]) if under else 1.0
        if divisor > 0:
            run.values[name] = [sum(run.numbers(above)) / divisor]


def _of_json(content: Content, tool: Tool, wanted: frozenset[str]) -> Iterator[StatedRun | Fault]:
    """Runs of a document, of a list of them, or of one on each line."""
    pieces: list[bytes] = []
    length = 0
    for number, line in content.lines(LARGEST_DOCUMENT):
        place = f"line {number}"
        if line is None:
            yield Fault(place=place, reason=_TOO_LONG)
            continue
        if not line.strip():
            continue
        if not pieces:
            try:
                document = json.loads(line)
            except (ValueError, RecursionError):
                if length < 0:
                    yield Fault(place=place, reason="no JSON: the line was perhaps cut short")
                    continue
            else:
                length = -1
                yield from _of_document(document, tool, wanted, place)
                continue
        pieces.append(line)
        length += len(line)
        if length > LARGEST_DOCUMENT:
            raise ContentError(_TOO_LONG)
    if pieces:
        try:
            yield from _of_document(json.loads(b"\n".join(pieces)), tool, wanted, "")
        except (ValueError, RecursionError) as fault:
            yield Fault(place="", reason=f"no JSON, or cut short: {str(fault)[:100]}")


def _of_document(document: object, tool: Tool, wanted: frozenset[str], place: str) -> Iterator[StatedRun]:
    if isinstance(document, list):
        for number, item in enumerate(document):
            yield from _of_document(item, tool, wanted, f"{place}[{number}]")
        return
    inner = document.get(tool.each) if isinstance(document, dict) and tool.each else None
    for number, item in enumerate(inner if isinstance(inner, list) else [None]):
        run = StatedRun(place=place if item is None else f"{tool.each}[{number}]")
        if item is not None and isinstance(document, dict):
            _flatten("", {key: value for key, value in document.items() if key != tool.each}, run, wanted)
        _flatten("", document if item is None else item, run, wanted)
        yield run


def _flatten(path: str, item: object, run: StatedRun, wanted: frozenset[str]) -> None:
    if isinstance(item, dict):
        for key, value in item.items():
            name = plain(str(key))
            _flatten(f"{path}.{name}" if path else name, value, run, wanted)
    elif isinstance(item, list):
        run.add(f"{path}.#", len(item), wanted)
        for number, value in enumerate(item[:16]):
            _flatten(f"{path}.{number}", value, run, wanted)
    elif isinstance(item, str):
        value_text, written = _split(item)
        run.add(path, value_text if written else item, wanted)
        if written:
            _note_unit(run, path, written)
    elif item is None or isinstance(item, int | float):
        run.add(path, item, wanted)


def _of_rows(content: Content, tool: Tool, wanted: frozenset[str]) -> Iterator[StatedRun | Fault]:
    """Runs of a table that has one in each row, CSV or drawn in Markdown."""
    headers: list[list[str]] = []
    above = StatedRun()
    is_csv = content.path.name.removesuffix(".gz").endswith(".csv")
    for number, line in content.lines():
        text = "" if line is None else line.decode(errors="replace").strip()
        cells = _cells(text, is_csv=is_csv) if is_csv or text.startswith("|") else []
        if not cells or _RULE.fullmatch(text):
            for pattern in tool.lines if not headers else ():
                _note_groups(pattern.search(text), above, wanted)
            continue
        if len(headers) < tool.header_rows:
            headers.append([plain(cell) for cell in cells])
            continue
        place = f"line {number}"
        if len(cells) != len(headers[0]):
            yield Fault(place=place, reason=f"{len(cells)} cells, where the header has {len(headers[0])}")
            continue
        run = StatedRun(place=place, values={name: list(values) for name, values in above.values.items()})
        for column, cell in enumerate(cells):
            _note(run, ".".join(filter(None, (header[column] for header in headers))), cell, wanted)
            for pattern in tool.lines:
                _note_groups(pattern.search(cell), run, wanted)
        yield run


def _of_text(content: Content, tool: Tool, wanted: frozenset[str]) -> Iterator[StatedRun]:
    """Runs of a text of labels and tables; options that are shown count for the runs below."""
    is_csv = content.path.name.removesuffix(".gz").endswith(".csv")
    run, shown, header = StatedRun(place="line 1"), StatedRun(), [""]
    groups = {name for pattern in tool.lines for name in pattern.groupindex}
    has_labels = any(name not in groups and not name.startswith("option.") for name in wanted)
    for number, raw in content.lines():
        line = "" if raw is None else raw[:LONGEST_LINE].decode(errors="replace").rstrip()
        if tool.starts is not None and tool.starts.search(line):
            if run.values.keys() - shown.values.keys():
                yield run
            run, header = StatedRun(place=f"line {number}", values=dict(shown.values)), [""]
        elif tool.warmed is not None and tool.warmed.search(line):
            run = StatedRun(place=f"line {number}", values=dict(shown.values))
        if any(mark in line for mark in _SHOW_OPTIONS):
            _note_options(line, shown, wanted)
            run.values |= shown.values
        for pattern in tool.lines:
            _note_groups(pattern.search(line), run, wanted)
        if not has_labels:
            continue
        if is_csv or len(_BOX.findall(line)) > 1:
            cells = _cells(line, is_csv=is_csv)
            if len(cells) > 1 and not _RULE.fullmatch(line):
                header = _note_cells(cells, header, run, wanted)
        elif (labelled := _LABEL.match(line)) is not None:
            _note(run, plain(labelled["label"]), labelled["value"], wanted)
    yield run


def _cells(line: str, *, is_csv: bool) -> list[str]:
    if is_csv:
        try:
            return [cell.strip() for cell in next(csv.reader([line]), [])]
        except csv.Error:
            return []
    return [cell.strip() for cell in _BOX.split(line.strip().strip("|\u2502\u2503"))]


def _note_cells(cells: list[str], header: list[str], run: StatedRun, wanted: frozenset[str]) -> list[str]:
    """Keep the values of a row under its label; the header that holds for the rows below."""
    names = [plain(cell) for cell in cells]
    if names[0] in _HEADERS or len(_STATISTICS & set(names[1:])) > 1:
        return names
    label = next(filter(None, names), "")
    if len(cells) == 2:
        _note(run, label, cells[1], wanted)
    if len(cells) == len(header):
        for name, cell in zip(header[1:], cells[1:], strict=True):
            _note(run, f"{label}.{name}", cell, wanted)
    elif len(cells) == 2:
        _note(run, f"{label}.value", cells[1], wanted)
    return header


def _note(run: StatedRun, name: str, text: str, wanted: frozenset[str]) -> None:
    """Keep a value; of several rates behind one label each by its unit."""
    rates = [_RATE.match(part.strip()) for part in text.split(", ")]
    if len(rates) > 1 and all(rates):
        for rate in rates:
            if rate is not None:
                run.add(f"{name}.{plain(rate[2])}", _plain_number(rate[1]), wanted)
        return
    if name not in wanted and f"{name}.std" not in wanted:
        return
    middle, *spread = _SPREAD.split(text, maxsplit=1)
    value, written = _split(middle)
    run.add(name, value, wanted)
    for after in spread:
        run.add(f"{name}.std", _split(after)[0], wanted)
    if written:
        _note_unit(run, name, written)


def _note_unit(run: StatedRun, name: str, written: str) -> None:
    said = next((symbol for end, symbol in _SECONDS.items() if name.partition(".")[0].endswith(end)), written)
    if unit(said) != unit(written):
        run.faults.append(f"{name}: two units, {said} in the label and {written} behind the number")
    run.units[name] = written


def _note_groups(match: re.Match[str] | None, run: StatedRun, wanted: frozenset[str]) -> None:
    for name, text in match.groupdict().items() if match is not None else ():
        if text:
            _note(run, name, text, wanted)


def _note_options(line: str, run: StatedRun, wanted: frozenset[str]) -> None:
    """The options of a benchmark's command, or of the arguments that it prints."""
    pairs: list[tuple[str, str]] = []
    if (dotted := _DOTTED.search(line)) is not None:
        pairs = [(dotted[1], dotted[2])]
    elif "Namespace(" in line or "backend_model=" in line:
        pairs = _ARGUMENT.findall(line.partition("Namespace(")[2] or line)
    elif "bench" in line and " -" in line:
        pairs = _OPTION.findall(line)
    for name, value in pairs:
        key = f"option.{plain(name)}"
        if key in wanted and value != "None":
            run.values[key] = [_plain_number(value.strip("'\""))]


def _split(text: str) -> tuple[Scalar, str]:
    """The number at the beginning of a text and the unit behind it; the text itself where it has none."""
    found = _NUMBER.match(text)
    if found is None:
        return text, ""
    rest = text[found.end() :].strip()
    if not rest or rest[0] in "([{%":
        return _plain_number(found["number"]), ""
    try:
        unit(rest)
    except ValueError:
        return text, ""
    return _plain_number(found["number"]), rest


def _plain_number(text: str) -> Scalar:
    """A number without the commas of thousands; the text where it is none."""
    try:
        return float(text.replace(",", "")) if not text.isdigit() else int(text)
    except ValueError:
        return text
