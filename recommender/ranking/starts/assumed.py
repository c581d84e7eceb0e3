"""Settings that the price of a layout assumes, in the words of a framework."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from kg.nouns.setting import SettingPlace
from recommender.ranking.plan_setting import Origin, PlanSetting
from recommender.ranking.starts.layout_flags import MEGATRON, PLACES, VLLM
from recommender.ranking.starts.lengths import PAGE, longest

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from kg.nouns.layout import ParallelLayout
    from kg.nouns.values import Value
    from recommender.ranking.starts.situation import StartSituation

MINDSPEED = frozenset({"mindspeed", "mindspeed-llm", "mindspeed-mm"})
ADAPTED = "linear_qkv linear_proj linear_fc1 linear_fc2"
"""Products of a block that get an adapter, as MindSpeed-LLM's scripts for low-rank adapters name them."""
INTEGERS = frozenset({"int8", "w4a8", "w4a16"})
"""Formats that vllm-ascend serves from a checkpoint made for it."""


def assumed_settings(
    situation: StartSituation, layout: ParallelLayout, settings: Mapping[str, object]
) -> list[PlanSetting]:
    """The settings behind the price of a layout.

    Args:
        situation: What is asked.
        layout: How the work is divided.
        settings: Of the cost model: batch, micro-batch, recomputation, precision.
    """
    framework = situation.framework.id
    if framework in MEGATRON:
        pairs = _megatron(layout, settings, framework)
    elif framework in VLLM:
        pairs = _vllm(situation, settings)
    elif framework == "sglang":
        pairs = _sglang(situation, layout, settings)
    elif framework == "mindie":
        pairs = _mindie(situation, settings)
    elif framework == "tensorrt-llm":
        pairs = _tensorrt_llm(situation, settings)
    else:
        return []
    where, file = PLACES.get(framework, (SettingPlace.FLAG, ""))
    return [
        PlanSetting(where=where, key=key, value=value, origin=Origin.COST_MODEL, file=file)
        for key, value in pairs
    ]


def _megatron(
    layout: ParallelLayout, settings: Mapping[str, object], framework: str
) -> Iterator[tuple[str, Value]]:
    yield f"--{settings.get('precision', 'bf16')}", True
    if (micro := settings.get("micro_batch")) is not None:
        yield "--micro-batch-size", int(float(str(micro)))
    if layout.tp > 1:
        yield "--sequence-parallel", True
    if layout.dp * layout.cp > 1:
        yield "--use-distributed-optimizer", True
        yield "--overlap-grad-reduce", True
        yield "--overlap-param-gather", True
    if framework in MINDSPEED:
        yield "--use-flash-attn", True
        if rank := settings.get("lora_rank"):
            yield "--lora-r", int(float(str(rank)))
            yield "--lora-target-modules", ADAPTED
    if settings.get("recompute") == "full":
        yield "--recompute-granularity", "full"
        yield "--recompute-method", "uniform"
        yield "--recompute-num-layers", 1


def _vllm(situation: StartSituation, settings: Mapping[str, object]) -> Iterator[tuple[str, Value]]:
    if (tokens := longest(situation)) is not None:
        yield "--max-model-len", tokens
    if (batch := settings.get("batch")) is not None:
        yield "--max-num-seqs", int(float(str(batch)))
    if settings.get("precision") == "fp16":
        yield "--dtype", "float16"
    if situation.framework.id == "vllm-ascend" and settings.get("precision") in INTEGERS:
        yield "--quantization", "ascend"


def _sglang(
    situation: StartSituation, layout: ParallelLayout, settings: Mapping[str, object]
) -> Iterator[tuple[str, Value]]:
    if (tokens := longest(situation)) is not None:
        yield "--context-length", tokens
    if (batch := settings.get("batch")) is not None:
        yield "--max-running-requests", int(float(str(batch))) * layout.dp


def _mindie(situation: StartSituation, settings: Mapping[str, object]) -> Iterator[tuple[str, Value]]:
    if (tokens := longest(situation)) is not None:
        yield "BackendConfig.ModelDeployConfig.maxSeqLen", tokens
    if (prompt := situation.number("input_len")) is not None:
        yield "BackendConfig.ModelDeployConfig.maxInputTokenLen", math.ceil(prompt / PAGE) * PAGE
    if (batch := settings.get("batch")) is not None:
        yield "BackendConfig.ScheduleConfig.maxBatchSize", int(float(str(batch)))


def _tensorrt_llm(situation: StartSituation, settings: Mapping[str, object]) -> Iterator[tuple[str, Value]]:
    if (tokens := longest(situation)) is not None:
        yield "--max_seq_len", tokens
    if (batch := settings.get("batch")) is not None:
        yield "--max_batch_size", int(float(str(batch)))
