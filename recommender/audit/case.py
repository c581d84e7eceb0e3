"""The case before an audit: settings of a launch as its release reads them, and the facts around them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from ingest.questions.launches.running import RunningSetting
from kg.errors import UnknownEntityError
from kg.nouns.look_up import LookUp, Standing
from kg.nouns.setting import SettingPlace
from kg.terms.conditions import FactValue
from kg.terms.dialects import degrees_of
from kg.terms.meanings import built_on
from kg.terms.purposes import plain_key
from kg.terms.setting_registry import ReleaseSettings, registry, softwares
from recommender.applicability.framework import ON_ASCEND, RunningFramework, newest_release, release_of

UNREAD = LookUp(standing=Standing.UNKNOWN, release="")


@dataclass(frozen=True, kw_only=True)
class AuditCase:
    """A launch before an audit.

    Attributes:
        settings: As they are written.
        program: What runs; empty if that is not known.
        version: Its release; the newest final one where none is told.
        is_told: Whether the release was told.
        facts: What is known besides, by the names of conditions.
        checkpoint: The model, as the launch names it; empty if it does not.
        positions: Tokens that the model takes; 0 if that is not known.
        rotary: Positions that it is trained for, and the base of its rotary embedding; None if unknown.
    """

    settings: tuple[RunningSetting, ...]
    program: str = ""
    version: str = ""
    is_told: bool = False
    facts: Mapping[str, FactValue] = field(default_factory=dict)
    checkpoint: str = ""
    positions: int = 0
    rotary: tuple[int, int] | None = None

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
        """The program and those beneath it or that it takes settings over from, with releases if known."""
        above = dict.fromkeys(built_on(self.program), "")
        if self.release is None:
            return {**above, self.program: self.version} if self.program else {}
        return {**above, **{layer.registry.software: layer.release for layer in self.release.layers()}}

    def look_up(
        self, setting: RunningSetting, *, suggest: bool = False, release: ReleaseSettings | None = None
    ) -> LookUp:
        """Look a setting up in the release of the launch, or in another one."""
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
    def all_facts(self) -> Mapping[str, FactValue]:
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


ROLES = {"kv_producer": "prefill", "prefill": "prefill", "kv_consumer": "decode", "decode": "decode"}
_ROLE_KEYS = ("kv_transfer_config.kv_role", "--disaggregation-mode")
_ASCEND = ("ASCEND_", "HCCL_", "TASK_QUEUE_", "VLLM_ASCEND_", "PYTORCH_NPU_")
"""Beginnings of variables that only programs on Ascend read."""


def audit_case(
    running: Sequence[RunningSetting],
    raw: Mapping[str, object],
    *,
    framework: RunningFramework | None = None,
    stated: Mapping[str, FactValue] | None = None,
    hardware: Sequence[str] = (),
    positions: int = 0,
    rotary: tuple[int, int] | None = None,
) -> AuditCase:
    """A launch before an audit.

    Args:
        running: Settings of the launch.
        raw: The question as it was put.
        framework: What runs; None where no framework is known for the question, which names it itself then.
        stated: Facts of the question; None where it is not whole.
        hardware: The device and what is above it in the tree; empty where it is not told.
        positions: Tokens that the model takes; 0 if that is not known.
        rotary: As of the case.
    """
    facts: dict[str, FactValue] = dict(_plain_facts(running, raw) if stated is None else stated)
    if "deterministic" not in _table(raw, "traits"):
        facts.pop("deterministic", None)  # what a switch implies is no reason for the switch
    if hardware:
        facts["hardware"] = frozenset(hardware)
    if framework is not None:
        program, version, told = framework.id, framework.version, not framework.is_assumed
    else:
        program, version, told = _program(running, _table(raw, "software"))
        version = version if told else release_of(program, {one.key: one.value for one in running}) or version
    role = next(
        (ROLES[item.value] for item in running if item.key in _ROLE_KEYS and item.value in ROLES), None
    )
    if role is not None:
        facts["role"] = role
    facts.setdefault("speculative", any("speculative" in item.key.replace("-", "_") for item in running))
    return AuditCase(
        settings=tuple(running),
        program=program,
        version=version,
        is_told=told,
        facts=facts,
        checkpoint=str(raw.get("model") or ""),
        positions=positions,
        rotary=rotary,
    )


def _table(raw: Mapping[str, object], name: str) -> Mapping[str, object]:
    """Names and values of a key of the question; none where it has no such table."""
    content = raw.get(name)
    return content if isinstance(content, Mapping) else {}


def is_on_ascend(running: Sequence[RunningSetting]) -> bool:
    """True if a launch sets anything that only programs on Ascend read."""
    return any(item.key.startswith(_ASCEND) for item in running)


def _program(running: Sequence[RunningSetting], software: Mapping[str, object]) -> tuple[str, str, bool]:
    """Program, release, and whether the release was told; on Ascend vLLM is its plugin."""
    program = str(next(iter(software), ""))
    if program in ON_ASCEND and is_on_ascend(running):
        return ON_ASCEND[program], newest_release(ON_ASCEND[program]), False
    told = str(software.get(program) or "")
    return program, told or newest_release(program), bool(told)


def _plain_facts(running: Sequence[RunningSetting], raw: Mapping[str, object]) -> dict[str, FactValue]:
    """Facts that need neither hardware nor a model."""
    facts: dict[str, FactValue] = {}
    for table in (_table(raw, "traits"), _table(raw, "shape")):
        facts |= {name: value for name, value in table.items() if isinstance(value, bool | int | float | str)}
    if phase := raw.get("phase"):
        facts["phase"] = str(phase)
    if isinstance(count := raw.get("count"), int):
        facts["devices"] = count
    if is_on_ascend(running):
        facts["hardware"] = frozenset({"huawei"})
    values = {item.key: item.value for item in running if item.place is not SettingPlace.ENV}
    return {**degrees_of(values), **facts}
