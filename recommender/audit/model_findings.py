"""Settings of a server that its model does not take: uneven heads, lengths beyond it, formats of weights."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kg.nouns.audit import FindingKind, FindingLevel
from kg.terms.dialects import positive, statement
from kg.terms.model_name import read_name
from kg.terms.purposes import QUANTISATION, plain_key
from recommender.audit.finding import SettingFinding

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ingest.questions.launches.running import RunningSetting
    from recommender.audit.case import AuditCase

_CHECKED_LENGTHS = frozenset({"vllm", "vllm-ascend", "sglang"})
"""Engines that compare the longest sequence with the positions of the model's configuration, and refuse."""
_PACKED = ("awq", "gptq")
"""Beginnings of formats that an engine loads and does not make."""
_STRETCHES = (
    "rope",
    "hf_overrides",
    "hf_config",
    "json_model_override",
    "long_max_model_len",
    "longer_context",
)
"""Parts of the names of settings that stretch positions, or allow more than there are."""
_REFUSED = {"en": "the program does not start", "zh": "程序无法启动"}


def model_findings(case: AuditCase) -> Iterator[SettingFinding]:
    """Settings of a server that are at odds with its model."""
    if case.facts.get("phase") == "training":
        return
    values = {item.key: item.value for item in case.settings if item.is_known}
    read = statement(values, case.program)
    for setting in case.settings:
        fact = read.fact_of.get(setting.key)
        size = positive(read.facts.get(fact)) if fact else None
        if fact == "tp" and size and not read.facts.get("dp_attention"):
            yield from _heads(case, setting, size)
        elif fact == "max_len" and size:
            yield from _length(case, setting, size)
        elif plain_key(setting.key) == QUANTISATION and setting.value.lower().startswith(_PACKED):
            yield from _format(case, setting)


def _heads(case: AuditCase, setting: RunningSetting, parts: int) -> Iterator[SettingFinding]:
    heads = case.facts.get("heads")
    if not isinstance(heads, int) or heads % parts == 0:
        return
    fewer = next(size for size in range(parts, 0, -1) if heads % size == 0)
    yield SettingFinding(
        rule="heads-not-divisible",
        kind=FindingKind.REFUSED,
        level=FindingLevel.ERROR,
        setting=setting,
        says={
            "en": f"the model's {heads} attention heads do not divide over {parts} devices",
            "zh": f"模型的 {heads} 个注意力头无法平分到 {parts} 张卡",
        },
        cost=_REFUSED,
        remedy=f"{setting.key} {fewer}",
    )


def _length(case: AuditCase, setting: RunningSetting, tokens: int) -> Iterator[SettingFinding]:
    names = {plain_key(item.key) for item in case.settings}
    is_stretched = any(part in name for name in names for part in _STRETCHES)
    if case.program not in _CHECKED_LENGTHS or not case.positions or tokens <= case.positions or is_stretched:
        return
    yield SettingFinding(
        rule="length-beyond-model",
        kind=FindingKind.REFUSED,
        level=FindingLevel.WARNING,
        setting=setting,
        says={
            "en": f"the model takes {case.positions:,} tokens, and nothing stretches its positions",
            "zh": f"模型只支持 {case.positions:,} 个位置，且未设置位置扩展",
        },
        cost=_REFUSED,
        right={
            "en": "where the checkpoint's own configuration stretches them",
            "zh": "权重自带的配置已扩展位置时",
        },
        remedy=f"{setting.key} {case.positions}",
    )


def _format(case: AuditCase, setting: RunningSetting) -> Iterator[SettingFinding]:
    """A format of packed weights, of a checkpoint on the hub whose name has none."""
    name = case.checkpoint
    if name.count("/") != 1 or name.startswith(("/", ".", "~")) or read_name(name).weights:
        return
    yield SettingFinding(
        rule="weights-not-packed",
        kind=FindingKind.REFUSED,
        level=FindingLevel.WARNING,
        setting=setting,
        says={
            "en": f"the engine loads {setting.value} weights and makes none, and {name} names none",
            "zh": f"引擎只加载而不生成 {setting.value} 权重，而 {name} 的名称中没有该格式",
        },
        cost=_REFUSED,
        right={"en": "where the checkpoint is packed so all the same", "zh": "该权重确为此格式时"},
    )
