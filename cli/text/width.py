"""The width of text: columns that characters take, and lines broken between words to fit."""

import re
import shutil
import unicodedata
from collections.abc import Iterator, Mapping
from typing import TextIO

PIPE_WIDTH = 80
"""Columns of text that goes into a file or a pipe."""

LEAST_WIDTH = 40
"""Columns below which nothing is broken any further."""

_LABEL = re.compile(r"\s*\S{1,14}(?: \S{1,12})?  +(?=\S)")
_SIGNS = ("，", "、", "；", "：", "。", "）")
"""Signs that a line may be broken behind, whatever follows."""
_DEEPEST = 18
"""Columns that the lines below a labelled one are set in at most."""


def line_width(stream: TextIO, environment: Mapping[str, str]) -> int:
    """Columns of a stream: ``COLUMNS``, else the terminal's, else those of a pipe."""
    stated = environment.get("COLUMNS", "")
    if stated.isdigit() and int(stated):
        return max(LEAST_WIDTH, int(stated))
    return max(LEAST_WIDTH, shutil.get_terminal_size().columns) if stream.isatty() else PIPE_WIDTH


def columns_of(text: str) -> int:
    """Columns that a text takes: two for each wide character of East Asia."""
    return len(text) if text.isascii() else sum(map(_columns, text))


def _columns(letter: str) -> int:
    if unicodedata.combining(letter):
        return 0
    return 2 if unicodedata.east_asian_width(letter) in "WF" else 1


def wrapped(line: str, width: int) -> Iterator[str]:
    """A line as lines that fit, later ones set in; no word, path or address is broken.

    Below a line that begins with a label, as ``gain        1.02x``, they stand where its text begins.
    """
    if columns_of(line) <= width:
        yield line
        return
    lead = line[: len(line) - len(line.lstrip())]
    label = _LABEL.match(line)
    if line.lstrip().startswith("# "):
        below = f"{lead}# "
    elif label is not None and columns_of(label[0]) <= _DEEPEST:
        below = " " * columns_of(label[0])
    else:
        below = f"{lead}  "
    yield from broken(line, width, below, start=len(label[0]) if label is not None else len(lead))


def broken(line: str, width: int, below: str = "", *, start: int = 0) -> Iterator[str]:
    """A line broken between words and wide characters.

    Args:
        line: The line.
        width: Columns that each part may take.
        below: What later parts begin with.
        start: Letters at the beginning that stay together.
    """
    held, is_empty = line[:start], True
    for piece in _pieces(line[start:]):
        if not is_empty and columns_of(held) + columns_of(piece.rstrip()) > width:
            yield held.rstrip()
            held = below + piece.lstrip()
        else:
            held += piece
        is_empty = False
    yield held.rstrip()


def _pieces(text: str) -> Iterator[str]:
    """Pieces that a line may be broken between: words with the space before them, and wide characters."""
    for word in re.findall(r"(?<!\s)\s*+\S+", text):
        if word.isascii():
            yield word
            continue
        piece = ""
        for letter in word:
            may_break = _columns(letter) == 2 or piece.endswith(_SIGNS)
            if piece.strip() and may_break and not _stays(letter):
                yield piece
                piece = ""
            piece += letter
        yield piece


def _stays(letter: str) -> bool:
    """True if a sign stays with the text before it."""
    return unicodedata.category(letter).startswith("P") and letter not in "（《「『“"
