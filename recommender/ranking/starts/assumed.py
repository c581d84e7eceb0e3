"""Settings that the price of a layout assumes, in the words of a framework."""

import math
from collections.abc import Iterator, Mapping, Sequence

from kg.errors import InputError
from kg.nouns.layout import ParallelLayout
from kg.nouns.setting import SettingPlace
from kg.nouns.values import Value
from kg.terms.dialects import spell, statement
from kg.terms.meanings import OF_VLLM, OWN, kinds, programs
from recommender.cost_model.facts.device import PRECISION_NAMES
from recommender.cost_model.settings.engine_defaults import engine_defaults, replicated_by
from recommender.ranking.feasibility.server_fit import PAGE
from recommender.ranking.plan_setting import Origin, PlanSetting, settings_by_key
from recommender.ranking.starts.flags.layout_flags import FIELDED, MEGATRON, spelt_settings
from recommender.ranking.starts.lengths import longest, shared_context
from recommender.ranking.starts.situation import StartSituation

MINDSPEED = frozenset({"mindspeed", "mindspeed-llm", "mindspeed-mm", "mindspeed-rl"})
_QUEUES = "CUDA_DEVICE_MAX_CONNECTIONS"
_CHECKED_BY = "https://github.com/NVIDIA/Megatron-LM/blob/core_r0.14.0/megatron/training/arguments.py"
SERVED = OF_VLLM | {"sglang", "mindie", "tensorrt-llm", "lmdeploy", "tgi", "tei", "llama.cpp"}
OF_ADAPTERS = frozenset({"lora_rank", "frozen_bits"})
"""Facts of adapters: where a question tells them, no company of recipes takes them away."""
OF_A_LOAD = frozenset({"length", "batch"})
"""Kinds of facts that settings only bound."""
ALL_LAYERS = 999
"""Layers on the device that are more than any model has, as llama.cpp's own examples write all of them
(https://github.com/ggml-org/llama.cpp/blob/master/docs/build.md)."""
INTEGERS = frozenset({"int8", "w4a8", "w4a16"})
"""Formats that vllm-ascend serves from a checkpoint made for it."""


def assumed_settings(
    situation: StartSituation, layout: ParallelLayout, settings: Mapping[str, object] | None
) -> list[PlanSetting]:
    """The settings behind the price of a layout, in the number format that is told.

    Args:
        situation: What is asked.
        layout: How the work is divided.
        settings: Of the cost model: batch, micro-batch, recomputation, precision; None without a price.
    """
    framework, told = situation.framework.id, situation.problem.workload.precision
    priced = {"precision": "bf16", **(settings or {})}
    if told:
        priced["precision"] = PRECISION_NAMES.get(told, told)
    named, is_shared = str(priced["precision"]), replicated_by(framework, layout.degrees()) is not None
    is_refused = spell("precision", framework, situation.framework.version, named) is None
    if (is_shared or framework in FIELDED) and told and named != "bf16" and is_refused:
        raise untold(framework, "precision", named, "precision")
    if framework in MEGATRON | {"mindformers"}:
        facts = dict(_trained(layout, priced, framework))
    elif is_shared:
        facts = dict(_shared_out(situation, layout, priced))
    elif framework in SERVED:
        facts = dict(_served(situation, priced))
    else:
        return []
    if settings is None:
        kept = {"seq_len", "precision"} if told else {"seq_len"}
        facts = {name: value for name, value in facts.items() if name in kept}
    is_wide = facts.get("precision") == "fp8" and framework in MEGATRON - FIELDED
    rest = {"--bf16": True} if is_wide else {}  # what is not computed in eight bits
    return spelt_settings(facts, framework, copies=layout.dp) + settings_by_key(rest)


def one_queue(
    situation: StartSituation, layout: ParallelLayout | None, settings: Sequence[PlanSetting]
) -> list[PlanSetting]:
    """The variable without which Megatron refuses to divide products or sequences before Blackwell."""
    is_divided = layout is not None and layout.tp * layout.cp > 1
    is_told = any(item.key == _QUEUES for item in settings)
    is_checked = situation.framework.id in MEGATRON - FIELDED and not situation.facts.get("has_fp4")
    if not is_checked or not is_divided or is_told:
        return []
    return settings_by_key({_QUEUES: "1"}, Origin.KNOWLEDGE, _CHECKED_BY, SettingPlace.ENV)


def untold(program: str, name: str, value: Value, fact: str) -> InputError:
    """The refusal of what a program has no setting for, naming who has."""
    others = sorted(other for other in programs() if other != OWN and spell(fact, other, value=value))
    is_load = not others or kinds()[fact] in OF_A_LOAD
    said = f"of the load it is told so: --shape {name}={value}"
    return InputError(
        f"{program} has no setting that says {name}={value}",
        hint=said if is_load else f"{', '.join(others[:4])} have; --software names one of them",
    )


def _trained(
    layout: ParallelLayout, settings: Mapping[str, object], framework: str
) -> Iterator[tuple[str, Value]]:
    yield "precision", str(settings["precision"])
    yield from _whole(settings, "micro_batch")
    if layout.tp > 1:
        yield "sequence_parallel", 1
    if layout.dp * layout.cp > 1:
        yield from (("zero_stage", 1), ("overlap_gradients", 1))
    if layout.pp > 1 and (samples := settings.get("global_batch")):
        yield "turns", int(float(str(samples)) / float(str(settings["micro_batch"])) / layout.dp)
    if framework in MINDSPEED:
        yield "flash_attention", 1
    if (rank := settings.get("lora_rank")) and spell("lora_rank", framework) is None:
        raise untold(framework, "lora_rank", int(float(str(rank))), "lora_rank")
    yield from _whole(settings, "lora_rank")
    if settings.get("recompute") == "full":
        yield "recompute", "full"


def _shared_out(
    situation: StartSituation, layout: ParallelLayout, settings: Mapping[str, object]
) -> Iterator[tuple[str, Value]]:
    """Settings for a trainer that replicates or shards a model, where they differ from its defaults."""
    framework, running = situation.framework, statement(situation.current or {}).facts
    usual = engine_defaults("training", framework.id, framework.version)
    yield "precision", str(settings["precision"])
    yield from _whole(settings, "micro_batch")
    if layout.cp > 1:
        yield "cp", layout.cp
    if (length := situation.number("seq_len")) is not None:
        yield "seq_len", int(length)
    for name in ("lora_rank", "frozen_bits", "zero_stage", "recompute"):
        if (value := settings.get(name)) is None or value == usual.get(name, 0):
            continue
        value = value if isinstance(value, str) else int(float(str(value)))
        if name in OF_ADAPTERS and name in running:
            continue  # the script tells it in words of its own
        if name in OF_ADAPTERS and spell(name, framework.id, framework.version, value) is None:
            raise untold(framework.id, name, value, name)
        yield name, value


def _served(situation: StartSituation, settings: Mapping[str, object]) -> Iterator[tuple[str, Value]]:
    framework, precision = situation.framework.id, settings.get("precision")
    tokens = longest(situation)
    if framework == "llama.cpp":  # before b7698 the layers stay on the host; its slots share the context
        yield "device_layers", ALL_LAYERS
        tokens = shared_context(situation, int(float(str(settings.get("batch") or 1))))
    if tokens is not None:
        yield "max_len", tokens
    if framework == "mindie" and (prompt := situation.number("input_len")) is not None:
        yield "longest_prompt", math.ceil(prompt / PAGE) * PAGE
    yield from _whole(settings, "batch")
    captured = engine_defaults("serving", framework, situation.framework.version)["captured_requests"]
    if 0 < float(captured) < float(str(settings.get("batch") or 0)):
        yield from (("captured_requests", size) for _, size in _whole(settings, "batch"))
    if precision in {"fp16", "float32"} and (framework == "tei" or precision == "fp16"):
        yield "precision", str(precision).replace("float32", "fp32")
    if framework == "vllm-ascend" and precision in INTEGERS:
        yield "precision", "int8"


def _whole(settings: Mapping[str, object], name: str) -> Iterator[tuple[str, Value]]:
    if value := settings.get(name):
        yield name, int(float(str(value)))
