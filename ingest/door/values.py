"""Values of parameters and shapes, from the forms that files give them."""

import json
import re
from collections.abc import Mapping
from typing import TypeAlias

from kg.hidden_text import HIDDEN
from kg.nouns.values import Settings

JsonObject: TypeAlias = Mapping[str, object]

MAXIMUM_DEPTH = 8
"""Nesting beyond which a record is taken for an attack, not for a shape."""

_NUMBER = re.compile(r"-?(0|[1-9]\d{0,17})(\.\d+)?([eE][+-]?\d{1,3})?")
_WORDS: dict[str, bool | None] = {
    "True": True,
    "true": True,
    "False": False,
    "false": False,
    "None": None,
    "null": None,
}


def parse_value(raw: object) -> object:
    """The number or Python constant that a text writes; other values as they are.

    Raises:
        ValueError: An integer that no parameter has (63 bits hold all that do).
    """
    if isinstance(raw, str):
        if raw in _WORDS:
            return _WORDS[raw]
        if (match := _NUMBER.fullmatch(raw)) is not None:
            return float(raw) if match[2] or match[3] else int(raw)
        return raw
    if isinstance(raw, Mapping):
        return {name: parse_value(item) for name, item in raw.items()}
    if isinstance(raw, list | tuple):
        return [parse_value(item) if not isinstance(item, str) else item for item in raw]
    if isinstance(raw, int) and not -(2**63) <= raw < 2**63:
        raise ValueError("an integer of more than 63 bits")
    return raw


def settings(raw: JsonObject, *, keep_null: bool) -> Settings:
    """A JSON object as settings, its values typed.

    Args:
        raw: Content of the file.
        keep_null: Whether null is a value (a parameter left unset) or means that there is none.

    Raises:
        ValueError: A value that is none: not finite, too large, no JSON.
    """
    values = Settings({str(name): parse_value(item) for name, item in raw.items()})
    if keep_null or None not in values.values():
        return values
    return Settings({name: item for name, item in values.items() if item is not None})


def check_storable(raw: object) -> None:
    """Refuse values that cannot be stored: deep nesting, types that JSON lacks, text that UTF-8 cannot write.

    Text with hidden characters is refused too: a terminal takes some for orders.

    Raises:
        ValueError: It is one of these.
    """
    _check_depth(raw, MAXIMUM_DEPTH)
    try:
        text = json.dumps(raw, ensure_ascii=False)
    except TypeError as fault:
        raise ValueError(str(fault)) from fault
    is_doubtful = not text.isascii() or any(mark in text for mark in ("\\u", "\\b", "\\f", "\\r", "\x7f"))
    if is_doubtful and (found := _control(raw)):
        raise ValueError(f"text with the control character U+{ord(found):04X}")


def check_names(raw: JsonObject, *free: str) -> None:
    """Refuse line ends in names: one line of output could be read as two.

    Args:
        raw: Keys and texts that are names.
        free: Keys whose texts may have several lines.

    Raises:
        ValueError: A key or a text has a line end.
    """
    for name, item in raw.items():
        for text in (name, *(item if isinstance(item, list | tuple) else [item])):
            if isinstance(text, str) and (name not in free) and ("\n" in text or "\r" in text):
                raise ValueError(f"{text!r}: a name with a line end")


def _control(raw: object) -> str:
    """The first control character in any text of a value; empty if there is none."""
    if isinstance(raw, str):
        found = HIDDEN.search(raw)
        return found[0] if found else ""
    if isinstance(raw, Mapping):
        return next((mark for pair in raw.items() for item in pair if (mark := _control(item))), "")
    if isinstance(raw, list | tuple):
        return next((mark for item in raw if (mark := _control(item))), "")
    return ""


def _check_depth(raw: object, left: int) -> None:
    if isinstance(raw, Mapping | list | tuple):
        if left == 0:
            raise ValueError(f"nested more than {MAXIMUM_DEPTH} deep")
        for item in raw.values() if isinstance(raw, Mapping) else raw:
            _check_depth(item, left - 1)


def json_kind(raw: object) -> str:
    """The kind of a JSON value, for messages."""
    names = {list: "a list", str: "text", bool: "true or false", type(None): "null"}
    return names.get(type(raw), "a number")
