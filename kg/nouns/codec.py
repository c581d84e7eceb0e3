"""Nouns as JSON and back, from their fields.

A field is written under its own name. Enumerations are written as their text, tuples as lists, times to the
second, nouns by their fields in turn. ``in_json`` says in a field's metadata what else holds for it::

    cost_s: float = field(default=0.0, metadata=in_json(digits=6))
    drift: str = field(default="", metadata=in_json(empty=Empty.NULL))
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import MISSING, dataclass, fields, is_dataclass
from datetime import datetime
from enum import Enum
from pathlib import Path
from types import NoneType, UnionType
from typing import Any, Self, TypeAlias, TypeVar, Union, get_args, get_origin, get_type_hints

from kg.errors import InputError
from kg.nouns.values import Settings

T = TypeVar("T")
Reader: TypeAlias = Callable[[Any], Any]

_FORM = "json"


class Empty(Enum):
    """Form in which an empty value is written: as it is, as null, or not at all."""

    PLAIN = "plain"
    NULL = "null"
    OMITTED = "omitted"


@dataclass(frozen=True, slots=True, kw_only=True)
class FieldForm:
    """The form of a field in JSON.

    Attributes:
        name: Its key; its own name if empty.
        digits: Decimal places of its numbers; None keeps all.
        empty: How an empty text or collection, or a number that is not finite, is written.
        write: Makes the JSON value where the rules do not; a whole value, None included.
        read: The inverse of ``write``.
        is_spread: Whether its members stand beside the other fields.
        is_hidden: Whether it is not written.
    """

    name: str = ""
    digits: int | None = None
    empty: Empty = Empty.PLAIN
    write: Callable[[Any], object] | None = None
    read: Reader | None = None
    is_spread: bool = False
    is_hidden: bool = False

    def encode(self, value: object) -> object:
        """A value as JSON; null where it is empty and not to be shown so."""
        if self.write is not None:
            return self.write(value)
        if self.empty is not Empty.PLAIN and _is_empty(value):
            return None
        if self.empty is Empty.OMITTED and value is False:
            return None
        return plain(value, self.digits)


_PLAIN = FieldForm()


def in_json(
    name: str = "",
    *,
    digits: int | None = None,
    empty: Empty = Empty.PLAIN,
    write: Callable[[Any], object] | None = None,
    read: Reader | None = None,
    is_spread: bool = False,
) -> Mapping[str, object]:
    """The metadata of a field with a form of its own; see :class:`FieldForm`."""
    form = FieldForm(name=name, digits=digits, empty=empty, write=write, read=read, is_spread=is_spread)
    return {_FORM: form}


NOT_IN_JSON: Mapping[str, object] = {_FORM: FieldForm(is_hidden=True)}
"""The metadata of a field that is not written."""
OR_NULL = in_json(empty=Empty.NULL)
"""The metadata of a field that is null where it is empty."""


class JsonNoun:
    """A dataclass that is written as JSON, and read from it, by its fields."""

    __slots__ = ()

    def to_json(self) -> dict[str, Any]:
        """Plain content."""
        return fields_json(self)

    @classmethod
    def from_json(cls, content: Mapping[str, Any]) -> Self:
        """The inverse of :meth:`to_json`; what has a default may be missing.

        Raises:
            InputError: Fields are missing, unknown, or of another type; all of them are named.
        """
        return noun_of(cls, content)


def fields_json(noun: object) -> dict[str, Any]:
    """The fields of a dataclass as JSON."""
    content: dict[str, Any] = {}
    for name, form in _forms(type(noun)):
        value = form.encode(getattr(noun, name))
        if form.is_spread and isinstance(value, dict):
            content |= value
        elif value is not None or form.empty is not Empty.OMITTED:
            content[form.name or name] = value
    return content


def noun_of(cls: type[T], content: Mapping[str, Any]) -> T:
    """The dataclass with the fields of a JSON object; what has a default may be missing.

    Raises:
        InputError: Fields are missing, unknown, or of another type; all of them are named.
    """
    if not isinstance(content, Mapping):
        raise InputError(f"{cls.__name__}: {content!r} is no object")
    readers = _readers(cls)
    faults = [f"unknown field {name!r}" for name in content if name not in readers]
    values: dict[str, Any] = {}
    for key, (name, reader, is_needed) in readers.items():
        if key not in content:
            faults += [f"field {key!r} is missing"] if is_needed else []
            continue
        try:
            values[name] = reader(content[key])
        except (TypeError, ValueError, KeyError) as fault:
            faults.append(f"field {key!r}: {fault}")
    if faults:
        raise InputError(f"{cls.__name__}: {'; '.join(faults)}")
    return cls(**values)


def plain(value: object, digits: int | None = None) -> Any:
    """A value as JSON.

    Args:
        value: A noun, or a value of one of its fields.
        digits: Decimal places of the numbers in it; None keeps all.

    Raises:
        TypeError: JSON has no form for it.
    """
    match value:
        case Enum():
            return str(value)
        case float():
            return value if digits is None else round(value, digits)
        case None | str() | int():
            return value
        case datetime():
            return value.isoformat(timespec="seconds")
        case Path():
            return str(value)
    to_json = getattr(value, "to_json", None)
    if to_json is not None:
        return to_json()
    match value:
        case Mapping():
            return {str(name): plain(item, digits) for name, item in value.items()}
        case tuple() | list():
            return [plain(item, digits) for item in value]
        case set() | frozenset():
            return sorted(plain(item) for item in value)
    if is_dataclass(value):
        return fields_json(value)
    raise TypeError(f"JSON has no form for {type(value).__name__}")


def _once_a_class(make: Callable[[type], T]) -> Callable[[type], T]:
    """A function of a class that remembers what it returned."""
    made: dict[type, T] = {}

    def remembered(cls: type) -> T:
        if cls not in made:
            made[cls] = make(cls)
        return made[cls]

    return remembered


@_once_a_class
def _forms(cls: type[Any]) -> list[tuple[str, FieldForm]]:
    """Name and form of each field that is written."""
    found = [(item.name, item.metadata.get(_FORM, _PLAIN)) for item in fields(cls) if item.init]
    return [(name, form) for name, form in found if not form.is_hidden]


@_once_a_class
def _readers(cls: type[Any]) -> dict[str, tuple[str, Reader, bool]]:
    """The field of each key, the reader of its value, and True if it is required."""
    hints, forms = get_type_hints(cls, localns={"Mapping": Mapping, "Sequence": Sequence}), dict(_forms(cls))
    return {
        form.name or item.name: (
            item.name,
            form.read or _reader(hints[item.name]),
            item.default is MISSING and item.default_factory is MISSING,
        )
        for item in fields(cls)
        if (form := forms.get(item.name)) is not None
    }


def four_digits(value: float | None) -> float | None:
    """A number with four significant digits; None for one without end, which JSON has no word for."""
    return None if value is None or not math.isfinite(value) else float(f"{value:.4g}")


def _reader(hint: Any) -> Reader:
    """The reader of values of a type."""
    origin, parts = get_origin(hint), get_args(hint)
    if hint is Any or hint is object:
        return lambda value: value
    if origin in {Union, UnionType}:
        some = [_reader(part) for part in parts if part is not NoneType]
        return lambda value: None if value is None and NoneType in parts else _first(some, value)
    if origin is tuple:
        return _tuple_reader(parts)
    if origin is Sequence:
        return _tuple_reader((*parts, ...))
    if origin is not None and issubclass(origin, Mapping):
        item = _reader(parts[1])
        return lambda value: {str(name): item(one) for name, one in _of(dict, value).items()}
    if issubclass(hint, Settings):
        return lambda value: hint(_of(dict, value))
    if hint is float:
        return lambda value: _of(int | float, value)
    if issubclass(hint, Enum | Path):
        return lambda value: hint(_of(str, value))
    if issubclass(hint, datetime | JsonNoun):
        reader: Reader = hint.fromisoformat if issubclass(hint, datetime) else hint.from_json
        return reader
    return lambda value: _of(hint, value)


def _tuple_reader(parts: tuple[Any, ...]) -> Reader:
    readers = [_reader(part) for part in parts if part is not ...]
    if parts[-1] is ...:
        return lambda value: tuple(readers[0](item) for item in _of(list | tuple, value))
    return lambda value: tuple(
        read(item) for read, item in zip(readers, _of(list | tuple, value), strict=True)
    )


def _first(readers: list[Reader], value: object) -> Any:
    """The value as the first type that takes it."""
    for reader in readers[:-1]:
        try:
            return reader(value)
        except (TypeError, ValueError):
            continue
    return readers[-1](value)


def _of(kind: Any, value: Any) -> Any:
    """A value that must be of a type; a truth value is no number."""
    if not isinstance(value, kind) or (isinstance(value, bool) and kind is not bool):
        expected = getattr(kind, "__name__", str(kind))
        raise TypeError(f"{value!r} is no {expected}")
    return value


def _is_empty(value: object) -> bool:
    """True if a value is empty: no text, no items, or a number that is not finite."""
    if isinstance(value, float):
        return not math.isfinite(value)
    return value is None or (not isinstance(value, bool | int) and hasattr(value, "__len__") and not value)
