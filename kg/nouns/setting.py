"""One setting of a program: how it is written, what it takes, and in which releases."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from enum import StrEnum

from kg.nouns.release import release_key
from kg.nouns.values import Value


class SettingPlace(StrEnum):
    """The place where a setting is written."""

    FLAG = "flag"
    ENV = "env"
    JSON = "json"
    """A field of a JSON object that is the value of a flag; the path begins with the flag's name."""
    YAML = "yaml"
    CODE = "code"


VALUE_TYPES = ("bool", "int", "float", "str", "list", "object", "any")
"""Types of values; ``any`` where the program does not say, ``object`` for a JSON object."""

PLAIN, OF_MODEL = "plain decoder", frozenset({"plain decoder", "text writer"})
"""Conditions of a case on the model: to write text by attention alone, or at all."""
_TRUE = frozenset({"true", "1", "yes", "on", "y", "t"})
_FALSE = frozenset({"false", "0", "no", "off", "n", "f"})
_NONE = frozenset({"none", "null", ""})


@dataclass(frozen=True, slots=True, kw_only=True)
class SettingDefault:
    """The default of a setting from one release on.

    Attributes:
        release: First release with it.
        value: The value; None where the program leaves it unset, or computes it.
        computed: The program works it out from other things, so there is no one value.
    """

    release: str
    value: Value = None
    computed: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ResolvedCase:
    """Value that a program puts in the place of a setting left open, under a condition.

    Attributes:
        when: Terms that must hold, joined by ``and``; empty where it always holds.
        value: The value; meaningless where it is computed.
        computed: It depends on what the sources alone do not say.
        bound: ``"most"`` or ``"least"`` where something computed may still lower or raise it.
    """

    when: str = ""
    value: Value = None
    computed: bool = False
    bound: str = ""

    @property
    def is_usual(self) -> bool:
        """True if it holds for a server of any text model, whatever the device."""
        return self.when in {"", *OF_MODEL}

    @property
    def is_told(self) -> bool:
        """True if it depends on another setting, or on a server without a device."""
        return "platform == cpu" in self.when or self.when.removeprefix("not ").startswith("-")

    def __str__(self) -> str:
        value = "computed" if self.computed else f"{f'at {self.bound} ' if self.bound else ''}{self.value}"
        return f"{value} if {self.when}" if self.when else value


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """One setting of a program, over its releases.

    Attributes:
        software: Program that reads it, such as ``"vllm-ascend"``.
        key: As it is written: ``"--max-model-len"``, ``"HCCL_BUFFSIZE"``, or the path of a field with dots.
        place: Where it is written.
        carrier: Flag or file that a field stands in, such as ``"--compilation-config"``; else empty.
        aliases: Other spellings that the program takes.
        negation: Flag that switches it off, such as ``"--no-enable-prefix-caching"``; empty if there is none.
        type: One of ``VALUE_TYPES``, in the newest release that has it.
        choices: Values it takes, in that release; empty means that the type alone limits it.
        low: Smallest value; None where the program states none.
        high: Largest value.
        unit: Unit of the value where it is known, such as ``"MB"`` or ``"token"``.
        defaults: Defaults by release, oldest first; empty where the program states none.
        resolved: What the program puts in place of the default, by release, oldest first; of its cases the
            first that holds.
        since: First release with it; None if it was there in the oldest release that was read.
        removed: First release without it; None while it is there.
        absent: Releases between the first and the last with it that lack it.
        replaced_by: Key of what took its place; empty if nothing is known of that.
        open: Takes any keys beneath it, which the program passes on unchecked.
        conflicts: Conditions over settings under which the program refuses to start, each as one expression.
        source: Address of the line that defines it in the newest release that has it.
        before: The setting as it was before a release, oldest first, where it took other values then.
    """

    software: str
    key: str
    place: SettingPlace
    carrier: str = ""
    aliases: tuple[str, ...] = ()
    negation: str = ""
    type: str = "any"
    choices: tuple[Value, ...] = ()
    low: float | None = None
    high: float | None = None
    unit: str = ""
    defaults: tuple[SettingDefault, ...] = ()
    resolved: tuple[tuple[str, tuple[ResolvedCase, ...]], ...] = ()
    since: str | None = None
    removed: str | None = None
    absent: tuple[str, ...] = ()
    replaced_by: str = ""
    open: bool = False
    conflicts: tuple[str, ...] = ()
    source: str = ""
    before: tuple[tuple[str, Setting], ...] = ()

    def __post_init__(self) -> None:
        """Refuse what no program can have: an unknown type, or an end before the beginning."""
        if self.type not in VALUE_TYPES:
            raise ValueError(f"{self.key}: no type {self.type!r}")
        if self.since and self.removed and release_key(self.removed) <= release_key(self.since):
            raise ValueError(f"{self.key}: removed in {self.removed}, before it came in {self.since}")

    def in_release(self, release: str) -> bool:
        """True if the setting exists in a release."""
        key = release_key(release)
        if release in self.absent or (self.since and key < release_key(self.since)):
            return False
        return self.removed is None or key < release_key(self.removed)

    def as_in(self, release: str) -> Setting:
        """The setting as it was in a release, with the values that it took then."""
        key = release_key(release)
        return next((item for end, item in self.before if key < release_key(end)), self)

    def default_in(self, release: str) -> SettingDefault | None:
        """The default in a release; None where the program states none.

        Where it states nothing but that it is unset, what it puts in its place, if no device decides that.
        """
        key = release_key(release)
        earlier = [item for item in self.defaults if release_key(item.release) <= key]
        stated = earlier[-1] if earlier else None
        if stated is None or stated.computed or stated.value is not None:
            return stated
        for case in self.resolved_in(release):
            if case.is_usual:
                return stated if case.computed or case.bound else replace(stated, value=case.value)
            if not case.is_told:
                break
        return stated

    def resolved_in(self, release: str) -> tuple[ResolvedCase, ...]:
        """Values that the program puts in place of the default in a release; empty where it keeps it."""
        key = release_key(release)
        earlier = [cases for first, cases in self.resolved if release_key(first) <= key]
        return earlier[-1] if earlier else ()

    def default_text(self, release: str) -> str:
        """The default in a release, in words; empty where the program states none."""
        default = self.default_in(release)
        if default is None:
            return ""
        return "computed" if default.computed else str(default.value)

    @property
    def takes(self) -> str:
        """The type and the limits in few words."""
        if self.choices:
            return ", ".join(str(item) for item in self.choices)
        low, high = (f"{bound:g}" if bound is not None else "" for bound in (self.low, self.high))
        limits = f" {low}..{high}" if low or high else ""
        return f"{self.type}{limits} {self.unit}".strip()

    def accepts(self, value: Value) -> bool:
        """True if a value, or the text of one, has the right type, is a choice and lies in the range."""
        typed = read_value(value, self.type)
        if typed is None and self.type == "int" and self.place is SettingPlace.JSON:
            typed = read_value(value, "bool")  # JSON's true counts as 1 where a program wants a number
        if typed is None and self.type == "list" and self.place is SettingPlace.YAML:
            typed = _bare_items(value)
        if typed is None:
            return _is_none(value)
        if self.choices:
            allowed = {_text(item) for item in self.choices}
            several = typed if isinstance(typed, tuple) else (typed,)
            words = _text(value).split() if isinstance(value, str) else []
            return all(_text(item) in allowed for item in several) or (
                bool(words) and all(word in allowed for word in words)
            )
        if isinstance(typed, int | float) and not isinstance(typed, bool):
            return (self.low is None or typed >= self.low) and (self.high is None or typed <= self.high)
        return True

    def is_default(self, value: Value, release: str) -> bool:
        """True if a value is the default in a release."""
        default = self.default_in(release)
        if default is None or default.computed:
            return False
        if default.value is None:
            return _is_none(value)
        return same_value(value, default.value, self.type)


def same_value(one: Value, other: Value, kind: str) -> bool:
    """True if two values, or the texts of them, are the same as a type reads them."""
    typed = read_value(one, kind)
    return typed is not None and _text(typed) == _text(read_value(other, kind))


def read_value(value: Value, kind: str) -> Value:
    """A value, or the text of one, as a type; None where it cannot be one."""
    text = _text(value).strip()
    if kind in {"str", "any"}:
        return value
    if kind == "bool":
        low = text.lower()
        return True if low in _TRUE else False if low in _FALSE else None
    if kind in {"int", "float"}:
        return _number(text, whole=kind == "int")
    if kind == "list":
        return _items(value)
    return value if text.startswith("{") or not isinstance(value, str) else None


def _number(text: str, *, whole: bool) -> Value:
    scale = {"k": 1_000, "m": 1_000_000, "g": 1_000_000_000}.get(text[-1:].lower(), 0)
    try:
        number = float(text[:-1]) * scale if scale else float(text)
    except ValueError:
        return None
    if number.is_integer():
        return int(number)
    return None if whole else number


def _items(value: Value) -> Value:
    if isinstance(value, tuple):
        return value
    text = _text(value).strip()
    if text.startswith("["):
        try:
            return tuple(json.loads(text))
        except ValueError:
            return None
    return tuple(part for part in text.replace(",", " ").split() if part) or None


def _bare_items(value: Value) -> Value:
    """The items of a list whose words have no quotes, as YAML and Hydra write one; None for another text."""
    text = _text(value).strip()
    if not (text.startswith("[") and text.endswith("]")) or set(text[1:-1]) & set("[]{}"):
        return None
    return tuple(part for item in text[1:-1].split(",") if (part := item.strip().strip("'\"")))


def _text(value: Value) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value)


def _is_none(value: Value) -> bool:
    return _text(value).strip().lower() in _NONE
