"""Memory of serving: weights, cache, activations and the runtime on the fullest device.

Arrays run over configurations.
"""

from collections.abc import Mapping
from types import MappingProxyType

import numpy as np

from recommender.cost_model.facts.device import ELEMENT_BYTES
from recommender.cost_model.facts.model import ModelSizes
from recommender.cost_model.facts.physics import PHYSICS, Floats
from recommender.cost_model.settings.plans import CHOICES, FROM_GGUF, Columns
from recommender.cost_model.workloads.attention_kinds import cache_bytes
from recommender.cost_model.workloads.linear_attention import state_bytes

_SCALED = MappingProxyType({"int4": 4.16 / 8, "w4a16": 4.16 / 8, "w4a8": 4.16 / 8, "fp4": 4.25 / 8})
"""Bytes of a stored weight of few bits with its scales: 16 bits and a zero of 4 for 128 weights (AWQ and
GPTQ, their default groups), 8 for 32 (OCP Microscaling Formats 1.0). 8 bits have one a row or large block."""

_WEIGHT_BYTES = np.array([_SCALED.get(name, ELEMENT_BYTES[name]) for name in CHOICES["precision"]])


def kv_bytes(model: ModelSizes, s: Mapping[str, Floats]) -> Floats:
    """Bytes of cache per token and block on one device; a latent cache is not split."""
    split = 1.0 if model.latent else np.minimum(s["tensor_parallel"], max(model.kv_heads, 1))
    return np.asarray(cache_bytes(s) * model.kv_width / split)


def cached_rows(model: ModelSizes, length: Floats) -> Floats:
    """Rows of the cache that a sequence keeps over all blocks: windows and states do not grow."""
    full = model.layers - model.window_layers - model.linear_layers
    near = model.window_layers * np.minimum(length, model.window)
    states = 0.0 if model.linear_heads else model.linear_layers * model.linear_state
    return np.asarray(full * length + near + states)


def sequence_bytes(model: ModelSizes, s: Mapping[str, Floats], length: Floats) -> Floats:
    """Bytes that a sequence keeps on one device, over all blocks: cached rows, keys of an index, states."""
    states = model.linear_layers * state_bytes(model, s["tensor_parallel"])
    index = PHYSICS["index_bytes"] * model.index_layers * model.is_indexed * length
    return np.asarray(cached_rows(model, length) * kv_bytes(model, s) + states + index)


def _kept(model: ModelSizes, s: Mapping[str, Floats]) -> Floats:
    """Share of the blocks that a device of the longest stage holds."""
    return np.asarray(np.ceil(model.layers / s["pipeline_parallel"]) / model.layers)


def on_device(model: ModelSizes, s: Mapping[str, Floats]) -> Floats:
    """Share of the blocks that devices run; the host runs the others (``--gpu-layers`` of llama.cpp)."""
    return np.minimum(s["device_layers"] / model.layers, 1.0)


def weights(model: ModelSizes, s: Mapping[str, Floats]) -> Floats:
    """Bytes of weights behind one tensor rank, all stages of the pipeline together."""

    def size(group: str) -> Floats:
        return _WEIGHT_BYTES[s[group].astype(np.int64)]

    routed = model.routed_parameters
    attention = model.layers * model.attention_parameters
    head = model.vocabulary * model.hidden
    inner = np.maximum(model.parameters - routed - attention - head, 0.0)
    tp, ep = s["tensor_parallel"], s["expert_parallel"]
    dense = (
        size("precision_attention") * attention
        + size("precision_head") * head
        + size("precision_mlp") * inner
    )
    return np.asarray(dense / tp + size("precision_mlp") * routed / np.maximum(ep, tp))


def _beside(model: ModelSizes, s: Mapping[str, Floats]) -> Floats:
    """Bytes beside the blocks and the head: a tower for pictures, and the table of tokens that come in.

    The table is one of its own where it is not tied to the head. Both are in 16 bits, but GGUF's tables.
    """
    head = s["precision_head"].astype(np.int64)
    each = np.where(head >= FROM_GGUF, _WEIGHT_BYTES[head], 2.0)
    table = each * (model.embeddings - 1) * model.vocabulary * model.hidden
    return np.asarray((table + 2 * model.tower_parameters) / s["tensor_parallel"])


def memory_parts(
    model: ModelSizes, s: Columns, batch: Floats, *, reserved: float = PHYSICS["reserved_bytes"]
) -> dict[str, Floats]:
    """Bytes on the fullest device: weights, cache, activations and the runtime.

    Sequences are of every age at once: one is taken to be full, the others half answered, as many engines
    admit them (vLLM and SGLang hand out blocks of the cache as answers grow). Blocks of a prefix that prompts
    share are kept once. Where nobody bounds the tokens of a step, the engine may (``step_tokens``).
    """
    shared, whole = s["prefix_hit"] * s["input_len"], s["input_len"] + s["output_len"]
    full = sequence_bytes(model, s, whole)
    mean = sequence_bytes(model, s, whole - s["output_len"] / 2)
    mean = mean - (full - sequence_bytes(model, s, whole - shared))
    bound = np.where(s["step_tokens"] > 0, np.minimum(s["step_tokens"], s["input_len"]), s["input_len"])
    chunk = np.where(s["chunk"] > 0, s["chunk"], bound)
    held = np.maximum(chunk, batch * (1 + s["speculative_tokens"]))
    tp, kept = s["tensor_parallel"], _kept(model, s) * on_device(model, s)
    wide = 4 * model.hidden + 4 * (model.inner or model.expert_inner * model.chosen) / tp
    return {
        "weights": (weights(model, s) + _beside(model, s)) * kept,
        "kv_cache": (full + (batch - 1) * mean) * (1 - s["kv_host_share"]) * kept,
        "activations": held * wide * 2 + batch * model.vocabulary / tp * 4,
        "reserved": np.full_like(tp, reserved),
    }
