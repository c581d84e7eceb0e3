"""The case of an audit from a question: its program, its release, and what is known around the launch."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from kg.nouns.setting import SettingPlace
from kg.terms.dialects import degrees_of
from recommender.applicability.framework import newest_release
from recommender.audit.case import AuditCase

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ingest.questions.launches.running import RunningSetting
    from kg.terms.conditions import FactValue
    from recommender.applicability.framework import RunningFramework

ROLES = {"kv_producer": "prefill", "prefill": "prefill", "kv_consumer": "decode", "decode": "decode"}
_ROLE_KEYS = ("kv_transfer_config.kv_role", "--disaggregation-mode")
_ASCEND = ("ASCEND_", "HCCL_", "TASK_QUEUE_", "VLLM_ASCEND_", "PYTORCH_NPU_")
"""Beginnings of variables that only programs on Ascend read."""
_ON_ASCEND = {"vllm": "vllm-ascend", "megatron-lm": "mindspeed-llm"}
"""What runs there in the place of a program."""


def audit_case(
    running: Sequence[RunningSetting],
    raw: Mapping[str, object],
    *,
    framework: RunningFramework | None = None,
    stated: Mapping[str, FactValue] | None = None,
    hardware: Sequence[str] = (),
) -> AuditCase:
    """What an audit looks at.

    Args:
        running: Settings of the launch.
        raw: The question as it was put.
        framework: What runs; None where no framework is known for the question, which names it itself then.
        stated: Facts of the question; None where it is not whole.
        hardware: The device and what is above it in the tree; empty where it is not told.
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
    role = next(
        (ROLES[item.value] for item in running if item.key in _ROLE_KEYS and item.value in ROLES), None
    )
    if role is not None:
        facts["role"] = role
    facts.setdefault("speculative", any("speculative" in item.key.replace("-", "_") for item in running))
    return AuditCase(settings=tuple(running), program=program, version=version, is_told=told, facts=facts)


def _table(raw: Mapping[str, object], name: str) -> Mapping[str, object]:
    """Names and values of a key of the question; none where it has no such table."""
    content = raw.get(name)
    return content if isinstance(content, Mapping) else {}


def is_on_ascend(running: Sequence[RunningSetting]) -> bool:
    """Whether a launch sets what only programs on Ascend read."""
    return any(item.key.startswith(_ASCEND) for item in running)


def _program(running: Sequence[RunningSetting], software: Mapping[str, object]) -> tuple[str, str, bool]:
    """Program, release, and whether the release was told; on Ascend vLLM is its plugin."""
    program = str(next(iter(software), ""))
    if program in _ON_ASCEND and is_on_ascend(running):
        return _ON_ASCEND[program], newest_release(_ON_ASCEND[program]), False
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
