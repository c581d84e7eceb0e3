"""YAML with the line of every value, read safely.

Aliases, tags of other languages, duplicate keys and files without measure are refused. The traps of YAML 1.1
become faults (``en: No`` is a truth value) or the intended value (``1e9`` is a number, a date is its text).
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum
from typing import TypeVar

import yaml

from kg.errors import Fault

E = TypeVar("E", bound="StrEnum")


MAXIMUM_CHARACTERS = 16 << 20
MAXIMUM_DEPTH = 20
LARGEST = 1e300
"""Beyond this (and infinity, and not a number) nothing is a fact."""

_LOADER: type[yaml.SafeLoader] = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_PREFIX = "tag:yaml.org,2002:"
_TEXT = {f"{_PREFIX}str", f"{_PREFIX}timestamp"}
_SCALARS = {f"{_PREFIX}{name}" for name in ("str", "int", "float", "bool", "null", "timestamp")}
_CONSTRUCTOR = yaml.constructor.SafeConstructor()


class Faults:
    """The faults of a file."""

    def __init__(self) -> None:
        self.all: list[Fault] = []

    def add(self, line: int, reason: str) -> None:
        """Note a fault on a line; lines count from 1."""
        self.all.append(Fault(place=f"line {line}", reason=reason))


class Entry:
    """A YAML mapping whose fields are read one by one, with a fault for each that is wrong.

    Attributes:
        line: Where it starts.
    """

    def __init__(self, node: yaml.Node, faults: Faults, what: str) -> None:
        self.line = _line(node)
        self._faults = faults
        self._what = what
        self._fields: dict[str, yaml.Node] = {}
        self._taken: set[str] = set()
        if not isinstance(node, yaml.MappingNode):
            faults.add(self.line, f"{what}: expected fields, found {_describe(node)}")
            return
        for key, item in node.value:
            if not isinstance(key, yaml.ScalarNode) or key.tag not in _SCALARS:
                faults.add(_line(key), f"{what}: a field name is plain text")
            elif key.value in self._fields:
                faults.add(_line(key), f"{what}: {key.value} is there twice")
            else:
                self._fields[key.value] = item

    def __contains__(self, name: str) -> bool:
        return name in self._fields

    def names(self) -> list[str]:
        """Names of all fields, in file order."""
        return list(self._fields)

    def fault(self, reason: str, name: str = "") -> None:
        """Note that a field, or the whole entry, is wrong."""
        node = self._fields.get(name)
        self._faults.add(self.line if node is None else _line(node), f"{self._what}: {reason}")

    def text(self, name: str, *, required: bool = False) -> str:
        """Text of a field; empty if it is not there."""
        node = self._take(name, required=required)
        return "" if node is None else self._text(node, name)

    def texts(self, name: str) -> tuple[str, ...]:
        """A list of texts; empty if it is not there."""
        return tuple(self._text(node, name) for node in self._items(name))

    def scalar(self, name: str, *, required: bool = False) -> bool | int | float | str | None:
        """A number, truth value or text; None if it is not there or null."""
        node = self._take(name, required=required)
        if node is None:
            return None
        if not isinstance(node, yaml.ScalarNode) or node.tag not in _SCALARS:
            self._faults.add(_line(node), f"{self._what}: {name} is {_describe(node)}, not a value")
            return None
        value = _scalar(node)
        if value is None and required:
            self._faults.add(_line(node), f"{self._what}: {name} is nothing; leave out what is unknown")
        return value

    def number(self, name: str) -> float:
        """A number that has to be there; 1 (with a fault) if it is not."""
        value = self.scalar(name, required=True)
        if isinstance(value, str):
            value = _meant(value)
        if isinstance(value, bool | str) or value is None or not abs(value) < LARGEST:
            if value is not None:
                self.fault(f"{name} is no number", name)
            return 1.0
        return float(value)

    def flag(self, name: str) -> bool:
        """A truth value; false if it is not there."""
        value = self.scalar(name)
        if value is not None and not isinstance(value, bool):
            self.fault(f"{name} is neither true nor false", name)
        return value is True

    def count(self, name: str) -> int | None:
        """A positive whole number; None if it is not there."""
        value = self.scalar(name)
        if value is None:
            return None
        if isinstance(value, bool) or not isinstance(value, int) or value < 1:
            self.fault(f"{name} is no positive whole number", name)
            return None
        return value

    def choice(self, name: str, choices: type[E], default: E) -> E:
        """One of the members of an enumeration; ``default`` (with a fault) if it is none of them."""
        value = self.text(name, required=True)
        try:
            return choices(value)
        except ValueError:
            if value:
                self.fault(f"{name} {value!r} is none of {', '.join(choices)}", name)
            return default

    def entry(self, name: str) -> Entry | None:
        """The mapping in a field; None if it is not there."""
        node = self._take(name, required=False)
        return None if node is None else Entry(node, self._faults, f"{self._what}.{name}")

    def entries(self, name: str) -> list[Entry]:
        """The mappings in a list; empty if it is not there."""
        return [Entry(node, self._faults, f"{self._what}.{name}") for node in self._items(name)]

    def one_or_more(self, name: str) -> list[Entry]:
        """The mapping in a field, or those in its list; empty if it is not there."""
        if isinstance(self._fields.get(name), yaml.SequenceNode):
            return self.entries(name)
        entry = self.entry(name)
        return [] if entry is None else [entry]

    def note_unread(self) -> None:
        """Note the fields that were not read: mistyped, or unknown to this version."""
        for name in self._fields:
            if name not in self._taken:
                self.fault(f"unknown field {name}", name)

    def rename(self, what: str) -> None:
        """Name the entry in the faults to come."""
        self._what = what

    def _take(self, name: str, *, required: bool) -> yaml.Node | None:
        self._taken.add(name)
        node = self._fields.get(name)
        if node is None and required:
            self._faults.add(self.line, f"{self._what}: {name} is missing")
        return node

    def _items(self, name: str) -> Iterable[yaml.Node]:
        node = self._take(name, required=False)
        if node is None:
            return []
        if not isinstance(node, yaml.SequenceNode):
            self._faults.add(_line(node), f"{self._what}: {name} is {_describe(node)}, not a list")
            return []
        return [item for item in node.value if isinstance(item, yaml.Node)]

    def _text(self, node: yaml.Node, name: str) -> str:
        if not isinstance(node, yaml.ScalarNode) or node.tag not in _SCALARS:
            self._faults.add(_line(node), f"{self._what}: {name} is {_describe(node)}, not text")
            return ""
        if node.tag not in _TEXT:
            self._faults.add(
                _line(node), f"{self._what}: {name} is {_describe(node)}; quote it to make it text"
            )
            return ""
        value = str(node.value).strip()
        if not value:
            self._faults.add(_line(node), f"{self._what}: {name} is empty; leave out what is unknown")
        return value


def parse(text: str, faults: Faults) -> Entry | None:
    """The top mapping of a YAML text; None, with faults, if it has none."""
    if len(text) > MAXIMUM_CHARACTERS:
        faults.add(1, f"longer than {MAXIMUM_CHARACTERS >> 20} Mi characters")
        return None
    try:
        if not _is_harmless(text, faults):
            return None
        node = yaml.compose(text, Loader=_LOADER)
    except yaml.MarkedYAMLError as fault:
        mark = fault.problem_mark or fault.context_mark
        faults.add(1 if mark is None else mark.line + 1, f"no YAML: {fault.problem or fault.context}")
        return None
    except (yaml.YAMLError, UnicodeEncodeError) as fault:
        faults.add(1, f"no YAML: {str(fault).splitlines()[0]}")
        return None
    if node is None:
        faults.add(1, "empty")
        return None
    return Entry(node, faults, "file")


def _is_harmless(text: str, faults: Faults) -> bool:
    """True if the parser's events, before anything is built from them, show nothing dangerous."""
    depth = 0
    for event in yaml.parse(text, Loader=_LOADER):
        reason = ""
        if isinstance(event, yaml.AliasEvent) or getattr(event, "anchor", None):
            reason = "anchors and aliases are not used here"
        elif isinstance(event, yaml.CollectionStartEvent):
            depth += 1
            if depth > MAXIMUM_DEPTH:
                reason = f"nested more than {MAXIMUM_DEPTH} deep"
        elif isinstance(event, yaml.CollectionEndEvent):
            depth -= 1
        if reason:
            mark = event.start_mark
            faults.add(1 if mark is None else mark.line + 1, reason)
            return False
    return True


def _scalar(node: yaml.ScalarNode) -> bool | int | float | str | None:
    if node.tag in _TEXT:
        return str(node.value)
    try:
        value = _CONSTRUCTOR.construct_object(node)
    except ValueError:  # an integer of thousands of digits, or one such as 0x
        return str(node.value)
    return value if isinstance(value, bool | int | float | str) else None


def _meant(text: str) -> float | str:
    """YAML 1.1 takes ``1e9`` for text."""
    try:
        return float(text)
    except ValueError:
        return text


def _line(node: yaml.Node) -> int:
    return int(node.start_mark.line) + 1


def _describe(node: yaml.Node) -> str:
    if isinstance(node, yaml.MappingNode):
        return "a mapping"
    if isinstance(node, yaml.SequenceNode):
        return "a list"
    names = {"int": "a number", "float": "a number", "bool": "a truth value", "null": "nothing"}
    return names.get(node.tag.removeprefix(_PREFIX), f"{node.value[:30]!r}")
