"""Values that people write as text on the command line: pairs, shares, limits and spans of time."""

import json
import math
import re
from collections.abc import Iterable

from kg.errors import InputError
from kg.nouns.values import as_integer

_SPAN = re.compile(r"\s*+(\d+(?:\.\d+)?)\s*+(ms|s|sec|min|m|h|hours?|d)?\s*+", re.IGNORECASE)
_SECONDS = {
    "ms": 1e-3, "s": 1, "sec": 1, "m": 60, "min": 60, "h": 3600, "hour": 3600, "hours": 3600, "d": 86400
}  # fmt: skip


def value_of(text: str) -> object:
    """The value that a person means by ``text``: a JSON scalar or list where it is one, else the text."""
    try:
        return json.loads(text, parse_int=as_integer)
    except (ValueError, RecursionError):  # the latter of brackets by the thousand
        return text


def pairs(
    option: str, texts: Iterable[str] | None, *, bare: bool = False, as_text: bool = False
) -> dict[str, object]:
    """``name=value`` texts as a mapping; several may share one text, separated by commas.

    Args:
        option: Name of the option, for the error.
        texts: As given on the command line.
        bare: Whether a name may stand alone; its value is then None.
        as_text: Keep values as they stand: version 2.10 is not the number 2.1.

    Raises:
        InputError: A text has no ``=``, or an empty name.
    """
    values: dict[str, object] = {}
    for text in texts or ():
        for piece in _split(text):
            name, equals, value = piece.partition("=")
            if not name.strip() or not (equals or bare):
                raise InputError(f"{option} {piece!r}: expected name=value")
            value = value.strip()
            values[name.strip()] = None if not equals else value if as_text else value_of(value)
    return values


def axes(option: str, texts: Iterable[str] | None) -> dict[str, list[object]]:
    """``name=1,2,4`` texts as the values of each name.

    Raises:
        InputError: A text has no ``=``, an empty name, or no value.
    """
    values = {
        name: [value_of(part.strip()) for part in str(text).split(",") if part.strip()]
        for name, text in pairs(option, texts, as_text=True).items()
    }
    if empty := [name for name, found in values.items() if not found]:
        raise InputError(f"{option} {empty[0]}=: expected at least one value")
    return values


def _split(text: str) -> list[str]:
    """Split at commas that are outside brackets and quotes, and that begin another ``name=``."""
    pieces, depth, start = [], 0, 0
    for position, letter in enumerate(text):
        if letter in "[({":
            depth += 1
        elif letter in "])}":
            depth -= 1
        elif letter == "," and depth == 0 and "=" in text[position + 1 :].partition(",")[0]:
            pieces.append(text[start:position])
            start = position + 1
    return [*pieces, text[start:]]


def share(option: str, text: str) -> float:
    """A share as a number: ``3%``, ``3 %`` and ``0.03`` are 0.03.

    Raises:
        InputError: It is none, or below zero.
    """
    from kg.terms.units import share_of

    try:
        value = share_of(text)
    except ValueError:
        value = -1.0
    if not 0 <= value < math.inf:
        raise InputError(f"{option} {text!r} is no share", hint="3% or 0.03")
    return value


def limits(stated: object) -> list[object]:
    """The limits of a file as a list of texts, whether it has a list or names and bounds.

    Raises:
        InputError: It has neither.
    """
    if isinstance(stated, dict):
        return [f"{metric}<={value}" for metric, value in stated.items()]
    if not isinstance(stated, list | None):
        raise InputError(f"limits: expected a list such as ['peak_memory<=32GB'], not {stated!r}")
    return list(stated or ())


def span_s(text: str) -> float:
    """A span of time in seconds, from text such as ``90``, ``30min`` or ``1.5h``.

    Raises:
        InputError: It is none.
    """
    match = _SPAN.fullmatch(text)
    if match is None or not float(match.group(1)) > 0:
        raise InputError(f"{text!r} is no time", hint="such as 90s, 30min or 1h")
    return float(match.group(1)) * _SECONDS[(match.group(2) or "s").lower()]
