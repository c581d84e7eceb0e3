"""The lines of a log, those that differ in digits alone taken together: any length in little memory."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from ingest.files.content import Content, ContentError
from kg.errors import InputError

KEPT_LINES = 5
"""Numbers of lines that are kept one by one; the others are counted."""
MOST_SHAPES = 200_000
"""Kinds of lines that are held at once."""
MOST_LINE = 16_000
"""Characters of a line that are looked at."""
_DIGITS = b"0123456789abcdef"
"""Digits of numbers, addresses and ids."""
_COLOUR = re.compile(rb"\x1b\[[\d;?]*[A-Za-z]")

_HEAD = re.compile(rb"E(?:[A-Z1-4]\d{4}:|\d{4} \d\d:)")
"""A code of CANN with what ends it, and the head of an error of Google's logger."""
BATCH = 4096
"""Lines that are looked at together."""


@dataclass(slots=True)
class LogLine:
    """Lines of one kind.

    Attributes:
        head: The first as bytes.
        tail: The last as bytes.
        numbers: Numbers of the first ones, from 1.
        last_number: Number of the last.
        count: How many there are.
        has_head: Whether the first holds a code of CANN or begins as an error of Google's logger.
        code: The code that they tell; empty without.
        tells: Whether each of them is handed on.
        says_error: Whether the last tells of an error.
    """

    head: bytes
    tail: bytes
    numbers: tuple[int, ...] = ()
    last_number: int = 0
    count: int = 0
    has_head: bool = False
    code: str = ""
    tells: bool = False
    says_error: bool = False

    @property
    def first(self) -> str:
        """Text of the first."""
        return self.head.decode("utf-8", "replace")

    @property
    def last(self) -> str:
        """Text of the last."""
        return self.tail.decode("utf-8", "replace")


def places_of(text: bytes, words: Iterable[bytes]) -> Iterator[tuple[int, bytes]]:
    """Places of the lines of a text that hold words, once for each time that one stands there."""
    ends: list[int] = []
    for word in words:
        found = text.find(word)
        ends = ends or [end.start() for end in re.finditer(rb"\n", text)]
        while found >= 0:
            yield bisect_left(ends, found), word
            found = text.find(word, found + len(word))


def read_lines(
    path: Path,
    codes_in: Callable[[bytes], Mapping[int, str]],
    tells: Callable[[bytes], bool],
    take: Callable[[bytes], None],
) -> Iterator[list[LogLine]]:
    """The kinds of lines of a log, in the order of their first ones; in several lists where there are many.

    Args:
        path: The log, gzipped or not.
        codes_in: Finds the codes in lines, by their places: lines are of one kind only with the same.
        tells: Whether each line of a kind is handed to ``take``, by one of them.
        take: Takes a line.

    Raises:
        InputError: The log cannot be read, or nothing is in it.
    """
    held: dict[bytes, LogLine] = {}
    number = 0
    try:
        with Content(path) as content:
            lines = ((number, piece) for number, raw in content.lines() for piece in _pieces(raw or b""))
            while batch := list(islice(lines, BATCH)):
                text = b"\n".join([piece for _, piece in batch])
                codes = codes_in(text)
                heads = {text.count(b"\n", 0, head.start()) for head in _HEAD.finditer(text)}
                may_tell = tells(text)
                shapes = text.translate(None, _DIGITS).split(b"\n")
                for place, ((number, piece), shape) in enumerate(zip(batch, shapes, strict=True)):
                    code = codes.get(place, "")
                    key = b"%s\n%s" % (shape, code.encode()) if code else shape
                    kind = held.get(key)
                    if kind is None:
                        kind = held[key] = LogLine(piece, piece, has_head=place in heads, code=code)
                        kind.tells = may_tell and tells(piece)
                    if kind.tells:
                        take(piece)
                    if kind.count < KEPT_LINES:
                        kind.numbers += (number,)
                    kind.count += 1
                    kind.last_number = number
                    kind.tail = piece
                if len(held) >= MOST_SHAPES:
                    yield list(held.values())
                    held = {}
    except (OSError, ContentError) as fault:
        raise InputError(f"{path}: cannot be read ({fault})") from fault
    if not number:
        raise InputError(f"{path}: is empty", hint="name a log, or the folder of a profile")
    yield list(held.values())


def _pieces(line: bytes) -> tuple[bytes, ...]:
    """What a line shows: without colours, and of a line that is written over each state."""
    if b"\x1b" in line:
        line = _COLOUR.sub(b"", line)
    if b"\r" in line:
        return tuple(piece[:MOST_LINE] for piece in line.split(b"\r") if piece)
    return (line if len(line) <= MOST_LINE else line[:MOST_LINE],)
