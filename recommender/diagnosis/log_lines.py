"""The lines of a log, those that differ in digits alone taken together: any length in little memory.

Of a long log the first lines and the last are taken, and between them those that may tell something: lines in
which bytes of a known thing stand, and what goes on with an error.
"""

import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ingest.files.content import Content, ContentError
from kg.errors import InputError
from recommender.diagnosis.text_index import ends_of, rows_of

KEPT_LINES = 5
"""Numbers of lines that are kept one by one; the others are counted."""
MOST_SHAPES = 20_000
"""Kinds of lines that are held at once."""
MOST_LINE = 16_000
"""Characters of a line that are looked at."""
_DIGITS = b"0123456789abcdef"
"""Digits of numbers, addresses and ids."""
_COLOUR = re.compile(rb"\x1b\[[\d;?]*[A-Za-z]")

_HEAD = re.compile(rb"E(?:[A-Z1-4]\d{4}:|\d{4} \d\d:)")
"""A code of CANN with what ends it, and the head of an error of Google's logger."""
BLOCK = 1 << 20
"""Bytes that are looked at together, and at least how many at the end of a long log are looked at whole."""
MOST_WHOLE = 8 * BLOCK
"""Bytes at the begin of a log of which each line is taken."""
MOST_FURTHER = 6
"""Lines behind a message that may go on with it."""
SAYS_ERROR = re.compile(
    rb"Error\b(?=:|\s*$|\()|Exception\b(?=:|\s*$|\()|Interrupt\b(?=:|\s*$|\()|Fault\b(?=:|\s*$|\()|"
    rb"ERROR\b(?<!\wERROR)|CRITICAL\b(?<!\wCRITICAL)|FATAL\b(?<!\wFATAL)|error: (?<!\werror: )|"
    rb"fatal: (?<!\wfatal: )|E\d{4} \d\d:(?<!\wE\d{4} \d\d:)|panic:(?<!\wpanic:)|Failed\b(?<!\wFailed)|"
    rb"failed\b(?<!\wfailed)|Aborted\b(?<!\wAborted)|Segmentation fault|core dumped"
)
"""Error texts that programs write about themselves."""
BEGINS = re.compile(
    rb"\s*(?:\[|\(\w+ pid=|INFO|WARN|ERROR|DEBUG|\d{4}-\d\d|Traceback|File \"|\S+:\d+:\d+ \[)"
)
"""Beginnings of a log line that does not continue a message."""


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


def read_lines(
    path: Path,
    places: Callable[[bytes], NDArray[np.intp]],
    codes_in: Callable[[bytes], Mapping[int, str]],
    tells: Callable[[bytes], Collection[bytes]],
    take: Callable[[bytes], None],
) -> Iterator[list[LogLine]]:
    """The kinds of lines of a log, in the order of their first ones; in several lists where there are many.

    Args:
        path: The log, gzipped or not.
        places: Finds where something may stand in a text: of a long log other lines are passed over.
        codes_in: Finds the codes in lines, by their places: lines are of one kind only with the same.
        tells: Marks in a text: each line of a kind that has one is handed to ``take``.
        take: Takes a line.

    Raises:
        InputError: The log cannot be read, or nothing is in it.
    """
    held: dict[bytes, LogLine] = {}
    number, read = 1, 0
    try:
        with Content(path) as content:
            for block, is_last in _blocks(content.chunks()):
                numbers, text = _shown(number, block)
                number += block.count(b"\n")
                if read > MOST_WHOLE and not is_last:
                    numbers, pieces = _telling(numbers, text, places)
                else:
                    pieces = [piece[:MOST_LINE] for piece in text.split(b"\n")]
                read += len(block)
                if pieces:
                    _group(held, numbers, pieces, codes_in, tells, take)
                if len(held) >= MOST_SHAPES or read - len(block) <= MOST_WHOLE < read:
                    yield list(held.values())
                    held = {}
    except (OSError, ContentError) as fault:
        raise InputError(f"{path}: cannot be read ({fault})") from fault
    if not read:
        raise InputError(f"{path}: is empty", hint="name a log, or the folder of a profile")
    yield list(held.values())


def _blocks(chunks: Iterable[bytes]) -> Iterator[tuple[bytes, bool]]:
    """Blocks of whole lines, and whether it is the last; of a line without end what is looked at of it."""
    held: list[bytes] = []
    for chunk in chunks:
        held.append(chunk)
        if sum(map(len, held)) >= 2 * BLOCK:
            text = b"".join(held)
            end = max(text.rfind(b"\n", 0, BLOCK), text.rfind(b"\r", 0, BLOCK)) + 1
            end = end or text.find(b"\n") + 1
            held = [text[end:] if end else text[:MOST_LINE]]
            if end:
                yield text[:end], False
    if text := b"".join(held):
        yield text, True


def _shown(first: int, block: bytes) -> tuple[Sequence[int], bytes]:
    """Numbers and visible text of lines: without colours, and with each state of one that is overwritten."""
    text = block.replace(b"\r\n", b"\n") if b"\r" in block else block
    text = (_COLOUR.sub(b"", text) if b"\x1b" in text else text).removesuffix(b"\n")
    if b"\r" not in text:
        return range(first, first + text.count(b"\n") + 1), text
    lines = enumerate(text.split(b"\n"), first)
    shown = [(number, piece) for number, line in lines for piece in line.split(b"\r") if piece or not line]
    return [number for number, _ in shown] or [first], b"\n".join(piece for _, piece in shown)


def _telling(
    numbers: Sequence[int], text: bytes, places: Callable[[bytes], NDArray[np.intp]]
) -> tuple[list[int], list[bytes]]:
    """Lines of a text that may tell something, and those that go on with an error, with their numbers."""
    heads = [head.start() for head in _HEAD.finditer(text)]
    rows = sorted({*rows_of(text, places(text)), *rows_of(text, np.array(heads, np.intp))})
    ends = [*ends_of(text).tolist(), len(text)]
    kept: dict[int, bytes] = {}
    for row in rows:
        begin = ends[row - 1] + 1 if row else 0
        kept[row] = piece = text[begin : min(ends[row], begin + MOST_LINE)]
        if SAYS_ERROR.search(piece):
            for place in range(row + 1, min(row + 1 + MOST_FURTHER, len(ends))):
                further = text[ends[place - 1] + 1 : ends[place]][:MOST_LINE]
                if BEGINS.match(further):
                    break
                kept[place] = further
    return [numbers[row] for row in sorted(kept)], [kept[row] for row in sorted(kept)]


def _group(
    held: dict[bytes, LogLine],
    numbers: Sequence[int],
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
