"""Translation of the settings of frameworks into settings of the cost model.

Megatron and MindSpeed for training, vLLM and SGLang for serving; names as the launch readers and the
strategies of the graph have them. What the cost model has no setting for is left out and named.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING

from recommender.cost_model.settings.plans import ALIASES, CHOICES, SERVING, TRAINING

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
        "speculative_num_draft_tokens": "speculative_tokens",
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
        "enforce_eager": ("graph", 0),
    }
)  # fmt: skip
"""Switches, and what they are when they are on."""

_GRAPHS = ("full", "full_decode_only", "piecewise", "full_and_piecewise")
_VALUES: Mapping[str, Mapping[str, tuple[str, object]]] = MappingProxyType(
    {
        "recompute_granularity": {"full": ("recompute", "full"), "selective": ("recompute", "selective")},
        "cudagraph_mode": {**dict.fromkeys(_GRAPHS, ("graph", 1)), "none": ("graph", 0)},
        "quantization": {
            "ascend": ("precision", "int8"),
            "w8a8_int8": ("precision", "int8"),
            "modelslim": ("precision", "int8"),
            "fp8": ("precision", "fp8"),
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
    for name, value in parameters.items():
        pair = _pair(name, value, count=count)
        if pair is None or pair[0] not in known:
            untold.append(name)
        elif pair[1] is not None:
            found[pair[0]] = pair[1]
    chunks = parameters.get("num_layers_per_virtual_pipeline_stage")
    stages = found.get("pipeline_parallel", 1)
    if isinstance(chunks, int) and chunks and layers and isinstance(stages, int) and phase == "training":
        whole, rest = divmod(layers, stages * chunks)
        if whole and not rest:
            found["virtual_stages"] = whole
            untold.remove("num_layers_per_virtual_pipeline_stage")
    return Translation(settings=found, untold=tuple(sorted(untold)))


def setting_of(name: str) -> str:
    """The setting of the cost model that a parameter of a framework stands for; its own name if unknown."""
    plain = name.strip().lstrip("-").replace("-", "_")
    if plain in _ON:
        return _ON[plain][0]
    if plain in _VALUES:
        return next(iter(_VALUES[plain].values()))[0]
    if plain == "enable_expert_parallel":
        return "expert_parallel"
    return COMMON.get(plain.lower()) or ALIASES.get(plain.lower()) or plain.lower()


def _pair(name: str, value: Value, *, count: int | None) -> tuple[str, object] | None:
    """A setting and its value; the value is None where a switch is off and says nothing, None if unknown."""
    plain = name.strip().lstrip("-").replace("-", "_")
    if plain in _ON:
        setting, on = _ON[plain]
        return setting, (on if _is_on(value) else None)
    if plain in _VALUES:
        return _VALUES[plain].get(str(value).lower())
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
