"""A model's ``config.json`` of Hugging Face transformers: its sizes, by the names of the graph's facts."""

from __future__ import annotations

import json
from types import MappingProxyType
from typing import TYPE_CHECKING

from ingest.questions.launches.launch_facts import LaunchFacts
from ingest.questions.launches.serving import name_and_format
from kg.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Mapping

SIZES: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "layers": ("num_hidden_layers", "n_layer", "num_layers", "n_layers"),
        "hidden_size": ("hidden_size", "n_embd", "d_model"),
        "attention_heads": ("num_attention_heads", "n_head", "num_heads", "n_heads"),
        "kv_heads": ("num_key_value_heads", "multi_query_group_num"),
        "intermediate_size": (
            "dense_intermediate_size",
            "intermediate_size",
            "ffn_hidden_size",
            "n_inner",
            "d_ff",
        ),
        "vocabulary_size": ("vocab_size", "padded_vocab_size"),
        "head_dim": ("head_dim", "kv_channels"),
        "experts": ("n_routed_experts", "num_local_experts", "num_experts", "moe_num_experts"),
        "experts_per_token": (
            "num_experts_per_tok",
            "num_experts_per_token",
            "top_k_experts",
            "moe_topk",
            "moe_k",
        ),
        "moe_intermediate_size": ("moe_intermediate_size",),
        "shared_experts": ("n_shared_experts", "num_shared_experts", "moe_num_shared_experts"),
        "kv_lora_rank": ("kv_lora_rank",),
        "image_size": ("image_size",),
    }
)
"""Facts and the keys that state them, in the order in which they are looked for."""

NEEDED = ("layers", "hidden_size", "attention_heads")

TEXT_PARTS = ("text_config", "llm_config", "language_config")
_QUANTISED = MappingProxyType({"fp8": "fp8", "ascend": "int8", "compressed-tensors": ""})


def read_config(text: str, place: str) -> LaunchFacts:
    """The facts of a ``config.json``.

    Raises:
        InputError: It is no JSON object, or states none of the sizes of a transformer.
    """
    try:
        content = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise InputError(f"{place}: no JSON: {error}") from None
    if not isinstance(content, dict):
        raise InputError(f"{place}: expected a JSON object, as in a model's config.json")
    inner = next((content[name] for name in TEXT_PARTS if isinstance(content.get(name), dict)), None)
    notes = []
    if inner is not None:
        notes.append(f"{place}: the sizes are those of its text part")
    described = inner if inner is not None else content
    sizes: dict[str, object] = {}
    for fact, keys in SIZES.items():
        value = next((described[key] for key in keys if described.get(key) is not None), None)
        if value is None:
            continue
        if isinstance(value, int) and not isinstance(value, bool) and value > 0:
            sizes[fact] = value
        elif value != 0:
            notes.append(f"{place}: could not be read: {fact} is {value!r}")
    missing = [fact for fact in NEEDED if fact not in sizes]
    if missing:
        raise InputError(
            f"{place}: no {', '.join(missing)}", hint="expected the config.json of a transformer"
        )
    sizes["architecture"] = architecture(content, sizes)
    question: dict[str, object] = {"sizes": sizes}
    name = content.get("_name_or_path")
    if isinstance(name, str) and name.strip("./ "):
        question["model"] = name_and_format(name)[0]
    precision = _precision(content, described)
    if precision:
        question["precision"] = precision
    return LaunchFacts(question=question, notes=tuple(notes))


def architecture(content: Mapping[str, object], sizes: Mapping[str, object]) -> str:
    """Architecture of the network, from the names of its classes and its number of experts."""
    classes = content.get("architectures")
    names = " ".join(map(str, classes)) if isinstance(classes, list) else str(content.get("model_type", ""))
    if any(content.get(part) for part in ("vision_config", "audio_config")):
        return "multimodal"
    if sizes.get("experts"):
        return "moe-decoder"
    if content.get("is_encoder_decoder") or "ConditionalGeneration" in names:
        return "encoder-decoder"
    if sizes.get("image_size") and "vocabulary_size" not in sizes:
        return "vision"
    encoders = (
        "MaskedLM",
        "PreTraining",
        "SequenceClassification",
        "TokenClassification",
        "QuestionAnswering",
    )
    if any(word in names for word in encoders) or names.lower() in {"bert", "roberta", "bertmodel"}:
        return "encoder"
    return "decoder"


def _precision(content: Mapping[str, object], described: Mapping[str, object]) -> str:
    quantised = content.get("quantization_config")
    if isinstance(quantised, dict):
        found = _QUANTISED.get(str(quantised.get("quant_method", "")))
        if found:
            return found
    for key in ("torch_dtype", "dtype"):
        value = described.get(key) or content.get(key)
        if isinstance(value, str):
            return value
    return ""
