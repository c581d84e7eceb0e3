"""Printing: tables for people, stable JSON for programs. Results go to stdout alone."""

import io
import json
import os
import sys
from collections.abc import Iterable, Mapping, Sequence
from typing import TextIO

from cli.text.language import localised
from cli.text.tables import table_lines
from cli.text.width import columns_of, line_width, wrapped
from kg.hidden_text import harmless
from recommender.answers.schema import SCHEMA_VERSION


class HarmlessStream(io.TextIOBase):
    """A stream that spells out control characters: the one door of all that is printed.

    What cases, graphs and file names hold could rewrite the screen or fill the clipboard otherwise.

    Args:
        stream: Where the text goes.
    """

    def __init__(self, stream: TextIO) -> None:
        self.stream = stream

    def write(self, text: str) -> int:
        """Write a text, harmless."""
        self.stream.write(harmless(text))
        return len(text)

    def flush(self) -> None:
        """Flush the stream below."""
        self.stream.flush()

    def isatty(self) -> bool:
        """True if a terminal is below."""
        return self.stream.isatty()

    def fileno(self) -> int:
        """Descriptor of the stream below."""
        return self.stream.fileno()

    def writable(self) -> bool:
        """True: it is for writing."""
        return True

    @property
    def encoding(self) -> str:  # type: ignore[override]  # a property there too, of no value
        """Encoding of the stream below."""
        return self.stream.encoding

    @property
    def buffer(self) -> object:
        """The bytes below, for what is no text."""
        return self.stream.buffer


def make_harmless() -> None:
    """Put the door before stdout and stderr of this process; what their encoding lacks is spelled out."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    if not isinstance(sys.stdout, HarmlessStream):
        sys.stdout = HarmlessStream(sys.stdout)
    if not isinstance(sys.stderr, HarmlessStream):
        sys.stderr = HarmlessStream(sys.stderr)


def raw(stream: TextIO) -> TextIO:
    """The stream behind the door, for colours and moving lines of our own; texts pass ``harmless`` first."""
    return stream.stream if isinstance(stream, HarmlessStream) else stream


def moving_line(text: str) -> None:
    """Replace the line that stands on the terminal's stderr."""
    below = raw(sys.stderr)
    below.write("\r\x1b[2K" + harmless(text[:200]))
    below.flush()


def as_json(content: Mapping[str, object]) -> None:
    """Print a result as one JSON object with ``schema_version``."""
    sys.stdout.write(  # at once: by pieces a list of all recipes takes twice as long
        json.dumps({"schema_version": SCHEMA_VERSION, **content}, ensure_ascii=False, indent=1) + "\n"
    )


def as_foreign_json(content: Mapping[str, object]) -> None:
    """Print content in the form of another program, which allows nothing of ours in it."""
    sys.stdout.write(json.dumps(content, ensure_ascii=False, indent=2) + "\n")


def say(text: str = "") -> None:
    """Print text for people: in their language, its lines broken between words to fit the screen."""
    for line in text.split("\n"):
        as_it_stands(localised(line))


def as_it_stands(line: str) -> None:
    """Print a line broken between words to fit the screen, in the language that it has."""
    for part in wrapped(line, line_width(sys.stdout, os.environ)):
        print(part)


def fits_a_line(text: str) -> bool:
    """True if a text, in the user's language, fits on one line of the screen."""
    return columns_of(localised(text)) <= line_width(sys.stdout, os.environ)


def note(text: str) -> None:
    """Print a remark beside the result, on stderr."""
    _beside(localised(f"note: {text}"))


def aside(text: str) -> None:
    """Print text for people on stderr, as :func:`say` does on stdout."""
    for line in text.split("\n"):
        _beside(localised(line))


def _beside(text: str) -> None:
    for part in wrapped(text, line_width(sys.stderr, os.environ)):
        print(part, file=sys.stderr)


def table(columns: Sequence[str], rows: Iterable[Sequence[object]], *, title: str = "") -> None:
    """Print rows under headings, as wide as the terminal allows."""
    if title:
        say(title)
    cells = [
        [
            "" if cell is None else harmless(localised(cell if isinstance(cell, str) else str(cell)))
            for cell in row
        ]
        for row in rows
    ]
    headings = [harmless(localised(column)) for column in columns]
    bold, plain = ("\x1b[1m", "\x1b[0m") if _takes_colour() else ("", "")
    stream = raw(sys.stdout)
    for line, is_heading in table_lines(headings, cells, line_width(sys.stdout, os.environ)):
        stream.write(f"{bold}{line}{plain}\n" if is_heading else f"{line}\n")


def _takes_colour() -> bool:
    """True if stdout is a terminal whose user wants bold letters."""
    environment = os.environ
    return sys.stdout.isatty() and not environment.get("NO_COLOR") and environment.get("TERM") != "dumb"


def factor(log_gain: float) -> str:
    """A log gain as a factor: ``1.25x``."""
    import math

    return f"{math.exp(log_gain):.2f}x"


def quantity(value: float, unit: str) -> str:
    """A number with its unit as people write it: ``32 GB``, ``0.5 %``, ``12 ms``."""
    if unit == "1":
        return f"{100 * value:g} %"
    scales = {"B": ((1e12, "TB"), (1e9, "GB"), (1e6, "MB")), "s": ((1.0, "s"), (1e-3, "ms"), (1e-6, "us"))}
    for scale, symbol in scales.get(unit, ()):
        if value >= scale:
            return f"{value / scale:.4g} {symbol}"
    return f"{figure(value)} {unit}"


def figure(value: float) -> str:
    """A number of four digits as people write it: ``0.01234``, ``12.34``, ``37,430``."""
    return f"{float(f'{value:.4g}'):,.0f}" if 1e3 <= abs(value) < 1e9 else f"{value:.4g}"
