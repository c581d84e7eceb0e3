"""Translation of the settings of frameworks into settings of the cost model, and back.

Megatron and MindSpeed for training, vLLM, SGLang and MindIE for serving; names as launch readers, recipes and
the strategies of the graph have them. What the cost model has no setting for is left out and named.

SGLang counts otherwise than vLLM: its tensor-parallel size holds the replicas of data-parallel attention, its
limit of running requests is over all of them, its draft tokens count the root, and a chunk of -1 is none.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING

from kg.errors import InputError
from recommender.cost_model.settings.engine_defaults import largest_captured
from recommender.cost_model.settings.plans import ALIASES, CHOICES, PIECEWISE, SERVING, TRAINING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from kg.nouns.values import Value

COMMON = MappingProxyType(
    {
        "tensor_model_parallel_size": "tensor_parallel", "tp_size": "tensor_parallel",
        "pipeline_model_parallel_size": "pipeline_parallel", "pp_size": "pipeline_parallel",
        "dp_size": "data_parallel", "expert_model_parallel_size": "expert_parallel",
        "ep_size": "expert_parallel", "moe_ep_size": "expert_parallel",
        "virtual_pipeline_model_parallel_size": "virtual_stages",
        "num_virtual_stages_per_pipeline_rank": "virtual_stages",
        "seq_length": "seq_len", "max_num_seqs": "batch", "max_running_requests": "batch",
        "max_num_batched_tokens": "chunk", "chunked_prefill_size": "chunk",
        "num_speculative_tokens": "speculative_tokens",
        "maxbatchsize": "batch", "maxprefilltokens": "chunk", "worldsize": "tensor_parallel",
        "speculationgamma": "speculative_tokens", "moe_ep": "expert_parallel",
    }
)  # fmt: skip
"""Names beside those of ``plans.ALIASES``; the value stays as it is."""

_ON = MappingProxyType(
    {
        "use_distributed_optimizer": ("zero_stage", 1),
        "sequence_parallel": ("sequence_parallel", 1),
        "overlap_grad_reduce": ("overlap_gradients", 1),
        "use_flash_attn": ("flash_attention", 1),
        "use_fused_rmsnorm": ("fused_ops", 1), "use_fused_swiglu": ("fused_ops", 1),
        "use_fused_rotary_pos_emb": ("fused_ops", 1),
        "use_ascend_mc2": ("overlap_tensor_parallel", 1), "use_ascend_coc": ("overlap_tensor_parallel", 1),
        "moe_grouped_gemm": ("grouped_matmul", 1),
        "recompute_activations": ("recompute", "selective"),
        "async_activation_offload": ("offload", "activations"), "swap_attention": ("offload", "activations"),
        "swap_optimizer": ("offload", "optimizer"),
        "bf16": ("precision", "bf16"), "fp16": ("precision", "fp16"),
        "VLLM_ASCEND_ENABLE_FLASHCOMM1": ("sequence_parallel", 1),
        "enforce_eager": ("graph", 0), "disable_cuda_graph": ("graph", 0),
        "async_scheduling": ("async_scheduling", 1), "enable_async_scheduling": ("async_scheduling", 1),
        "VLLM_ASCEND_ENABLE_FLASHCOMM": ("sequence_parallel", 1),
        "VLLM_ASCEND_ENABLE_FUSED_MC2": ("fused_dispatch", 1), "enable_fused_mc2": ("fused_dispatch", 1),
        "enable_dsa_cp": ("index_parallel", 1),
        "swap_modules": ("offload", "activations"), "smart_swap": ("offload", "activations"),
        "fused_rmsnorm": ("fused_ops", 1), "use_fused_ring_attention_update": ("fused_ops", 1),
        "npu_rms_norm": ("fused_ops", 1), "npu_rotary_mul": ("fused_ops", 1), "npu_swiglu": ("fused_ops", 1),
            }
)  # fmt: skip
"""Switches, and what they are when they are on."""

_GRAPHS = ("full", "full_decode_only", "full_and_piecewise")
_VALUES: Mapping[str, Mapping[str, tuple[str, object]]] = MappingProxyType(
    {
        "recompute_granularity": {"full": ("recompute", "full"), "selective": ("recompute", "selective")},
        "cudagraph_mode": {
            **dict.fromkeys(_GRAPHS, ("graph", 1)),
            "piecewise": ("graph", PIECEWISE),
            "none": ("graph", 0),
        },
        "quantization": {
            "ascend": ("precision", "int8"),
            "w8a8_int8": ("precision", "int8"),
            "modelslim": ("precision", "int8"),
            "fp8": ("precision", "fp8"),
            "compressed_tensors": ("precision", "w4a16"),
        },
        "kv_cache_dtype": {
            **dict.fromkeys(("int8", "c8"), ("precision_cache", "int8")),
            **dict.fromkeys(("fp8", "fp8_e4m3", "fp8_e5m2"), ("precision_cache", "fp8")),
            **dict.fromkeys(("auto", "bf16", "bfloat16"), ("precision_cache", "bf16")),
        },
    }
)
"""Parameters whose words stand for a value of another setting."""

OFF: Mapping[str, object] = MappingProxyType(
    {
        "zero_stage": 0, "sequence_parallel": 0, "overlap_gradients": 0, "flash_attention": 0, "fused_ops": 0,
        "overlap_tensor_parallel": 0, "grouped_matmul": 0, "recompute": "none", "offload": "none", "graph": 0,
        "expert_parallel": 1, "context_parallel": 1, "speculative_tokens": 0, "virtual_stages": 1,
    }
)  # fmt: skip
"""What a setting is without a strategy that turns it on."""

FIELDS = frozenset(
    {"compilation_config", "speculative_config", "additional_config", "torchair_graph_config",
     "parallel_config",
     "ascend_scheduler_config", "models", "backendconfig", "scheduleconfig", "modelconfig"}
)  # fmt: skip
"""Objects whose fields are settings of their own; those of others, as of a peer's transfer, are not."""

WORDS: Mapping[str, Mapping[str, str]] = MappingProxyType(
    {
        "vllm": {
            "tensor_parallel": "tensor_parallel_size", "pipeline_parallel": "pipeline_parallel_size",
            "data_parallel": "data_parallel_size", "batch": "max_num_seqs", "chunk": "max_num_batched_tokens",
            "speculative_tokens": "num_speculative_tokens",
        },
        "sglang": {
            "tensor_parallel": "tp_size", "pipeline_parallel": "pp_size", "data_parallel": "dp_size",
            "expert_parallel": "ep_size", "batch": "max_running_requests", "chunk": "chunked_prefill_size",
            "speculative_tokens": "speculative_num_draft_tokens",
        },
        "mindie": {
            "tensor_parallel": "tp", "data_parallel": "dp", "expert_parallel": "moe_ep",
            "batch": "maxBatchSize",
            "chunk": "maxPrefillTokens", "speculative_tokens": "speculationGamma",
        },
        "megatron": {
            "tensor_parallel": "tensor_model_parallel_size",
            "pipeline_parallel": "pipeline_model_parallel_size",
            "context_parallel": "context_parallel_size", "expert_parallel": "expert_model_parallel_size",
            "virtual_stages": "num_virtual_stages_per_pipeline_rank", "micro_batch": "micro_batch_size",
            "global_batch": "global_batch_size", "seq_len": "seq_length", "lora_rank": "lora_r",
        },
    }
)  # fmt: skip
"""Parameters of a framework for settings of the cost model, where a number stands for a number."""

_SWITCHES: Mapping[str, tuple[tuple[str, object, str, Value], ...]] = MappingProxyType(
    {
        "vllm": (("graph", 0, "enforce_eager", True), ("async_scheduling", 1, "async_scheduling", True),
                 ("sequence_parallel", 1, "VLLM_ASCEND_ENABLE_FLASHCOMM1", 1),
                 ("precision", "int8", "quantization", "ascend"), ("precision", "fp8", "quantization", "fp8"),
                 ("precision_cache", "fp8", "kv_cache_dtype", "fp8")),
        "sglang": (("graph", 0, "disable_cuda_graph", True),
                   ("precision", "int8", "quantization", "modelslim"),
                   ("precision", "fp8", "quantization", "fp8"),
                   ("precision_cache", "fp8", "kv_cache_dtype", "fp8_e4m3")),
        "mindie": (),
        "megatron": (("zero_stage", 1, "use_distributed_optimizer", True),
                     ("sequence_parallel", 1, "sequence_parallel", True),
                     ("overlap_gradients", 1, "overlap_grad_reduce", True),
                     ("flash_attention", 1, "use_flash_attn", True),
                     ("grouped_matmul", 1, "moe_grouped_gemm", True),
                     ("recompute", "full", "recompute_granularity", "full"),
                     ("recompute", "selective", "recompute_granularity", "selective"),
                     ("offload", "optimizer", "swap_optimizer", True),
                     ("offload", "activations", "swap_attention", True),
                     ("precision", "bf16", "bf16", True), ("precision", "fp16", "fp16", True)),
    }
)  # fmt: skip
"""A setting at a value, and the parameter that says so, by framework."""

FAMILIES: Mapping[str, str] = MappingProxyType(
    {"vllm-ascend": "vllm", "mindspeed": "megatron", "mindspeed-llm": "megatron", "mindspeed-mm": "megatron",
     "megatron-lm": "megatron", "mindie-llm": "mindie"}
)  # fmt: skip
"""Frameworks that take the words of another."""

_TRUE = frozenset({"true", "1", "on", "yes"})


@dataclass(frozen=True, slots=True)
class Translation:
    """Settings of the cost model, and parameters that it has none for.

    Attributes:
        settings: By the names of ``plans``.
        untold: Names that could not be translated, sorted.
    """

    settings: Mapping[str, object] = field(default_factory=dict)
    untold: tuple[str, ...] = ()


def translate(
    parameters: Mapping[str, Value], phase: str, *, count: int | None = None, layers: int | None = None
) -> Translation:
    """The settings of the cost model for a configuration of a framework.

    Args:
        parameters: Names and values of a framework, or of the cost model itself.
        phase: ``"training"`` or ``"serving"``.
        count: Devices; "expert parallel on" means all of a replica's tensor and data ranks.
        layers: Blocks of the model, for stages given as layers per stage.
    """
    known = TRAINING if phase == "training" else SERVING
    found: dict[str, object] = {}
    untold: list[str] = []
    for name, written in parameters.items():
        value = _value(written)
        pair = _pair(name, value, count=count)
        if pair is None or pair[0] not in known:
            untold.append(name)
        elif pair[1] is not None:
            found[pair[0]] = pair[1]
    chunks = _value(parameters.get("num_layers_per_virtual_pipeline_stage", 0))
    stages = found.get("pipeline_parallel", 1)
    if isinstance(chunks, int) and chunks and layers and isinstance(stages, int) and phase == "training":
        whole, rest = divmod(layers, stages * chunks)
        if whole and not rest:
            found["virtual_stages"] = whole
            untold.remove("num_layers_per_virtual_pipeline_stage")
    if phase == "training" and any(_plain(name) == ADAPTED for name in parameters):
        found.setdefault("lora_rank", LORA_RANK)
    if phase == "serving":
        told = {_plain(name): _value(value) for name, value in parameters.items()}
        untold = _counted_as_sglang(told, found, untold)
        if str(told.get("method", "")).lower().endswith("mtp"):
            found.setdefault("speculative_tokens", DRAFTED_BY_LAYER)
    return Translation(settings=found, untold=tuple(sorted(untold)))


def _counted_as_sglang(told: Mapping[str, Value], found: dict[str, object], untold: list[str]) -> list[str]:
    """Bring what SGLang counts otherwise to the counts of the cost model; returns what is still untold."""
    copies = found.get("data_parallel", 1)
    if isinstance(copies, int) and copies > 1:
        tensor, running = found.get("tensor_parallel"), found.get("batch")
        if _is_on(told.get("enable_dp_attention", "")) and isinstance(tensor, int) and not tensor % copies:
            found["tensor_parallel"] = tensor // copies
            untold = [name for name in untold if _plain(name) != "enable_dp_attention"]
        if "max_running_requests" in told and isinstance(running, int):
            found["batch"] = max(running // copies, 1)
    backend = "moe_a2a_backend"
    if str(told.get(backend, "none")) != "none" and "ep_size" not in told and "tp_size" in told:
        found["expert_parallel"] = told["tp_size"]
        untold = [name for name in untold if _plain(name) != backend]
    return untold


ADAPTED, LORA_RANK = "lora_target_modules", 16
"""What says that MindSpeed-LLM trains adapters, and their rank where it is not stated (its ``--lora-r``)."""
DRAFTED_BY_LAYER = 1
"""Tokens that layers for multi-token prediction draft where a command does not say: as many as there are
layers (``n_predict`` of vLLM's ``SpeculativeConfig``), and published networks have one."""


def captured_rows(
    engine: str, version: str, parameters: Mapping[str, Value], settings: Mapping[str, object]
) -> dict[str, object]:
    """The setting ``captured_rows`` that follows from an engine's most sequences; empty if none does."""
    told = {_plain(name): _value(value) for name, value in parameters.items()}
    sequences, drafted = told.get("max_num_seqs"), settings.get("speculative_tokens", 0)
    if not isinstance(sequences, int) or sequences < 1 or not isinstance(drafted, int):
        return {}
    rows = largest_captured(engine, version, sequences, drafted)
    return {"captured_rows": rows} if rows else {}


def spell(settings: Mapping[str, object], framework: str) -> dict[str, Value]:
    """The parameters by which a framework is told settings of the cost model; others are left out.

    The inverse of :func:`translate`: what it gives translates back to the same settings.

    Args:
        settings: By the names of the cost model.
        framework: Id, such as ``"vllm-ascend"``.

    Raises:
        InputError: No such dialect.
    """
    family = FAMILIES.get(framework, framework)
    if family not in WORDS:
        raise InputError(f"no dialect of {framework!r}", hint=f"known: {', '.join((*WORDS, *FAMILIES))}")
    words = WORDS[family]
    out: dict[str, Value] = {
        words[name]: value
        for name, value in settings.items()
        if name in words and isinstance(value, int | float)
    }
    out |= {word: value for name, at, word, value in _SWITCHES[family] if settings.get(name) == at}
    if family == "vllm" and _count(settings, "expert_parallel") > 1:
        out["enable_expert_parallel"] = True
    if family == "sglang":
        copies = _count(settings, "data_parallel")
        if copies > 1:
            out["enable_dp_attention"] = True
            counted = ("tp_size", "max_running_requests")
            out |= {name: int(str(out[name])) * copies for name in counted if name in out}
        if "speculative_num_draft_tokens" in out:
            out["speculative_num_draft_tokens"] = _count(settings, "speculative_tokens") + 1
        if settings.get("chunk") == 0:
            out["chunked_prefill_size"] = -1
    return out


def _count(settings: Mapping[str, object], name: str) -> int:
    value = settings.get(name, 1)
    return int(value) if isinstance(value, int | float) else 1


def _plain(name: str) -> str:
    """A parameter's name without dashes, and without the object of settings that it is a field of."""
    plain = name.strip().lstrip("-").replace("-", "_")
    head, dot, tail = plain.partition(".")
    return tail.rpartition(".")[2] if dot and re.sub(r"\W.*", "", head).lower() in FIELDS else plain


def _value(written: Value) -> Value:
    """A number for a text that is one."""
    if isinstance(written, str) and re.fullmatch(r"-?\d+", written.strip()):
        return int(written)
    return written


def setting_of(name: str) -> str:
    """The setting of the cost model that a parameter of a framework stands for; its own name if unknown."""
    plain = _plain(name)
    if plain in _ON:
        return _ON[plain][0]
    if plain in _VALUES:
        return next(iter(_VALUES[plain].values()))[0]
    if plain == "enable_expert_parallel":
        return "expert_parallel"
    return COMMON.get(plain.lower()) or ALIASES.get(plain.lower()) or plain.lower()


def _pair(name: str, value: Value, *, count: int | None) -> tuple[str, object] | None:
    """A setting and its value; the value is None where a switch is off and says nothing, None if unknown."""
    plain = _plain(name)
    if plain == "enforce_eager" and "speculative_config" in name.replace("-", "_"):
        return "draft_graph", (0 if _is_on(value) else None)
    if plain in {"cudagraph_capture_sizes", "max_cudagraph_capture_size"}:
        sizes = [int(size) for size in re.findall(r"\d{1,9}", str(value))]
        return ("captured_rows", max(sizes)) if sizes else None
    if plain in _ON:
        setting, on = _ON[plain]
        return setting, (on if _is_on(value) else None)
    if plain in _VALUES:
        return _VALUES[plain].get(str(value).lower().replace("-", "_"))
    if plain == "chunked_prefill_size":
        return ("chunk", max(value, 0)) if isinstance(value, int) else None
    if plain == "speculative_num_draft_tokens":
        return ("speculative_tokens", max(value - 1, 0)) if isinstance(value, int) else None
    if plain == "enable_expert_parallel":
        if _is_on(value):
            return ("expert_parallel", count) if count else None
        return "expert_parallel", 1
    if plain in {"optimizer", "optimizer_type"}:
        return ("fused_optimizer", 1) if "fused" in str(value).lower() else None
    setting = setting_of(plain)
    if setting in CHOICES:
        return setting, value
    if isinstance(value, bool):
        return setting, int(value)
    return (setting, value) if isinstance(value, int | float) else None


def _is_on(value: Value) -> bool:
    """True if a switch is on; one that is merely present is."""
    return value is None or str(value).strip().lower() in _TRUE
