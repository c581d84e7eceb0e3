"""Values of parameters and shapes, and the immutable mapping that holds them.

A digest is taken over canonical JSON, so it depends on content alone: not on key order, not on
whether a number was written ``16`` or ``16.0``.
"""

from __future__ import annotations

import hashlib
import json
import math
import sys
from collections.abc import Iterator, Mapping, Sequence
from itertools import accumulate
from typing import Any, TypeAlias

Value: TypeAlias = "bool | int | float | str | tuple[Value, ...] | None"

DIGEST_LENGTH = 24
"""Hexadecimal digits kept of a SHA-256: 96 bits, a collision chance of 1e-17 at a million problems."""


MOST_DIGITS = 18
"""Most digits of a whole number: 64 bits hold it."""
MOST_TOML = 20_000
"""Letters of a text in TOML: its reader takes a second for a key so long, four for one twice as long."""
MOST_DEPTH = 64
"""Objects and lists in each other; a choice."""
_ENCODER = json.JSONEncoder(sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)


def canonical_json(value: object) -> str:
    """Return compact JSON with sorted keys; equal values give equal text."""
    return _ENCODER.encode(value)


def digest(*parts: object) -> str:
    """Return a stable identifier of JSON-like ``parts``: the head of their SHA-256 in hexadecimal."""
    return hashlib.sha256(canonical_json(parts).encode()).hexdigest()[:DIGEST_LENGTH]


def load_json(text: str | bytes) -> Any:
    """Parse a text in JSON.

    Raises:
        ValueError: It is none, or nests deeper than it can be read.
    """
    try:
        return json.loads(text)
    except RecursionError:
        raise ValueError("nested too deep") from None


def load_toml(text: str) -> dict[str, Any]:
    """Parse a text in TOML.

    Raises:
        ValueError: It is none, nests deeper than it can be read, or is longer than any that is meant.
    """
    import tomllib  # only who has a file waits for it

    if len(text) > MOST_TOML:
        raise ValueError(f"longer than {MOST_TOML:,} letters")
    try:
        return tomllib.loads(text)
    except RecursionError:
        raise ValueError("nested too deep") from None


def parse_json(text: str) -> object:
    """The value of a text in JSON; the text itself where it is none, or nests deeper than any setting."""
    try:
        depths = accumulate((mark in "[{") - (mark in "]}") for mark in text if mark in "[]{}")
        return text if max(depths, default=0) > MOST_DEPTH else load_json(text)
    except ValueError:
        return text


NOTHING = digest({})
"""Identifier of settings without any, which most nouns have several of."""


def as_value(raw: object) -> Value:
    """Convert a JSON scalar or list to a value: lists become tuples, whole floats become integers.

    Raises:
        ValueError: A number that is not finite or has no float, or something JSON does not know.
    """
    if isinstance(raw, int) and abs(raw) > sys.float_info.max:
        raise ValueError(f"{'-' * (raw < 0)}inf is not a finite number")
    if raw is None or isinstance(raw, bool | str | int):
        return raw
    if isinstance(raw, float):
        if not math.isfinite(raw):
            raise ValueError(f"{raw} is not a finite number")
        return int(raw) if raw.is_integer() and abs(raw) < 2**53 else raw
    if isinstance(raw, Sequence):
        return tuple(as_value(item) for item in raw)
    raise ValueError(f"{type(raw).__name__} is not a value")


def as_integer(text: str) -> int:
    """Read the digits of an integer in JSON.

    Raises:
        ValueError: They are more than any that is meant has.
    """
    if len(text) > MOST_DIGITS:
        raise ValueError(f"a number of {len(text)} digits")
    return int(text)


def flatten(raw: Mapping[str, object], prefix: str = "") -> Iterator[tuple[str, Value]]:
    """Flatten nested JSON objects to dotted names: ``{"a": {"b": 1}}`` gives ``a.b``."""
    for name, item in raw.items():
        if isinstance(item, Mapping):
            yield from flatten(item, f"{prefix}{name}.")
        else:
            yield f"{prefix}{name}", as_value(item)


class Settings(Mapping[str, Value]):
    """An immutable, hashable mapping from names to values, ordered by name.

    Shapes, configurations and traits are all settings. Equality and hash go by content.

    Example:
        >>> settings = Settings({"tile": {"m": 128, "n": 64.0}})
        >>> dict(settings)
        {'tile.m': 128, 'tile.n': 64}
        >>> settings == Settings({"tile.n": 64, "tile.m": 128})
        True
    """

    __slots__ = ("_digest", "_values")

    def __init__(self, values: Mapping[str, object] | None = None) -> None:
        self._values: dict[str, Value] = dict(sorted(flatten(values or {})))
        self._digest: str | None = None if self._values else NOTHING

    def __getitem__(self, name: str) -> Value:
        return self._values[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    def __hash__(self) -> int:
        return hash(self.digest)

    def __eq__(self, other: object) -> bool:
        return self.digest == other.digest if isinstance(other, Settings) else NotImplemented

    def __repr__(self) -> str:
        return f"Settings({self._values!r})"

    def __str__(self) -> str:
        return ", ".join(f"{name}={show(value)}" for name, value in self._values.items())

    @property
    def digest(self) -> str:
        """Identifier of the content."""
        if self._digest is None:
            self._digest = digest(self._values)
        return self._digest

    def to_json(self) -> dict[str, object]:
        """Return the content as a JSON object."""
        return {name: _plain(value) for name, value in self._values.items()}

    def changed_from(self, other: Mapping[str, Value]) -> Settings:
        """Return the settings that ``other`` lacks or has with another value."""
        return Settings({k: v for k, v in self._values.items() if k not in other or other[k] != v})

    def numbers(self) -> Iterator[tuple[str, float]]:
        """Yield names and values of the numeric settings (no booleans); list items as ``name[0]``..."""
        for name, value in self._values.items():
            yield from _numbers(name, value)


def _numbers(name: str, value: Value) -> Iterator[tuple[str, float]]:
    if isinstance(value, tuple):
        for position, item in enumerate(value):
            yield from _numbers(f"{name}[{position}]", item)
    elif isinstance(value, int | float) and not isinstance(value, bool):
        yield name, float(value)


def _plain(value: Value) -> object:
    return [_plain(item) for item in value] if isinstance(value, tuple) else value


def show(value: Value) -> str:
    """Format a value as a person would write it on a command line."""
    match value:
        case None:
            return "none"
        case bool():
            return "true" if value else "false"
        case tuple():
            return "[" + ",".join(show(item) for item in value) + "]"
        case _:
            return str(value)
