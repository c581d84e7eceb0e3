"""Options of a command: names to values, and values that are unknown."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from ingest.door.values import parse_value
from ingest.questions.launches.shell import UNKNOWN, readable

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence

    from kg.nouns.values import Value

_ARGUMENTS = re.compile(r"\0\$\{?\w*(ARGS?|OPTS?|OPTIONS|PARAMS|ARGUMENTS)(\[[@*]\])?\}?\0", re.IGNORECASE)
"""A variable that is not set in the script, and by its name holds options."""

_OPTION = re.compile(r"--?[A-Za-z]")
_NEGATIVE = re.compile(r"-?\d")


@dataclass(slots=True)
class LaunchOptions:
    """Options of a command, by their names without dashes in front and with ``_`` for ``-``.

    Attributes:
        values: What each is set to; a flag is true. Several values are one text.
        unknown: Options whose value could not be filled in, and the text in its place.
        others: Words that belong to no option.
        unseen: Variables that hold options and are not set in the script.
        places: Where a field of a JSON object stands, as ``additional_config.a.b``, by its name.
    """

    values: dict[str, Value] = field(default_factory=dict)
    unknown: dict[str, str] = field(default_factory=dict)
    others: list[str] = field(default_factory=list)
    unseen: list[str] = field(default_factory=list)
    places: dict[str, str] = field(default_factory=dict)

    def positive(self, *names: str) -> int | None:
        """The first of ``names`` that is a positive whole number."""
        for name in names:
            value = self.values.get(name)
            if isinstance(value, int) and not isinstance(value, bool) and value > 0:
                return value
        return None

    def unreadable(self, unimportant: Collection[str]) -> list[str]:
        """Notes on options that could not be read; options that do not matter are left out."""
        notes = [
            f"could not be read: --{name.replace('_', '-')} is {what}"
            for name, what in self.unknown.items()
            if name not in unimportant
        ]
        return notes + [f"could not be read: {name} is not set in the script" for name in self.unseen]

    def text(self, *names: str) -> str | None:
        """The first of ``names`` that is set, as text."""
        for name in names:
            if name in self.values and not isinstance(self.values[name], bool):
                return str(self.values[name])
        return None


def parse_options(words: Sequence[str], short: dict[str, str] | None = None) -> LaunchOptions:
    """The options among the words of a command.

    Args:
        words: Without the command itself.
        short: Full names of short options, such as ``{"tp": "tensor_parallel_size"}``.
    """
    found = LaunchOptions()
    name = ""
    parts: dict[str, list[str]] = {}
    for word in words:
        if _OPTION.match(word) and not _NEGATIVE.match(word):
            name, equals, value = word.lstrip("-").partition("=")
            name = name.replace("-", "_")
            name = (short or {}).get(name, name)
            parts[name] = [value] if equals else []
        elif _ARGUMENTS.fullmatch(word):
            found.unseen.append(readable(word))
        elif name:
            parts[name].append(word)
        else:
            found.others.append(word)
    for option, words_of in parts.items():
        texts = words_of
        if len(texts) > 1 and _NEGATIVE.match(texts[0]) and not _NEGATIVE.match(texts[1]):
            found.others += texts[1:]  # a number, and then what the command is about
            texts = texts[:1]
        _put(found, option, texts)
    return found


def _put(found: LaunchOptions, option: str, texts: list[str]) -> None:
    text = " ".join(texts)
    if UNKNOWN in text:
        found.unknown[option] = readable(text)
    elif not texts:
        negated = option.startswith("no_")
        found.values[option.removeprefix("no_")] = not negated
    elif text.lstrip().startswith("{"):
        _put_object(found, option, text)
    else:
        found.values[option] = _value(text)


def _put_object(found: LaunchOptions, option: str, text: str) -> None:
    """A JSON object as a value: its innermost names are the settings that documents speak of."""
    try:
        content = json.loads(text)
    except (ValueError, RecursionError):
        found.unknown[option] = "no JSON"
        return
    prefix = "speculative_" if option == "speculative_config" else ""
    for name, value, path in _leaves(content, option):
        plain = name.replace("-", "_")
        key = plain if not prefix or "speculative" in plain else prefix + plain
        found.values[key] = _value(value) if isinstance(value, str) else value
        found.places[key] = path


def _leaves(content: dict[str, object], carrier: str, depth: int = 0) -> Iterable[tuple[str, Value, str]]:
    """Innermost names with their values and where they stand."""
    for name, value in content.items():
        path = f"{carrier}.{name}"
        if isinstance(value, dict) and depth < 4:
            for inner, leaf, place in _leaves(value, path, depth + 1):
                yield (str(name) if inner in {"enabled", "enable"} else inner), leaf, place
        elif isinstance(value, str | int | float | bool):
            yield str(name), value, path
        elif value is not None:
            yield str(name), json.dumps(value), path


def _value(text: str) -> Value:
    try:
        value = parse_value(text)
    except ValueError:
        return text
    return value if isinstance(value, str | int | float | bool) else text
