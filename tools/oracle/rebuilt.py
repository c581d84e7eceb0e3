"""A program's argument parser, rebuilt from the facts of a release."""

import argparse
import json
import re
from collections.abc import Callable, Sequence
from typing import Any, NoReturn

from tools.oracle.facts import Entry, Facts

_TRUE, _FALSE = {"true", "t", "1", "yes", "y", "on"}, {"false", "f", "0", "no", "n", "off"}
_SCALED = re.compile(r"(\d+(?:\.\d+)?)([kKmMgGtT])")


class RefusalError(Exception):
    """The message with which an argument parser ends the program."""


class RebuiltParser(argparse.ArgumentParser):
    """An argument parser that gives its complaints back instead of ending the program.

    Attributes:
        complaints: What the values of the last argv were refused for.
    """

    def __init__(self, facts: Facts) -> None:
        super().__init__(prog=facts.program, allow_abbrev=facts.abbreviates, add_help=False)
        self.facts = facts
        self.complaints: list[str] = []
        for number in range(facts.positional):
            self.add_argument(f"positional {number}", nargs="?")
        taken: set[str] = set()
        for entry in facts.flags.values():
            names = [name for name in (entry["key"], *entry.get("aliases", ())) if name not in taken]
            if not names or not all(name.startswith("-") for name in names):
                continue
            words = self._words(entry)
            if words.get("action") is argparse.BooleanOptionalAction:
                names = [name for name in names if f"--no-{name[2:]}" not in taken]
            if "off" in entry and words.get("nargs") == "?":
                self.add_argument(
                    entry["off"], dest=entry["key"], action="store_false", default=argparse.SUPPRESS
                )
            action = self.add_argument(*names, dest=entry["key"], default=argparse.SUPPRESS, **words)
            taken.update(action.option_strings)

    def error(self, message: str) -> NoReturn:
        """Refuse.

        Raises:
            RefusalError: Always.
        """
        raise RefusalError(message)

    def read(self, argv: Sequence[str]) -> tuple[dict[str, Any], tuple[str, ...]]:
        """Settings of an argv, by key, and the program's complaints."""
        self.complaints = []
        plain = not (self.facts.dotted or self.facts.dashed)
        words, dotted = (list(argv), []) if plain else self._spelled(argv)
        try:
            values, rest = self.parse_known_args(words)
        except RefusalError as refusal:
            return {}, (*self.complaints, str(refusal))
        given = {key: value for key, value in vars(values).items() if key.startswith("-")}
        if self.facts.dotted and not str(given.get("--config") or ".yaml").endswith((".yaml", ".yml")):
            self.complaints.append(f"argument --config: no YAML file: {given['--config']}")
        for path, text in dotted:
            if not self._put(given, path, text):
                rest.append(f"--{path}")
        unknown = [word for word in rest if word.startswith("-") and len(word) > 1] or rest
        missing = [
            key for key, entry in self.facts.flags.items() if entry.get("required") and key not in given
        ]
        return given, (
            *self.complaints,
            *(f"unrecognized arguments: {word.partition('=')[0]}" for word in unknown),
            *(f"the following arguments are required: {key}" for key in missing),
        )

    def _words(self, entry: Entry) -> dict[str, Any]:
        kind, nargs = entry.get("type", "any"), entry.get("nargs")
        if kind == "bool" and "off" in entry and nargs is None:
            return {"action": argparse.BooleanOptionalAction}
        if nargs is None:
            nargs = 0 if kind == "bool" else "+" if kind == "list" else 1
        if nargs == 0:
            return {"action": "store_true"}
        const = {"const": True} if nargs == "?" else {}
        return {"nargs": None if nargs == 1 else nargs, "type": self._reader(entry), **const}

    def _reader(self, entry: Entry) -> Callable[[str], Any]:
        kind = entry.get("of", "any") if entry.get("type") == "list" else entry.get("type", "any")
        name = entry["key"].lstrip("-").replace("-", "_")
        is_class = (
            kind == "object"
            and not entry.get("open")
            and entry.get("of") != "json"
            and any(path.startswith(f"{name}.") for path in self.facts.fields)
        )

        def read(text: str) -> Any:
            if text.lower() in {word.lower() for word in entry.get("words", ())}:
                return None
            try:
                value = typed(text, "class" if is_class else kind, scaled=bool(entry.get("scaled")))
            except ValueError:
                if kind == "object" and entry.get("of") == "str":
                    return text
                word = "JSON" if kind == "object" else f"{kind} value"
                self.complaints.append(f"argument {entry['key']}: invalid {word}: {text!r}")
                return text
            choices = entry.get("choices", ())
            if choices and not is_choice(value, choices, folds=bool(entry.get("folds"))):
                said = ", ".join(repr(choice) for choice in choices)
                self.complaints.append(
                    f"argument {entry['key']}: invalid choice: {text!r} (choose from {said})"
                )
            return value

        return read

    def _spelled(self, argv: Sequence[str]) -> tuple[list[str], list[tuple[str, str]]]:
        """An argv with ``-`` for ``_`` in its flags, and apart from it what is written with dots."""
        words: list[str] = []
        dotted: list[tuple[str, str]] = []
        rest = iter(argv)
        for word in rest:
            if not word.startswith("-") or len(word) == 1:
                words.append(word)
                continue
            name, sign, value = word.partition("=")
            head, dot, path = name.partition(".")
            if dot and self.facts.dotted and (found := self._flag(head)):
                dotted.append((f"{found}.{path}".lstrip("-"), value if sign else next(rest, "")))
                continue
            if not name.startswith("--") and name[2:].isdigit() and self._flag(name[:2]):
                continue  # -O3
            words.append(self._known(name) + sign + value)
        return words, dotted

    def _known(self, name: str) -> str:
        """The spelling of a flag that the parser was given, of those with ``-`` and with ``_``."""
        if not name.startswith("--") or name in self._option_string_actions:
            return name
        dashed, plain = name.replace("_", "-"), "--" + name[2:].replace("-", "_")
        return plain if plain in self._option_string_actions and not self.facts.dotted else dashed

    def _flag(self, head: str) -> str:
        head = self._known(head)
        action = self._option_string_actions.get(head)
        return str(action.dest) if action else ""

    def _put(self, given: dict[str, Any], path: str, text: str) -> bool:
        flag, *parts = path.split(".")
        owner = given.setdefault(f"--{flag}", {})
        for part in parts[:-1]:
            owner = owner.setdefault(part, {}) if isinstance(owner, dict) else None
        if not isinstance(owner, dict):
            return False
        try:
            owner[parts[-1].rstrip("+")] = json.loads(text)
        except ValueError:
            owner[parts[-1].rstrip("+")] = text
        return True


def is_choice(value: object, choices: Sequence[object], *, folds: bool) -> bool:
    """True if a value is one of the choices; the case of letters may differ where the program folds it."""
    if str(value) in map(str, choices):
        return True
    plain = [str(item).lower().replace("-", "_") for item in choices] if folds else []
    return str(value).lower().replace("-", "_") in plain


def typed(text: str, kind: str, *, scaled: bool = False) -> Any:
    """The text of a value as a parser's type reads it.

    Raises:
        ValueError: The type does not read it.
    """
    if kind == "int":
        number = _SCALED.fullmatch(text) if scaled else None
        if number:
            power = "kmgt".index(number[2].lower()) + 1
            return int(float(number[1]) * (1000**power if number[2].islower() else 1024**power))
        return int(text)
    if kind == "float":
        return float(text)
    if kind == "bool":
        if text.lower() in _TRUE | _FALSE:
            return text.lower() in _TRUE
        raise ValueError(text)
    if kind == "pair" and "=" in text and "," not in text:
        return text
    if kind == "class" and not isinstance(json.loads(text), dict):
        raise ValueError(text)
    return json.loads(text) if kind in {"object", "class", "pair"} else text
