"""The lines of a log, those that differ in digits alone taken together: any length in little memory."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
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

_CODE_WORDS = tuple(b"err Err ERR ret Ret RET ode esult tatus untime rt acl Acl ACL Xid".split())
"""Parts of words behind which a number may be a code."""
_CODE_NAME = re.compile(rb"[A-Z]\d{4}")
"""End of a code that is a name, as EI0006."""


@dataclass(slots=True)
class LogLine:
    """Lines of one kind.

    Attributes:
        head: The first as bytes.
        tail: The last as bytes.
        numbers: Numbers of the first ones, from 1.
        last_number: Number of the last.
        count: How many there are.
        has_code: Whether digits of such lines may be a code.
        tells: Whether each of them is handed on.
    """

    head: bytes
    tail: bytes
    numbers: list[int] = field(default_factory=list)
    last_number: int = 0
    count: int = 0
    has_code: bool = False
    tells: bool = False

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
    code_in: Callable[[bytes], str | None],
    tells: Callable[[bytes], bool],
    take: Callable[[bytes], None],
) -> Iterator[list[LogLine]]:
    """The kinds of lines of a log, in the order of their first ones; in several lists where there are many.

    Args:
        path: The log, gzipped or not.
        code_in: Finds the code in a line, which makes digits tell: lines are of one kind only with the same.
        tells: Whether each line of a kind is handed to ``take``, by one of them.
        take: Takes a line.

    Raises:
        InputError: The log cannot be read, or nothing is in it.
    """
    held: dict[bytes, LogLine] = {}
    number = 0
    try:
        with Content(path) as content:
            for number, raw in content.lines():
                for piece in _pieces(raw or b""):
                    shape = piece.translate(None, _DIGITS)
                    kind = held.get(shape)
                    if kind is None:
                        kind = held[shape] = LogLine(piece, piece)
                        kind.has_code = len(shape) < len(piece) and may_hold_code(piece)
                        kind.tells = tells(piece)
                    if kind.tells:
                        take(piece)
                    if kind.has_code and (found := code_in(piece)) is not None:
                        key = b"%s\n%s" % (shape, found.encode())  # no line holds its end
                        kind = held.setdefault(key, LogLine(piece, piece, has_code=True))
                    if kind.count < KEPT_LINES:
                        kind.numbers.append(number)
                        kind.head = kind.head if kind.count else piece
                    kind.count += 1
                    kind.last_number = number
                    kind.tail = piece
                if len(held) >= MOST_SHAPES:
                    yield _in_order(held)
                    held = {}
    except (OSError, ContentError) as fault:
        raise InputError(f"{path}: cannot be read ({fault})") from fault
    if not number:
        raise InputError(f"{path}: is empty", hint="name a log, or the folder of a profile")
    yield _in_order(held)


def may_hold_code(line: bytes) -> bool:
    """Whether digits of a line may be a code."""
    return any(map(line.__contains__, _CODE_WORDS)) or _CODE_NAME.search(line) is not None


def _in_order(held: dict[bytes, LogLine]) -> list[LogLine]:
    return sorted((kind for kind in held.values() if kind.count), key=lambda kind: kind.numbers[0])


def _pieces(line: bytes) -> tuple[bytes, ...]:
    """What a line shows: without colours, and of a line that is written over each state."""
    if b"\x1b" in line:
        line = _COLOUR.sub(b"", line)
    if b"\r" in line:
        return tuple(piece[:MOST_LINE] for piece in line.split(b"\r") if piece)
    return (line if len(line) <= MOST_LINE else line[:MOST_LINE],)
