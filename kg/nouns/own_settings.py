"""A user's own entries of the settings registry, which win over the shipped ones, and what they contradict.

A file ``NAME.json`` in a folder of the user's has the form of ``data/settings``: an object with ``settings``,
each with ``key`` and ``place``, and whatever is to be said of it. A plain ``default`` holds for all releases.
"""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from kg.errors import InputError
from kg.nouns.release import release_key
from kg.nouns.setting import VALUE_TYPES, SettingPlace
from kg.nouns.values import load_json

_SAID = ("type", "choices", "low", "high", "unit", "default", "since", "removed", "replaced_by", "open")
"""Fields in which an entry may differ from the shipped one."""
_PLACES = [place.value for place in SettingPlace]
_KINDS: tuple[tuple[str, tuple[type, ...], str], ...] = (
    ("aliases", (list,), "a list"),
    ("choices", (list,), "a list"),
    ("low", (float, int), "a number"),
    ("high", (float, int), "a number"),
)
"""Types of an entry's fields."""
_NEW: Mapping[str, Any] = {"source": "{path}", "releases": [["main", "main"]], "beneath": {}, "settings": []}
"""Registry of a program whose settings do not ship."""


class OwnSettings:
    """The files of a folder with entries of the registry.

    Attributes:
        folder: The folder.
        overruled: What its entries said otherwise than the shipped ones, of the programs read so far.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.overruled: list[str] = []

    def softwares(self) -> tuple[str, ...]:
        """Programs that have a file."""
        return tuple(path.stem for path in sorted(self.folder.glob("*.json")))

    def over(self, software: str, shipped: Mapping[str, Any]) -> Mapping[str, Any]:
        """The content of a program's registry, with the user's entries in the place of those that ship.

        Args:
            software: The program.
            shipped: What ships of it; empty if nothing does.

        Raises:
            InputError: The file cannot be read, or its entries clash; with every fault.
        """
        path = self.folder / f"{software}.json"
        if not path.is_file():
            return shipped
        own, lines = _read(path)
        base = shipped or {**_NEW, "software": software, "releases": own.get("releases", _NEW["releases"])}
        first = base["releases"][0][0]
        entries = {(item["place"], item["key"]): item for item in base["settings"]}
        for item in own["settings"]:
            identity = (item["place"], item["key"])
            stated = dict(item)
            if "default" in stated and not _is_history(stated["default"]):
                stated["default"] = [[first, stated["default"]]]
            before = entries.get(identity)
            self.overruled += [] if before is None else _contradicted(path, software, before, stated)
            place = f"{path.resolve().as_uri()}#L{_line(lines, item['key'])}"
            entries[identity] = {**(before or {}), "before": [], **stated, "at": place}
        return {**base, "settings": list(entries.values())}


def clashes(settings: list[Mapping[str, Any]]) -> list[str]:
    """Spellings that two entries of one place share."""
    found: list[str] = []
    owners: dict[tuple[str, str], Mapping[str, Any]] = {}
    for item in settings:
        for name in dict.fromkeys((item["key"], *item.get("aliases", ()))):
            other = owners.setdefault((item["place"], name), item)
            if other is not item:
                twice = other["key"] == item["key"] == name
                both = f"is both {other['key']} and {item['key']}"
                found.append(f"{name} {'stands twice' if twice else both}")
    return found


def _read(path: Path) -> tuple[dict[str, Any], list[str]]:
    """The content of a file, and its lines."""
    try:
        text = path.read_text(encoding="utf-8")
        content = load_json(text)
    except (OSError, ValueError) as error:
        line = f"line {error.lineno}: " if isinstance(error, json.JSONDecodeError) else ""
        raise InputError(f"{path}: {line}{getattr(error, 'msg', error)}") from None
    settings = content.get("settings") if isinstance(content, dict) else None
    if not isinstance(settings, list) or not all(isinstance(item, dict) for item in settings):
        raise InputError(f"{path}: no object with a list of settings", hint='as {"settings": [{"key": ...}]}')
    faults = [text for number, item in enumerate(settings, 1) for text in _faults(number, item)]
    faults += clashes([item for item in settings if _is_named(item)])
    releases = content.get("releases", [])
    if not isinstance(releases, list) or not all(map(_is_release, releases)):
        faults.append('releases: names as ["1.0", "2.0"]')
    if faults:
        raise InputError(f"{path}: {'; '.join(faults)}")
    if releases:
        content["releases"] = [[name, name] if isinstance(name, str) else name for name in releases]
    return dict(content), text.splitlines()


def _is_named(item: Mapping[str, Any]) -> bool:
    """True if the names and the place of an entry can be read."""
    names = isinstance(item.get("key"), str) and isinstance(item.get("aliases", []), list)
    return names and item.get("place") in _PLACES and all(isinstance(n, str) for n in item.get("aliases", []))


def _is_release(item: object) -> bool:
    """True if an item names a release, alone or with its tag."""
    names = item if isinstance(item, list) and len(item) == 2 else [item]
    try:
        return all(isinstance(name, str) for name in names) and bool(release_key(str(names[0])))
    except ValueError:
        return False


def _faults(number: int, item: Mapping[str, Any]) -> list[str]:
    found = [] if isinstance(item.get("key"), str) else [f"setting {number} has no key"]
    if item.get("place") not in _PLACES:
        found.append(f"setting {number}: place is one of {', '.join(_PLACES)}")
    if item.get("type", "any") not in VALUE_TYPES:
        found.append(f"setting {number}: type is one of {', '.join(VALUE_TYPES)}")
    for name, kind, words in _KINDS:
        if not isinstance(item.get(name, kind[0]()), kind):
            found.append(f"setting {number}: {name} is {words}")
    found += [
        f"setting {number}: {name} is a release"
        for name in ("since", "removed")
        if item.get(name) is not None and not _is_release(item[name])
    ]
    return found


def _contradicted(path: Path, software: str, shipped: Mapping[str, Any], own: Mapping[str, Any]) -> list[str]:
    return [
        f"{path}: {software} {own['key']}: {name} {_shown(own[name])} is yours and counts; "
        f"what ships says {_shown(shipped.get(name))}"
        for name in _SAID
        if name in own and own[name] != shipped.get(name)
    ]


def _shown(value: Any) -> str:
    if _is_history(value):
        value = value[-1][1] if len(value[-1]) > 1 else "computed"
    return "nothing" if value is None else json.dumps(value, ensure_ascii=False)


def _is_history(value: Any) -> bool:
    return isinstance(value, list) and bool(value) and all(isinstance(item, list) and item for item in value)


def _line(lines: Sequence[str], key: str) -> int:
    return next((number for number, line in enumerate(lines, 1) if json.dumps(key) in line), 1)
