"""Settings that stand in JSON, YAML or overrides, held against the fields that a release has."""

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml

from tools.oracle.facts import Entry, Facts
from tools.oracle.rebuilt import is_choice, typed

_PYTHON: dict[str, type | tuple[type, ...]] = {
    "bool": bool, "int": int, "float": (int, float), "str": str, "list": list, "object": dict,
}  # fmt: skip


def dictionary(known: Facts, argv: Sequence[str]) -> Iterator[str]:
    """Complaints about a JSON file: its path, or its text; keys may also stand as ``path=value``.

    Raises:
        ValueError: It is no JSON object.
    """
    content: dict[str, Any] = {}
    for word in argv:
        path, sign, text = word.partition("=")
        if sign and not word.lstrip().startswith("{"):
            owner = content
            *above, last = path.split(".")
            for part in above:
                owner = owner.setdefault(part, {})
            owner[last] = yaml.safe_load(text)
        else:
            read = json.loads(
                word if word.lstrip().startswith("{") else Path(word).read_text(encoding="utf-8")
            )
            if not isinstance(read, dict):
                raise ValueError(f"{word}: not a JSON object")
            content |= read
    yield from _fields(known, "", content, forbids=False)


def overrides(known: Facts, argv: Sequence[str]) -> Iterator[str]:
    """Complaints about overrides as Hydra reads them: ``key=value``, ``+key=value``, ``~key``."""
    for word in argv:
        key, sign, _ = word.partition("=")
        plain = key.lstrip("+~")
        if not sign and not key.startswith("~"):
            if "." in key and not key.endswith(".py") and not key.startswith(("-", "verl.")):
                yield f"missing = in override: {word}"
            continue
        if key.startswith("-") or plain.startswith("hydra."):
            continue
        if key.startswith("+") and not key.startswith("++"):
            if plain in known.fields and not known.fields[plain].get("open"):
                yield f"could not append to {plain}: it is already there"
        elif plain not in known.fields and not key.startswith("++"):
            yield f"could not override {plain}: no such key"


def as_flags(words: Sequence[str]) -> list[str]:
    """A YAML or JSON file, or ``key=value`` words, as the flags that its program makes of them.

    Raises:
        ValueError: A file holds no mapping.
    """
    made: list[str] = []
    for word in words:
        if word.endswith((".yaml", ".yml", ".json")) and Path(word).is_file():
            read = yaml.safe_load(Path(word).read_text(encoding="utf-8"))
            if not isinstance(read, dict):
                raise ValueError(f"{word}: no mapping")
            for key, value in read.items():
                items = value if isinstance(value, list) else [value]
                texts = [
                    item if isinstance(item, str) else json.dumps(item) for item in items if item is not None
                ]
                made += [f"--{key}", *texts] if texts else []
        elif "=" in word and not word.startswith("-"):
            made.append(f"--{word}")
        else:
            made.append(word)
    return made


def objects(known: Facts, given: Mapping[str, Any]) -> Iterator[str]:
    """Complaints about fields of JSON values that their configuration class does not have or take."""
    for key, value in given.items():
        if isinstance(value, dict):
            name = key.lstrip("-").replace("-", "_")
            yield from _fields(known, f"{name}.", value, forbids=bool(known.flags[key].get("forbids")))


def _fields(known: Facts, prefix: str, value: Mapping[str, Any], *, forbids: bool) -> Iterator[str]:
    for name, item in value.items():
        entry = known.fields.get(prefix + name)
        if entry is None:
            if forbids:
                yield f"{prefix}{name}: unexpected keyword argument"
            continue
        if isinstance(item, dict) and entry.get("type", "object") == "object":
            yield from _fields(known, f"{prefix}{name}.", item, forbids=bool(entry.get("forbids")))
        elif fault := _fault(entry, item):
            yield f"{prefix}{name}: {fault}"


def _fault(entry: Entry, value: object) -> str:
    """The fault in the value of a field; empty if the value is valid."""
    kind = entry.get("type", "any")
    if value is None or kind == "any" or (kind == "str" and isinstance(value, int) and entry.get("choices")):
        return ""  # a member of an enumeration may stand as its number
    if isinstance(value, str) and kind in {"int", "float", "bool"}:
        try:
            value = typed(value, kind)
        except ValueError:
            return f"invalid {kind} value: {value!r}"
    if not isinstance(value, _PYTHON[kind]) and not (kind == "bool" and value in (0, 1)):
        return f"invalid {kind} value: {value!r}"
    choices = entry.get("choices", ())
    items = value if isinstance(value, list) else [value]
    folds = bool(entry.get("folds"))
    wrong = [item for item in items if choices and not is_choice(item, choices, folds=folds)]
    if wrong:
        return f"invalid choice: {wrong[0]!r} (choose from {', '.join(map(str, choices))})"
    low, high = entry.get("low"), entry.get("high")
    if isinstance(value, int | float) and low is not None and value < low:
        return f"{value} is less than {low:g}"
    if isinstance(value, int | float) and high is not None and value > high:
        return f"{value} is greater than {high:g}"
    return ""
