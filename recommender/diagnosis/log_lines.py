"""The lines of a log, those that differ in digits alone taken together: any length in little memory."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import accumulate, islice
from pathlib import Path

from ingest.files.content import Content, ContentError
from kg.errors import InputError

KEPT_LINES = 5
"""Numbers of lines that are kept one by one; the others are counted."""
MOST_SHAPES = 50_000
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
        is_kept: Whether it is known to tell something, in a log without end.
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
    is_kept: bool = False

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
    tells: Callable[[bytes], Collection[bytes]],
    take: Callable[[bytes], None],
) -> Iterator[list[LogLine]]:
    """The kinds of lines of a log, in the order of their first ones; in several lists where there are many.

    Args:
        path: The log, gzipped or not.
        codes_in: Finds the codes in lines, by their places: lines are of one kind only with the same.
        tells: Marks in a text: each line of a kind that has one is handed to ``take``.
        take: Takes a line.

    Raises:
        InputError: The log cannot be read, or nothing is in it.
    """
    held: dict[bytes, LogLine] = {}
    last = 0
    try:
        with Content(path) as content:
            lines = content.lines()
            while batch := list(islice(lines, BATCH)):
                last = batch[-1][0]
                numbers, pieces = _shown(batch)
                if pieces:
                    _group(held, numbers, pieces, codes_in, tells, take)
                if len(held) >= MOST_SHAPES:
                    yield list(held.values())
                    held = {}
    except (OSError, ContentError) as fault:
        raise InputError(f"{path}: cannot be read ({fault})") from fault
    if not last:
        raise InputError(f"{path}: is empty", hint="name a log, or the folder of a profile")
    yield list(held.values())


def _shown(batch: list[tuple[int, bytes | None]]) -> tuple[list[int], list[bytes]]:
    """Numbers and content of what lines show."""
    numbers, pieces = [number for number, _ in batch], [raw or b"" for _, raw in batch]
    odd = [
        place
        for place, piece in enumerate(pieces)
        if b"\r" in piece or b"\x1b" in piece or len(piece) > MOST_LINE
    ]
    for place in reversed(odd):
        shown = _pieces(pieces[place])
        pieces[place : place + 1] = shown
        numbers[place : place + 1] = [numbers[place]] * len(shown)
    return numbers, pieces


def _group(
    held: dict[bytes, LogLine],
    numbers: list[int],
    pieces: list[bytes],
    codes_in: Callable[[bytes], Mapping[int, str]],
    tells: Callable[[bytes], Collection[bytes]],
    take: Callable[[bytes], None],
) -> None:
    """Take lines to those of their kinds; what is done for each line alone is done by dictionaries."""
    text = b"\n".join(pieces)
    codes = codes_in(text)
    ends = list(accumulate(len(piece) + 1 for piece in pieces))
    heads = {bisect_right(ends, head.start()) for head in _HEAD.finditer(text)}
    marks = tells(text)
    shapes = text.translate(None, _DIGITS).split(b"\n")
    for place, code in codes.items():
        shapes[place] = b"%s\n%s" % (shapes[place], code.encode())
    every = range(len(shapes))
    first, final = (
        dict(zip(reversed(shapes), reversed(every), strict=True)),
        dict(zip(shapes, every, strict=True)),
    )
    telling: set[bytes] = set()
    for shape, count in Counter(shapes).items():
        place = first[shape]
        kind = held.get(shape)
        if kind is None:
            piece = pieces[place]
            kind = LogLine(piece, piece, has_head=place in heads, code=codes.get(place, ""))
            kind.tells = any(mark in piece for mark in marks)
            held[shape] = kind
        if kind.tells:
            telling.add(shape)
        if (missing := KEPT_LINES - kind.count) > 0:
            places = [place]
            while len(places) < min(count, missing):
                places.append(shapes.index(shape, places[-1] + 1))
            kind.numbers += tuple(numbers[place] for place in places)
        kind.count += count
        kind.last_number = numbers[final[shape]]
        kind.tail = pieces[final[shape]]
    if telling:
        for shape, piece in zip(shapes, pieces, strict=True):
            if shape in telling:
                take(piece)


def _pieces(line: bytes) -> tuple[bytes, ...]:
    """The visible text of a line: without colours, and with each state of a line that is overwritten."""
    if b"\x1b" in line:
        line = _COLOUR.sub(b"", line)
    if b"\r" in line:
        return tuple(piece[:MOST_LINE] for piece in line.split(b"\r") if piece)
    return (line if len(line) <= MOST_LINE else line[:MOST_LINE],)
