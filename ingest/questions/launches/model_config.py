"""A model's ``config.json`` of Hugging Face transformers: its sizes, by the names of the graph's facts."""

import json
from collections.abc import Mapping
from types import MappingProxyType

from ingest.questions.checkpoints.model_facts import structure
from ingest.questions.checkpoints.weight_format import weight_format
from ingest.questions.launches.launch_facts import LaunchFacts
from kg.errors import InputError
from kg.nouns.situation import FactOrigin
from kg.nouns.values import as_integer
from kg.terms.model_name import Part, read_name

SIZES: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "layers": ("num_hidden_layers", "n_layer", "num_layers", "n_layers", "encoder_layers"),
        "hidden_size": ("hidden_size", "n_embd", "d_model"),
        "attention_heads": (
            "num_attention_heads",
            "n_head",
            "num_heads",
            "n_heads",
            "encoder_attention_heads",
        ),
        "kv_heads": ("num_key_value_heads", "multi_query_group_num", "n_kv_heads"),
        "intermediate_size": (
            "dense_intermediate_size",
            "intermediate_size",
            "ffn_hidden_size",
            "n_inner",
            "d_ff",
            "encoder_ffn_dim",
        ),
        "vocabulary_size": ("vocab_size", "padded_vocab_size"),
        "head_dim": ("head_dim", "kv_channels", "d_kv"),
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

_READERS = ("bert", "electra", "mpnet")
"""In names of networks that read a text in one pass: BERT, XLM-RoBERTa, DistilBERT, ModernBERT and so on."""
TEXT_PARTS = ("text_config", "llm_config", "language_config")


def read_config(text: str, place: str) -> LaunchFacts:
    """The facts of a ``config.json``.

    Raises:
        InputError: It is no JSON object, or states none of the sizes of a transformer.
    """
    try:
        content = json.loads(text, parse_int=as_integer)
    except (ValueError, RecursionError) as error:
        raise InputError(f"{place}: no JSON: {error}") from None
    if not isinstance(content, dict):
        raise InputError(f"{place}: expected a JSON object, as in a model's config.json")
    return config_facts(content, place)


def config_facts(content: Mapping[str, object], place: str) -> LaunchFacts:
    """The facts of a configuration whose keys are those of a ``config.json``.

    Raises:
        InputError: It states none of the sizes of a transformer.
    """
    inner = next((part for name in TEXT_PARTS if isinstance(part := content.get(name), dict)), None)
    notes: list[str] = []
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
    _fill(described, sizes, notes)
    missing = [fact for fact in NEEDED if fact not in sizes]
    if missing:
        kind = content.get("model_type") or "of no stated type"
        wanted = "; ".join(f"{fact}: {' or '.join(SIZES[fact])}" for fact in missing)
        raise InputError(
            f"{place}: no {', '.join(missing)} (a model {kind})",
            hint=f"it must state {wanted}; a network known by name needs --model alone",
        )
    sizes |= structure(described)
    sizes["architecture"] = architecture(content, sizes)
    question: dict[str, object] = {"sizes": sizes}
    name = content.get("_name_or_path")
    if isinstance(name, str) and name.strip("./ "):
        question["model"] = read_name(name).without(Part.FORMAT)  # which is stated beside it
    precision = _precision(content, described)
    if precision:
        question["precision"] = precision
    return LaunchFacts(question=question, notes=tuple(notes), origin=FactOrigin.FILE)


def _fill(described: Mapping[str, object], sizes: dict[str, object], notes: list[str]) -> None:
    """Sizes that an architecture implies where its configuration does not spell them out."""
    kind = str(described.get("model_type", ""))
    behind = next(
        (described[key] for key in ("num_decoder_layers", "decoder_layers") if key in described), None
    )
    layers, hidden = sizes.get("layers"), sizes.get("hidden_size")
    if kind.endswith("roberta") and isinstance(most := sizes.get("max_positions"), int):
        padding = described.get("pad_token_id", 1)  # positions count from the one behind it
        sizes["max_positions"] = most - (padding if isinstance(padding, int) else 1) - 1
    if isinstance(behind, int) and isinstance(layers, int):
        sizes["layers"] = layers + behind  # an encoder and a decoder
    if kind.startswith("mamba") and isinstance(hidden, int):
        expand, state, size = (
            _count(described, key, default, notes)
            for key, default in (
                ("expand", STATE_EXPAND),
                ("state_size", STATE_SIZE),
                ("head_dim", STATE_HEAD),
            )
        )
        wide = hidden * expand
        heads = wide // size
        # in and out projections of a width of ``wide``, and the gate beside the input: no keys of their own
        sizes |= {"attention_heads": heads, "kv_heads": heads // 2, "head_dim": size}
        sizes |= {"linear_attention_layers": layers, "linear_key_head_dim": state, "intermediate_size": 1}
        groups = _count(described, "n_groups", STATE_GROUPS if kind == "mamba2" else 1, notes)
        sizes |= {"linear_key_heads": groups, "linear_value_heads": heads, "linear_value_head_dim": size}
        sizes.pop("experts", None)
    if "intermediate_size" not in sizes and "experts" not in sizes and isinstance(hidden, int):
        sizes["intermediate_size"] = 4 * hidden
        notes.append("intermediate_size is not stated: taken as 4 x hidden_size, as GPT-2 has it")


def _count(described: Mapping[str, object], key: str, default: int, notes: list[str]) -> int:
    """A size from 1 on; the default, with a note, where it is stated as something else."""
    value = described.get(key)
    if isinstance(value, int) and not isinstance(value, bool) and value > 0:
        return value
    if value is not None:
        notes.append(f"could not be read: {key} is {value!r}; {default} is assumed")
    return default


STATE_EXPAND, STATE_SIZE, STATE_HEAD, STATE_GROUPS = 2, 128, 64, 8
"""Width over that of the stream, elements of a state, width of a head, and groups that share their keys, of a
state-space layer that are not stated (Mamba-2, transformers' defaults)."""


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
    reads = any(word in names.lower() for word in _READERS) and "CausalLM" not in names
    if reads or any(word in names for word in encoders):
        return "encoder"
    return "decoder"


def _precision(content: Mapping[str, object], described: Mapping[str, object]) -> str:
    if stored := weight_format(content) or weight_format(described):
        return stored
    for key in ("torch_dtype", "dtype"):
        value = described.get(key) or content.get(key)
        if isinstance(value, str):
            return value
    return ""
