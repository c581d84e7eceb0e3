"""What an audit looks at: the settings of a launch as its release reads them, and the facts around them."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

from kg.errors import UnknownEntityError
from kg.nouns.look_up import LookUp, Standing
from kg.nouns.setting import SettingPlace
from kg.terms.purposes import plain_key
from kg.terms.setting_registry import registry, softwares

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ingest.questions.launches.running import RunningSetting
    from kg.terms.conditions import FactValue
    from kg.terms.setting_registry import ReleaseSettings

UNREAD = LookUp(standing=Standing.UNKNOWN, release="")


@dataclass(frozen=True, kw_only=True)
class AuditCase:
    """What an audit looks at.

    Attributes:
        settings: As they are written.
        program: What runs; empty if that is not known.
        version: Its release; the newest final one where none is told.
        is_told: Whether the release was told.
        facts: What is known besides, by the names of conditions.
    """

    settings: tuple[RunningSetting, ...]
    program: str = ""
    version: str = ""
    is_told: bool = False
    facts: Mapping[str, FactValue] = field(default_factory=dict)

    @cached_property
    def release(self) -> ReleaseSettings | None:
        """Settings of the release; None of a program whose settings do not ship."""
        if self.program not in softwares():
            return None
        try:
            return registry(self.program).at(self.version)
        except UnknownEntityError:
            return registry(self.program).at()

    @cached_property
    def programs(self) -> Mapping[str, str]:
        """The program and those beneath it, each with its release."""
        if self.release is None:
            return {self.program: self.version} if self.program else {}
        return {layer.registry.software: layer.release for layer in self.release.layers()}

    def look_up(
        self, setting: RunningSetting, *, suggest: bool = False, release: ReleaseSettings | None = None
    ) -> LookUp:
        """What the release, or another one, makes of a setting."""
        asked = release or self.release
        if asked is None:
            return UNREAD
        place = None if setting.place is SettingPlace.YAML else setting.place
        key = self._whole(setting.key) if place is SettingPlace.JSON else setting.key
        return asked.look_up(key, place, suggest=suggest)

    def _whole(self, key: str) -> str:
        """The path of a field with the whole name of its flag: ``compilation_config.mode`` of ``cc.mode``."""
        head, dot, rest = key.partition(".")
        answer = (
            None
            if self.release is None
            else self.release.look_up(f"-{head}", SettingPlace.FLAG, suggest=False)
        )
        flag = None if answer is None else answer.setting
        return key if flag is None else f"{plain_key(flag.key)}{dot}{rest}"

    @cached_property
    def forms(self) -> Mapping[RunningSetting, Mapping[str, str]]:
        """Each setting by all its plain names, with the value that it has by that name."""
        return {setting: self._forms(setting) for setting in self.settings if setting.is_known}

    def _forms(self, setting: RunningSetting) -> Mapping[str, str]:
        found = {plain_key(setting.key): setting.value}
        answer = self.look_up(setting)
        if answer.setting is not None:
            value = setting.value
            if answer.negated:
                value = "false" if value == "true" else "true"
            found[plain_key(answer.setting.key)] = value
        return found

    @cached_property
    def stated(self) -> Mapping[str, FactValue]:
        """The facts, with every setting under each of its names."""
        facts: dict[str, FactValue] = dict(self.facts)
        for setting, forms in self.forms.items():
            facts[f"setting[{setting.key}]"] = setting.value
            for name, value in forms.items():
                facts[f"setting[{name}]"] = value
        for name, version in self.programs.items():
            if version:
                facts.setdefault(f"software[{name}]", version)
        return facts
