"""A layout in the words of each framework."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kg.nouns.setting import SettingPlace
from recommender.ranking.plan_setting import Origin, PlanSetting

if TYPE_CHECKING:
    from kg.nouns.layout import ParallelLayout
    from kg.nouns.values import Value

VLLM = frozenset({"vllm", "vllm-ascend"})
MEGATRON = frozenset({"megatron-lm", "mindspeed", "mindspeed-llm", "mindspeed-mm"})
MINDIE_FILE = "config.json"
_MODEL_CONFIG = "BackendConfig.ModelDeployConfig.ModelConfig"
EXPERTS_OF_SGLANG = "--ep-size"
SPLITTING = VLLM | MEGATRON | {"sglang", "mindie", "mindformers", "tensorrt-llm"}
"""Frameworks that split one model over devices; others replicate it."""


def layout_settings(
    layout: ParallelLayout,
    framework: str,
    *,
    experts: bool,
    layers: float | None = None,
    origin: Origin = Origin.COST_MODEL,
    source: str = "",
) -> list[PlanSetting]:
    """The settings that make a framework use a layout; none where its launcher is told the devices alone.

    Args:
        layout: What.
        framework: Id of the framework.
        experts: Whether the model has experts.
        layers: Its blocks; None if unknown.
        origin: What the layout comes from.
        source: Where that can be read.
    """
    if framework in VLLM:
        pairs = _vllm(layout, experts=experts)
    elif framework == "sglang":
        pairs = _sglang(layout)
    elif framework in MEGATRON:
        pairs = [*_megatron(layout, experts=experts), *_uneven(layout, framework, int(layers or 0))]
    elif framework == "tensorrt-llm":
        pairs = [("--tp_size", layout.tp), ("--pp_size", layout.pp), ("--ep_size", layout.ep)]
    elif framework == "mindie":
        pairs = _mindie(layout, experts=experts)
    elif framework == "mindformers":
        pairs = _mindformers(layout)
    else:
        return []
    where, file = PLACES.get(framework, (SettingPlace.FLAG, ""))
    return [
        PlanSetting(where=where, key=key, value=value, origin=origin, source=source, file=file)
        for key, value in pairs
    ]


PLACES = {
    "mindie": (SettingPlace.JSON, MINDIE_FILE),
    "mindformers": (SettingPlace.YAML, "the task's YAML"),
}
"""Where frameworks that read no flags take their settings, and the file."""


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
    if layout.ep > 1:
        pairs.append((EXPERTS_OF_SGLANG, layout.ep))
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


def _uneven(layout: ParallelLayout, framework: str, layers: int) -> list[tuple[str, Value]]:
    """Stages where blocks do not divide into them: some blocks do nothing, or the last stage has fewer.

    MindSpeed, docs/features/noop-layers.md; Megatron-LM, ``--decoder-last-pipeline-num-layers``.
    """
    each = -(-layers // layout.pp)
    idle = each * layout.pp - layers
    if not idle:
        return []
    if framework == "megatron-lm":
        last = each - idle
        return [("--decoder-last-pipeline-num-layers", last)] if last > 0 else []
    names = ",".join(str(layers + place) for place in range(idle))
    return [("--num-layers", layers + idle), ("--noop-layers", names)]


def _mindie(layout: ParallelLayout, *, experts: bool) -> list[tuple[str, Value]]:
    """Fields of MindIE's service configuration: its world size, and how attention and experts divide it."""
    pairs: list[tuple[str, Value]] = [("worldSize", layout.devices)]
    if layout.dp > 1 or experts:
        pairs += [("dp", layout.dp), ("tp", layout.tp)]
    if experts:
        pairs += [("moe_ep", layout.ep), ("moe_tp", layout.devices // layout.ep)]
    return [(f"{_MODEL_CONFIG}.{name}", size) for name, size in pairs]


def _mindformers(layout: ParallelLayout) -> list[tuple[str, Value]]:
    degrees = {
        "data_parallel": layout.dp,
        "model_parallel": layout.tp,
        "pipeline_stage": layout.pp,
        "context_parallel": layout.cp,
        "expert_parallel": layout.ep,
    }
    return [(f"parallel_config.{name}", size) for name, size in degrees.items() if size > 1]
