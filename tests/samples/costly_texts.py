"""Texts on which a regular expression is likely to be slow, made from the expression itself."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from re import _parser as parser  # type: ignore[attr-defined]  # no public way to a parsed expression
from typing import Any

LETTERS = "a0 ._-=,:/\"'x\t\n(){}[]<>|*#%\\é中"
"""Characters that a repeat is tried with, where it takes them."""
TAILS = ("", "\x01", "\n\x01", "!")
"""Ends of a text on which the rest of an expression fails."""


@dataclass(frozen=True, slots=True)
class Shape:
    """A text of any length: a head, a unit many times, and a tail."""

    head: str
    unit: str
    tail: str

    def text(self, size: int) -> str:
        """The text of about ``size`` characters."""
        return self.head + self.unit * (size // len(self.unit)) + self.tail


def shapes(expression: str, flags: int) -> list[Shape]:
    """A few shapes for each repeat of an expression.

    Before a repeat stands what brings the expression there; then its content many times, with each
    character that it takes; or all of it many times.
    """
    made: dict[Shape, None] = {}
    for before, body in _repeats(list(parser.parse(expression, flags)), ""):
        for pumped in dict.fromkeys("".join(_sample(item, letter) for item in body) for letter in LETTERS):
            if pumped:
                for unit, head in ((pumped, before), (before + pumped, "")):
                    made |= dict.fromkeys(Shape(head, unit, tail) for tail in TAILS)
    return list(made)


def _repeats(items: list[Any], before: str) -> Iterator[tuple[str, list[Any]]]:
    """Yield each repeat: a text that leads to it, and its content."""
    for item in items:
        name, value = str(item[0]), item[1]
        match name:
            case "MAX_REPEAT" | "MIN_REPEAT" | "POSSESSIVE_REPEAT":
                _, most, body = value
                if int(most) > 1:
                    yield before, list(body)
                yield from _repeats(list(body), before)
            case "SUBPATTERN":
                yield from _repeats(list(value[3]), before)
            case "ATOMIC_GROUP":
                yield from _repeats(list(value), before)
            case "BRANCH":
                for branch in value[1]:
                    yield from _repeats(list(branch), before)
            case "ASSERT" | "ASSERT_NOT":
                yield from _repeats(list(value[1]), before)
            case _:
                pass
        before += _sample(item, "a")


def _sample(item: Any, letter: str) -> str:
    """A text that an item takes, of ``letter`` where it may be; empty for what takes none."""
    name, value = str(item[0]), item[1]
    match name:
        case "LITERAL":
            return chr(value)
        case "NOT_LITERAL":
            return letter if ord(letter) != value else "b"
        case "ANY":
            return letter if letter != "\n" else "b"
        case "IN":
            tried = (letter, *LETTERS, *map(chr, range(33, 127)))
            return next((char for char in tried if _takes(value, char)), "")
        case "MAX_REPEAT" | "MIN_REPEAT" | "POSSESSIVE_REPEAT":
            return "".join(_sample(inner, letter) for inner in value[2]) * max(1, int(value[0]))
        case "SUBPATTERN":
            return "".join(_sample(inner, letter) for inner in value[3])
        case "ATOMIC_GROUP":
            return "".join(_sample(inner, letter) for inner in value)
        case "BRANCH":
            found = ["".join(_sample(inner, letter) for inner in branch) for branch in value[1]]
            return next((text for text in found if letter in text), found[0])
        case _:
            return ""


def _takes(classes: list[Any], letter: str) -> bool:
    negated = str(classes[0][0]) == "NEGATE"
    found = False
    for name, value in classes:
        match str(name):
            case "LITERAL":
                found |= ord(letter) == value
            case "RANGE":
                found |= value[0] <= ord(letter) <= value[1]
            case "CATEGORY":
                kind = {"DIGIT": r"\d", "WORD": r"\w", "SPACE": r"\s"}[str(value).rsplit("_", 1)[1]]
                found |= bool(re.match(kind, letter)) != ("NOT" in str(value))
            case _:
                pass
    return found != negated
