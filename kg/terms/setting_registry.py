"""The registry of settings: which program of which release takes what, read from ``data/settings``.

``registry("vllm-ascend").at("0.18").look_up("max_model_len")`` answers whether that release knows the
setting, by itself or through a program beneath it (vLLM, CANN, ...). A file is read at the first question
about its software.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches
from functools import cache, cached_property, lru_cache
from pathlib import Path
from typing import Any

import data
from kg.errors import UnknownEntityError
from kg.nouns.look_up import LookUp, Spelling, Standing
from kg.nouns.own_settings import OwnSettings
from kg.nouns.release import release_key
from kg.nouns.setting import ResolvedCase, Setting, SettingDefault, SettingPlace
from kg.nouns.values import as_value
from kg.terms.meanings import table

FOLDER = "settings"
REMEMBERED = 16384
"""Spellings whose answers are kept: a plan asks for some hundred, most of them many times."""


@dataclass(frozen=True)
class ReleaseSettings:
    """The settings of one release of a program, and of the programs beneath it.

    Attributes:
        registry: All releases of the program.
        named_release: The release that was named.
        release: The nearest one that was read: the newest not after it, or else the oldest.
    """

    registry: SettingRegistry
    named_release: str
    release: str

    @cached_property
    def beneath(self) -> tuple[ReleaseSettings, ...]:
        """The programs that it runs on, each in the release that goes with it, or else its newest."""
        known = softwares()
        return tuple(
            registry(software).at(releases.get(self.release, ""))
            for software, releases in self.registry.beneath.items()
            if software in known
        )

    @property
    def is_bracketed(self) -> bool:
        """True if the named release is among those that were read, or between two of them."""
        key = release_key(self.named_release)
        return release_key(self.registry.releases[0]) <= key <= release_key(self.registry.releases[-1])

    @property
    def note(self) -> str:
        """A note if another release than the named one was read; else empty."""
        commit = self.named_release.partition("@")[2]
        same = release_key(self.named_release) == release_key(self.release) and not commit
        if (
            same
            or self.named_release == self.release
            or (commit and self.registry.refs[self.release].startswith(commit))
        ):
            return ""
        software = self.registry.software
        return f"{software} {self.named_release} was not read; the nearest release is {self.release}"

    def __iter__(self) -> Iterator[Setting]:
        """The settings that this release itself has, in order of place and key."""
        items = (item for item in self.registry.settings if item.in_release(self.release))
        return (item.as_in(self.release) for item in items)

    def look_up(self, key: str, place: SettingPlace | None = None, *, suggest: bool = True) -> LookUp:
        """Look up a spelling of a setting in the release, then in the programs beneath it.

        Args:
            key: Any spelling: ``--max_model_len``, ``max-model-len``, ``compilation_config.cudagraph_mode``.
            place: Where it stands; None tries the places that the spelling allows.
            suggest: Look for keys like an unknown one, which takes milliseconds.
        """
        return _looked_up(self, key, place, suggest)

    def _look_up(self, key: str, place: SettingPlace | None, *, suggest: bool) -> LookUp:
        answers: list[LookUp] = []
        for layer in self.layers():
            if (answer := layer._own(key, place)) is not None:
                answers.append(answer)
                if answer.standing is Standing.TAKEN and not answer.shared and not answer.abbreviation:
                    return answer
        if not answers:
            layers = self.layers() if suggest else ()
            near = dict.fromkeys(name for layer in layers for name in layer.registry.nearest(key, place))
            return LookUp(standing=Standing.UNKNOWN, release=self.release, nearest=tuple(near)[:3])
        order = list(Standing)
        if not all(answer.abbreviation for answer in answers):  # one parser has the flags of all layers
            answers = [answer for answer in answers if not answer.abbreviation]
        best = min(answers, key=lambda answer: order.index(answer.standing))
        others = [item.setting for item in answers if item.standing is best.standing and item is not best]
        if best.setting is None or not others:
            return best
        return replace(best, setting=_joined(best.setting, [item for item in others if item is not None]))

    def layers(self) -> Iterator[ReleaseSettings]:
        """This release, and each program beneath it once, nearest first."""
        seen: set[str] = set()
        waiting: list[ReleaseSettings] = [self]
        while waiting:
            layer = waiting.pop(0)
            if layer.registry.software not in seen:
                seen.add(layer.registry.software)
                yield layer
                waiting.extend(layer.beneath)

    def _own(self, key: str, place: SettingPlace | None) -> LookUp | None:
        found = self.registry.find(key, place, self.release)
        if found is None:
            return None
        here = found.setting.in_release(self.release)
        standing = Standing.PASSED_ON if found.beneath else Standing.TAKEN
        if not here and not (found.beneath and self._has_below(found.setting.key)):
            removed, above = found.setting.removed, self.registry.above(found.setting.key)
            is_open = not found.beneath and above is not None and above.setting.in_release(self.release)
            standing = Standing.PASSED_ON if is_open else Standing.REMOVED  # a section that takes any key
            if not removed or release_key(self.release) < release_key(removed):
                standing = Standing.NOT_YET
        return LookUp(
            standing=standing,
            release=self.release,
            setting=found.setting.as_in(self.release),
            negated=found.negated,
            abbreviation=found.abbreviation,
        )

    def _has_below(self, key: str) -> bool:
        """True if a section that was one open value has named fields now; other fields still go into it."""
        return any(item.key.startswith(f"{key}.") for item in self)


class SettingRegistry:
    """The settings of one program over its releases; each is made when it is asked for."""

    def __init__(self, content: Mapping[str, Any]) -> None:
        self.software: str = content["software"]
        self.releases: tuple[str, ...] = tuple(name for name, _ in content["releases"])
        self.refs: dict[str, str] = dict(content["releases"])
        self.beneath: Mapping[str, Mapping[str, str]] = content["beneath"]
        self.overrides: bool = content.get("file") == "overrides"
        self._aside: Mapping[str, str] = content.get("aside", {})
        self._content = content
        self._entries: list[dict[str, Any]] = content["settings"]
        self._made: dict[int, Setting] = {}

    @cached_property
    def settings(self) -> tuple[Setting, ...]:
        """Every setting of any release that was read."""
        return tuple(self._setting(number) for number in range(len(self._entries)))

    def at(self, release: str = "") -> ReleaseSettings:
        """The settings of a release; of the nearest one that was read if that one was not.

        Args:
            release: Its name in any form: ``0.18``, ``v0.18.0rc1``, ``main``; empty means the newest.

        Raises:
            UnknownEntityError: The name is none of a release.
        """
        return _release_settings(self, release or self.releases[-1])

    def set_aside(self, release: str) -> frozenset[str]:
        """Settings that a release hides while the programs beneath check what they are given."""
        key = release_key(release)
        return frozenset(name for name, since in self._aside.items() if release_key(since) <= key)

    def find(self, key: str, place: SettingPlace | None = None, release: str = "") -> Spelling | None:
        """The setting that a spelling means, in a release where it can be; None if there is none in any."""
        return _spelling(self, key, place, release)

    def _find(self, key: str, place: SettingPlace | None, release: str) -> Spelling | None:
        if place in {None, SettingPlace.ENV} and key in self._variables:
            meant = [self._setting(number) for number in self._variables[key]]
            there = (item for item in meant if release and item.in_release(release))
            return Spelling(setting=next(there, meant[0]))
        if place is SettingPlace.ENV:
            return None
        if place in {None, SettingPlace.FLAG} and (found := self._flag(key, release)):
            return found
        if place is SettingPlace.FLAG:
            return None
        return self._field(key, place)

    def places(self) -> Iterator[tuple[str, str]]:
        """Every spelling with the file that defines it, in the newest release that has it."""
        for entry in self._entries:
            file = str(entry.get("at", "")).partition("#")[0]
            yield from ((name, file) for name in (entry["key"], *entry.get("aliases", ())))

    def nearest(self, key: str, place: SettingPlace | None = None) -> tuple[str, ...]:
        """Keys that look like an unknown one, nearest first; a field of that name in another object leads."""
        names = {_plain(item["key"]): item["key"] for item in self._entries if place in {None, item["place"]}}
        plain = _plain(key)
        field = plain.rpartition(".")[2]
        moved = [name for name in names if "." in plain and name.endswith(f".{field}")]
        near = get_close_matches(plain, names, n=3, cutoff=0.75)
        return tuple(names[name] for name in dict.fromkeys((*moved, *near)))

    def _flag(self, key: str, release: str) -> Spelling | None:
        name = _plain(key)
        if name in self._flags:
            meant = [(self._setting(number), negated) for number, negated in self._flags[name]]
            there = [item for item in meant if len(meant) > 1 and release and item[0].in_release(release)]
            latest = max(meant, key=lambda item: release_key(item[0].removed or "main"))
            setting, negated = there[0] if there else latest
            return Spelling(setting=setting, negated=negated)
        if not self._content.get("abbreviates") or not key.startswith("--"):
            return None
        longer = {found[0] for flag, found in self._flags.items() if flag.startswith(name)}
        if len(longer) != 1:
            return None
        number, negated = longer.pop()
        return Spelling(setting=self._setting(number), negated=negated, abbreviation=True)

    def _field(self, key: str, place: SettingPlace | None) -> Spelling | None:
        name = _plain(key)
        if name in self._fields and place in {None, self._entries[self._fields[name]]["place"]}:
            return Spelling(setting=self._setting(self._fields[name]))
        return self.above(name)

    def above(self, key: str) -> Spelling | None:
        """The section that takes any field, such as this one; None if there is none."""
        parts = _plain(key).split(".")
        for end in range(len(parts) - 1, 0, -1):
            above = self._fields.get(".".join(parts[:end]))
            if above is None and end == 1 and parts[0] in self._flags:
                above = self._flags[parts[0]][0][0]
            if above is not None:
                setting = self._setting(above)
                return Spelling(setting=setting, beneath=True) if setting.open else None
        return None

    @cached_property
    def _variables(self) -> dict[str, list[int]]:
        """Settings by spelling: one of its own name first, then those that took its name over."""
        found: dict[str, list[int]] = {}
        for number, name in self._spellings(SettingPlace.ENV):
            found.setdefault(name, []).insert(0, number)
        return found

    @cached_property
    def _flags(self) -> dict[str, list[tuple[int, bool]]]:
        """Settings by spelling, keys before aliases; last those that it switches off."""
        flags: dict[str, list[tuple[int, bool]]] = {}
        for number, name in self._spellings(SettingPlace.FLAG):
            flags.setdefault(_plain(name), []).insert(0, (number, False))
        for number, entry in enumerate(self._entries):
            if "off" in entry:
                flags.setdefault(_plain(entry["off"]), []).append((number, True))
        return flags

    @cached_property
    def _fields(self) -> dict[str, int]:
        places = (SettingPlace.JSON, SettingPlace.YAML, SettingPlace.CODE)
        return {_plain(name): number for place in places for number, name in self._spellings(place)}

    def _spellings(self, place: SettingPlace) -> Iterator[tuple[int, str]]:
        """Entries of a place with each of their spellings; the keys last, so that they win over aliases."""
        entries = [(number, entry) for number, entry in enumerate(self._entries) if entry["place"] == place]
        for number, entry in entries:
            for name in entry.get("aliases", ()):
                yield number, name
        for number, entry in entries:
            yield number, entry["key"]

    def nearest_release(self, release: str) -> str:
        """The newest release that was read and is not after one, or else the oldest.

        Of a name such as ``0.5``, which no release has alone, the newest that begins with it: 0.5.23.

        Raises:
            UnknownEntityError: The name is none of a release.
        """
        if release in self.releases:
            return release
        commit = release.partition("@")[2]
        same = [
            name for name, ref in self.refs.items() if ref == release or (commit and ref.startswith(commit))
        ]
        if same:
            return same[0]
        try:
            key = release_key(release)
        except ValueError:
            raise UnknownEntityError(
                f"{release!r} names no release of {self.software}", hint=f"known: {', '.join(self.releases)}"
            ) from None
        begun = [name for name in self.releases if name.startswith(f"{release.strip().lstrip('vV')}.")]
        if begun and not any(release_key(name) == key for name in self.releases):
            return begun[-1]
        earlier = [name for name in self.releases if release_key(name) <= key]
        return earlier[-1] if earlier else self.releases[0]

    def _setting(self, number: int) -> Setting:
        if number not in self._made:
            entry = self._entries[number]
            setting = self._form(entry, entry)
            before = tuple((end, self._form(entry, form)) for end, form in entry.get("before", ()))
            self._made[number] = replace(setting, before=before) if before else setting
        return self._made[number]

    def _form(self, entry: Mapping[str, Any], form: Mapping[str, Any]) -> Setting:
        path = entry.get("at", "")
        return Setting(
            software=self.software,
            key=entry["key"],
            place=SettingPlace(entry["place"]),
            carrier=form.get("in", ""),
            aliases=tuple(form.get("aliases", ())),
            negation=form.get("off", ""),
            type=form.get("type", "any"),
            choices=tuple(map(as_value, form.get("choices", ()))),
            low=form.get("low"),
            high=form.get("high"),
            unit=form.get("unit", ""),
            defaults=tuple(
                SettingDefault(release=release, value=as_value(rest[0]) if rest else None, computed=not rest)
                for release, *rest in entry.get("default", ())
            ),
            resolved=tuple(
                (release, tuple(_case(*case) for case in cases))
                for release, *cases in entry.get("resolved", ())
            ),
            since=entry.get("since"),
            removed=entry.get("removed"),
            absent=tuple(entry.get("absent", ())),
            replaced_by=entry.get("replaced_by", ""),
            open=form.get("open", False),
            conflicts=tuple(form.get("conflicts", ())),
            source=path if "://" in path else self._address(entry, path),
        )

    def _address(self, entry: Mapping[str, Any], path: str) -> str:
        return str(self._content["source"]).format(ref=self.refs[self._last(entry.get("removed"))], path=path)

    def _last(self, removed: str | None) -> str:
        return self.releases[-1] if removed is None else self.last_before(removed)

    def last_before(self, release: str) -> str:
        """The newest release before one."""
        key = release_key(release)
        return [name for name in self.releases if release_key(name) < key][-1]


def _case(when: str, *rest: Any) -> ResolvedCase:
    value = as_value(rest[0]) if rest else None
    return ResolvedCase(when=when, value=value, computed=not rest, bound=rest[1] if len(rest) > 1 else "")


_own: list[OwnSettings] = []


def use_own(folder: Path) -> OwnSettings:
    """Read a user's own entries from a folder from now on; they win over the shipped ones."""
    _own[:] = [OwnSettings(folder)]
    softwares.cache_clear()
    registry.cache_clear()
    return _own[0]


@cache
def softwares() -> tuple[str, ...]:
    """Programs whose settings ship, and those of the user's own, in order."""
    own = (name for folder in _own for name in folder.softwares())
    return tuple(sorted({*_shipped(), *_lent(), *own}))


@cache
def _lent() -> dict[str, str]:
    """Programs that are another one with another backend, by whose releases they go."""
    rows = table("meanings")["programs"].items()
    return {name: row["registry"] for name, row in rows if row.get("registry") in _shipped()}


@cache
def _shipped() -> frozenset[str]:
    return frozenset(name.rsplit("/", 1)[1].removesuffix(".json") for name in data.files(FOLDER, ".json"))


@cache
def registry(software: str) -> SettingRegistry:
    """The settings of a program.

    Raises:
        UnknownEntityError: None of that program ship; the hint names the nearest.
        InputError: The user's own file of that program is broken.
    """
    known = softwares()
    name = software.lower().replace("_", "-")
    name = _lent().get(name, name)
    if name not in known:
        near = get_close_matches(name, known, n=1)
        hint = f"did you mean {near[0]}?" if near else f"known: {', '.join(known)}"
        raise UnknownEntityError(f"no settings of a program named {software!r}", hint=hint)
    shipped = json.loads(data.text(f"{FOLDER}/{name}.json")) if name in _shipped() else {}
    return SettingRegistry(_own[0].over(name, shipped) if _own else shipped)


@lru_cache(maxsize=REMEMBERED)
def _looked_up(settings: ReleaseSettings, key: str, place: SettingPlace | None, suggest: bool) -> LookUp:
    return settings._look_up(key, place, suggest=suggest)


@lru_cache(maxsize=REMEMBERED)
def _spelling(
    registry: SettingRegistry, key: str, place: SettingPlace | None, release: str
) -> Spelling | None:
    return registry._find(key, place, release)


@lru_cache(maxsize=256)
def _release_settings(registry: SettingRegistry, named_release: str) -> ReleaseSettings:
    return ReleaseSettings(registry, named_release, registry.nearest_release(named_release))


def _plain(key: str) -> str:
    """A spelling without what programs read over: leading dashes, ``-`` for ``_``, places in lists."""
    plain = key.lstrip("-+").replace("-", "_")
    return re.sub(r"\[\d*\]", "", plain) if "[" in plain else plain


def _joined(setting: Setting, others: Sequence[Setting]) -> Setting:
    """A flag with the choices that the programs beneath it have for the same flag: they share one parser."""
    flags = [
        item for item in others if item.place is SettingPlace.FLAG and setting.place is SettingPlace.FLAG
    ]
    choices = tuple(dict.fromkeys([*setting.choices, *(choice for item in flags for choice in item.choices)]))
    if setting.type == "any" and flags:
        return replace(flags[0], choices=choices)
    return (
        replace(setting, choices=choices)
        if setting.choices and len(choices) > len(setting.choices)
        else setting
    )
