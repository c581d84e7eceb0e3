"""A layout in the words of each framework."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kg.nouns.setting import SettingPlace
from recommender.ranking.start import Origin, PlanSetting

if TYPE_CHECKING:
    from kg.nouns.values import Value
    from recommender.ranking.start import ParallelLayout

VLLM = frozenset({"vllm", "vllm-ascend"})
MEGATRON = frozenset({"megatron-lm", "mindspeed", "mindspeed-llm", "mindspeed-mm"})
SPLITTING = VLLM | MEGATRON | {"sglang", "mindie", "mindformers", "tensorrt-llm"}
"""Frameworks that split one model over devices; others replicate it."""


def layout_settings(
    layout: ParallelLayout,
    framework: str,
    *,
    experts: bool,
    origin: Origin = Origin.COST_MODEL,
    source: str = "",
) -> list[PlanSetting]:
    """The settings that make a framework use a layout; none where its launcher is told the devices alone.

    Args:
        layout: What.
        framework: Id of the framework.
        experts: Whether the model has experts.
        origin: What the layout comes from.
        source: Where that can be read.
    """
    if framework in VLLM:
        pairs = _vllm(layout, experts=experts)
    elif framework == "sglang":
        pairs = _sglang(layout)
    elif framework in MEGATRON:
        pairs = _megatron(layout, experts=experts)
    else:
        return []
    return [
        PlanSetting(where=SettingPlace.FLAG, key=key, value=value, origin=origin, source=source)
        for key, value in pairs
    ]


def _vllm(layout: ParallelLayout, *, experts: bool) -> list[tuple[str, Value]]:
    pairs: list[tuple[str, Value]] = [("--tensor-parallel-size", layout.tp)]
    if layout.pp > 1:
        pairs.append(("--pipeline-parallel-size", layout.pp))
    if layout.dp > 1:
        pairs.append(("--data-parallel-size", layout.dp))
    if experts and layout.ep > 1:
        pairs.append(("--enable-expert-parallel", True))
    return pairs


def _sglang(layout: ParallelLayout) -> list[tuple[str, Value]]:
    """SGLang counts the replicas of data-parallel attention inside its tensor-parallel size."""
    pairs: list[tuple[str, Value]] = [("--tp-size", layout.tp)]
    if layout.pp > 1:
        pairs.append(("--pp-size", layout.pp))
    if layout.dp > 1:
        pairs.append(("--dp-size", layout.dp))
        if layout.dp_attention:
            pairs.append(("--enable-dp-attention", True))
    return pairs


def _megatron(layout: ParallelLayout, *, experts: bool) -> list[tuple[str, Value]]:
    pairs: list[tuple[str, Value]] = [
        ("--tensor-model-parallel-size", layout.tp),
        ("--pipeline-model-parallel-size", layout.pp),
    ]
    if layout.cp > 1:
        pairs.append(("--context-parallel-size", layout.cp))
    if experts:
        pairs.append(("--expert-model-parallel-size", layout.ep))
    return pairs
