"""The registry of settings: which program of which release takes what, read from ``data/settings``.

``registry("vllm-ascend").at("0.18").look_up("max_model_len")`` answers whether that release knows the
setting, by itself or through a program beneath it (vLLM, CANN, ...). A file is read at the first question
about its software.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, replace
from difflib import get_close_matches
from enum import StrEnum
from functools import cache, cached_property
from typing import TYPE_CHECKING, Any

import data
from kg.errors import UnknownEntityError
from kg.nouns.release import release_key
from kg.nouns.setting import Setting, SettingDefault, SettingPlace
from kg.values import as_value

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from kg.values import Value

FOLDER = "settings"


class Standing(StrEnum):
    """What a release makes of a setting."""

    TAKEN = "taken"
    PASSED_ON = "passed on unchecked"
    NOT_YET = "not yet"
    REMOVED = "removed"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True, kw_only=True)
class LookUp:
    """What a release of a program makes of one spelling of a setting.

    Attributes:
        standing: Taken, passed on, not yet there, removed, or unknown.
        release: The release that was read for the answer.
        setting: The setting; None where it is unknown.
        negated: The spelling was the one that switches it off.
        abbreviation: The spelling was the beginning of a longer flag.
        nearest: Keys like an unknown one, nearest first.
    """

    standing: Standing
    release: str
    setting: Setting | None = None
    negated: bool = False
    abbreviation: bool = False
    nearest: tuple[str, ...] = ()

    @property
    def usable(self) -> bool:
        """Whether writing it there has an effect that the program means."""
        return self.standing in {Standing.TAKEN, Standing.PASSED_ON}

    def is_default(self, value: Value) -> bool:
        """Whether a value is what the release does without being told."""
        if self.setting is None or self.standing is not Standing.TAKEN:
            return False
        if self.negated:
            value = value is False or str(value).lower() == "false"
        return self.setting.is_default(value, self.release)

    def __str__(self) -> str:
        if self.setting is None:
            hint = f"; did you mean {', '.join(self.nearest)}?" if self.nearest else ""
            return f"unknown{hint}"
        text = f"{self.setting.software} {self.setting.key}: {self.standing}"
        if self.standing is Standing.NOT_YET:
            return f"{text}, since {self.setting.since}"
        if self.standing is Standing.REMOVED:
            then = f", replaced by {self.setting.replaced_by}" if self.setting.replaced_by else ""
            return f"{text} in {self.setting.removed}{then}"
        return text


@dataclass(frozen=True)
class ReleaseSettings:
    """The settings of one release of a program, and of the programs beneath it.

    Attributes:
        registry: All releases of the program.
        asked: The release that was named.
        release: The nearest one that was read: the newest not after it, or else the oldest.
        beneath: The programs that it runs on, each in the release that goes with it.
    """

    registry: SettingRegistry
    asked: str
    release: str
    beneath: tuple[ReleaseSettings, ...] = ()

    @property
    def note(self) -> str:
        """That another release than the named one was read; empty if it was that one."""
        commit = self.asked.partition("@")[2]
        same = release_key(self.asked) == release_key(self.release) and not commit
        if (
            same
            or self.asked == self.release
            or (commit and self.registry.refs[self.release].startswith(commit))
        ):
            return ""
        return f"{self.registry.software} {self.asked} was not read; the nearest release is {self.release}"

    def __iter__(self) -> Iterator[Setting]:
        """The settings that this release itself has, in order of place and key."""
        items = (item for item in self.registry.settings if item.in_release(self.release))
        return (item.as_in(self.release) for item in items)

    def look_up(self, key: str, place: SettingPlace | None = None) -> LookUp:
        """What the release makes of a spelling of a setting, or a program beneath it does.

        Args:
            key: Any spelling: ``--max_model_len``, ``max-model-len``, ``compilation_config.cudagraph_mode``.
            place: Where it stands; None tries the places that the spelling allows.
        """
        answers = [answer for layer in self.layers() if (answer := layer._own(key, place)) is not None]
        if not answers:
            near = dict.fromkeys(
                name for layer in self.layers() for name in layer.registry.nearest(key, place)
            )
            return LookUp(standing=Standing.UNKNOWN, release=self.release, nearest=tuple(near)[:3])
        order = list(Standing)
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
        found = self.registry.find(key, place)
        if found is None:
            return None
        here = found.setting.in_release(self.release)
        standing = Standing.PASSED_ON if found.beneath else Standing.TAKEN
        if not here:
            standing = Standing.NOT_YET if self._before(found.setting) else Standing.REMOVED
        return LookUp(
            standing=standing,
            release=self.release,
            setting=found.setting.as_in(self.release),
            negated=found.negated,
            abbreviation=found.abbreviation,
        )

    def _before(self, setting: Setting) -> bool:
        return not setting.removed or release_key(self.release) < release_key(setting.removed)


@dataclass(frozen=True, slots=True, kw_only=True)
class Spelling:
    """A setting as one spelling of it was found.

    Attributes:
        setting: The setting.
        negated: By the flag that switches it off.
        abbreviation: By the beginning of its flag.
        beneath: The spelling lies beneath an open one.
    """

    setting: Setting
    negated: bool = False
    abbreviation: bool = False
    beneath: bool = False


class SettingRegistry:
    """The settings of one program over its releases."""

    def __init__(self, content: Mapping[str, Any]) -> None:
        self.software: str = content["software"]
        self.releases: tuple[str, ...] = tuple(name for name, _ in content["releases"])
        self.refs: dict[str, str] = dict(content["releases"])
        self._content = content

    @cached_property
    def settings(self) -> tuple[Setting, ...]:
        """Every setting of any release that was read."""
        return tuple(self._setting(entry) for entry in self._content["settings"])

    def at(self, release: str = "") -> ReleaseSettings:
        """The settings of a release; of the nearest one that was read if that one was not.

        Args:
            release: Its name in any form: ``0.18``, ``v0.18.0rc1``, ``main``; empty means the newest.

        Raises:
            UnknownEntityError: The name is none of a release.
        """
        asked = release or self.releases[-1]
        nearest = self._nearest_release(asked)
        beneath: list[ReleaseSettings] = []
        for software, releases in self._content["beneath"].items():
            if software in softwares():
                beneath.append(registry(software).at(releases.get(nearest, "")))
        return ReleaseSettings(self, asked, nearest, tuple(beneath))

    def find(self, key: str, place: SettingPlace | None = None) -> Spelling | None:
        """The setting that a spelling means, in whatever release; None if there is none."""
        if place in {None, SettingPlace.ENV} and key in self._variables:
            return Spelling(setting=self._variables[key])
        if place is SettingPlace.ENV:
            return None
        if place in {None, SettingPlace.FLAG} and (found := self._flag(key)):
            return found
        if place is SettingPlace.FLAG:
            return None
        return self._field(key, place)

    def nearest(self, key: str, place: SettingPlace | None = None) -> tuple[str, ...]:
        """Keys that look like an unknown one, nearest first."""
        plain = _plain(key)
        names = {_plain(item.key): item.key for item in self.settings if place in {None, item.place}}
        return tuple(names[name] for name in get_close_matches(plain, names, n=3, cutoff=0.75))

    def _flag(self, key: str) -> Spelling | None:
        name = _plain(key)
        if (found := self._flags.get(name)) is not None:
            return found
        if not self._content.get("abbreviates") or not key.startswith("--"):
            return None
        longer = {id(item.setting): item for flag, item in self._flags.items() if flag.startswith(name)}
        if len(longer) != 1:
            return None
        found = next(iter(longer.values()))
        return Spelling(setting=found.setting, negated=found.negated, abbreviation=True)

    def _field(self, key: str, place: SettingPlace | None) -> Spelling | None:
        name = _plain(key)
        found = self._fields.get(name)
        if found is not None and place in {None, found.place}:
            return Spelling(setting=found)
        parts = name.split(".")
        for end in range(len(parts) - 1, 0, -1):
            above = self._fields.get(".".join(parts[:end])) or (
                item.setting if (item := self._flags.get(parts[0])) and end == 1 else None
            )
            if above is not None:
                return Spelling(setting=above, beneath=True) if above.open else None
        return None

    @cached_property
    def _variables(self) -> dict[str, Setting]:
        return {
            name: item
            for item in self.settings
            if item.place is SettingPlace.ENV
            for name in (item.key, *item.aliases)
        }

    @cached_property
    def _flags(self) -> dict[str, Spelling]:
        flags: dict[str, Spelling] = {}
        for item in self.settings:
            if item.place is not SettingPlace.FLAG:
                continue
            for name in (item.key, *item.aliases):
                flags.setdefault(_plain(name), Spelling(setting=item))
            if item.negation:
                flags.setdefault(_plain(item.negation), Spelling(setting=item, negated=True))
        return flags

    @cached_property
    def _fields(self) -> dict[str, Setting]:
        places = {SettingPlace.JSON, SettingPlace.YAML, SettingPlace.CODE}
        return {
            _plain(name): item
            for item in self.settings
            if item.place in places
            for name in (item.key, *item.aliases)
        }

    def _nearest_release(self, asked: str) -> str:
        if asked in self.releases:
            return asked
        commit = asked.partition("@")[2]
        if commit and (same := [name for name, ref in self.refs.items() if ref.startswith(commit)]):
            return same[0]
        try:
            key = release_key(asked)
        except ValueError:
            raise UnknownEntityError(
                f"{asked!r} names no release of {self.software}", hint=f"known: {', '.join(self.releases)}"
            ) from None
        earlier = [name for name in self.releases if release_key(name) <= key]
        return earlier[-1] if earlier else self.releases[0]

    def _setting(self, entry: Mapping[str, Any]) -> Setting:
        setting = self._form(entry, entry)
        before = tuple((end, self._form(entry, form)) for end, form in entry.get("before", ()))
        return replace(setting, before=before) if before else setting

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
            choices=_values(form.get("choices", ())),
            low=form.get("low"),
            high=form.get("high"),
            unit=form.get("unit", ""),
            defaults=tuple(
                SettingDefault(release=release, value=as_value(rest[0]) if rest else None, computed=not rest)
                for release, *rest in entry.get("default", ())
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
        if removed is None:
            return self.releases[-1]
        key = release_key(removed)
        return [name for name in self.releases if release_key(name) < key][-1]


def softwares() -> tuple[str, ...]:
    """Programs whose settings ship, in order."""
    return tuple(name.rsplit("/", 1)[1].removesuffix(".json") for name in data.files(FOLDER, ".json"))


@cache
def registry(software: str) -> SettingRegistry:
    """The settings of a program.

    Raises:
        UnknownEntityError: None of that program ship; the hint names the nearest.
    """
    known = softwares()
    name = software.lower().replace("_", "-")
    if name not in known:
        near = get_close_matches(name, known, n=1)
        hint = f"did you mean {near[0]}?" if near else f"known: {', '.join(known)}"
        raise UnknownEntityError(f"no settings of a program named {software!r}", hint=hint)
    return SettingRegistry(json.loads(data.text(f"{FOLDER}/{name}.json")))


def _plain(key: str) -> str:
    """A spelling without what programs read over: leading dashes, ``-`` for ``_``, places in lists."""
    return re.sub(r"\[\d*\]", "", key.lstrip("-")).replace("-", "_")


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


def _values(items: Sequence[object]) -> tuple[Value, ...]:
    return tuple(as_value(item) for item in items)
