"""Training scripts of the Megatron kind: Megatron-LM, MindSpeed, MindSpeed-LLM, under torchrun or alone."""

from __future__ import annotations

import re
from types import MappingProxyType
from typing import TYPE_CHECKING

from ingest.questions.launches.launch_facts import LaunchFacts
from kg.terms.meanings import table
from kg.terms.model_name import Part, read_name
from kg.triples.model_finder import DECISIVE

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ingest.questions.launches.options import LaunchOptions
    from kg.nouns.values import Value

SIZES: Mapping[str, str] = MappingProxyType(
    {
        "num_layers": "layers",
        "hidden_size": "hidden_size",
        "num_attention_heads": "attention_heads",
        "ffn_hidden_size": "intermediate_size",
        "num_query_groups": "kv_heads",
        "kv_channels": "head_dim",
        "num_experts": "experts",
        "moe_router_topk": "experts_per_token",
        "moe_ffn_hidden_size": "moe_intermediate_size",
        "moe_intermediate_size": "moe_intermediate_size",
        "moe_shared_expert_intermediate_size": "shared_intermediate_size",
        "n_shared_experts": "shared_experts",
        "padded_vocab_size": "vocabulary_size",
        "vocab_size": "vocabulary_size",
        "max_position_embeddings": "max_positions",
        "kv_lora_rank": "kv_lora_rank",
        "q_lora_rank": "q_lora_rank",
        "qk_head_dim": "qk_nope_head_dim",
        "qk_nope_head_dim": "qk_nope_head_dim",
        "qk_pos_emb_head_dim": "qk_rope_head_dim",
        "qk_rope_head_dim": "qk_rope_head_dim",
        "v_head_dim": "v_head_dim",
        "first_k_dense_replace": "dense_layers",
        "mtp_num_layers": "mtp_layers",
        "linear_num_key_heads": "linear_key_heads",
        "linear_num_value_heads": "linear_value_heads",
        "linear_key_head_dim": "linear_key_head_dim",
        "linear_value_head_dim": "linear_value_head_dim",
        "index_n_heads": "index_heads",
        "index_head_dim": "index_head_dim",
        "index_topk": "sparse_top_k",
    }
)
"""Options that state sizes of a model, and the names of those facts."""

PRECISIONS = ("bf16", "fp16")

NOT_TUNED = frozenset(table("left_out")["trainer"])
"""Options of data, optimisation and bookkeeping, which do not affect speed."""

_STRUCTURE = re.compile(
    r"rope_scaling|qk_|q_lora|v_head_dim|mla_fa|multi_head_latent|n_group|topk_group|routed_scaling|seq_aux|"
    r"norm_topk|first_k_dense|moe_layer_freq|moe_router_(?!topk)|mtp_(num|loss)|rotary_|position_|attention_softmax|"
    r"distributed_timeout|save_|load_|reset_position|is_instruction|gradient_accumulation_fusion|masked_softmax|"
    r"shared_storage|pad_to_seq|training\.|data\.|model\."
)
"""Beginnings of options that describe the model or the run, and do not affect speed either."""


def read_megatron(
    options: LaunchOptions, launcher: LaunchOptions, environment: Mapping[str, object], place: str
) -> LaunchFacts:
    """The facts of a launch of a training script.

    Args:
        options: Options of the script.
        launcher: Options of torchrun or another launcher that starts a process per device.
        environment: Variables exported to it.
        place: Name of the script, which often names the model.
    """
    sizes = stated_network(options)
    question: dict[str, object] = {"phase": "training"}
    notes = [*launcher.unreadable(NOT_TUNED), *options.unreadable(NOT_TUNED)]
    missing = [name for name in DECISIVE if name not in sizes]
    if sizes and missing:
        notes.append(f"could not be read: which model it is, {', '.join(missing)} not told")
    elif sizes:
        question["sizes"] = sizes
        if hint := model_hint(place, options):
            question["model"] = hint
    if named := options.text("model.model_name_or_path", "model_name_or_path"):
        question["model"] = named
    notes += [
        f"not read: the settings in {word}" for word in options.others if word.endswith((".yaml", ".yml"))
    ]
    for name in PRECISIONS:
        if options.values.get(name) is True:
            question["precision"] = name
    if (length := options.positive("seq_length")) is not None:
        question["shape"] = {"seq_len": length}
    each, nodes = launcher.positive("nproc_per_node", "num_gpus"), launcher.positive("nnodes", "num_nodes")
    if each is not None:
        question["count"] = each * (nodes or 1)
    skipped = NOT_TUNED | set(SIZES) | {"seq_length"}
    settings = {
        name: value
        for name, value in options.values.items()
        if name not in skipped and not _STRUCTURE.match(name)
    }
    question["current"] = {**environment, **settings}
    if places := {name: path for name, path in options.places.items() if name in settings}:
        question["places"] = places
    return LaunchFacts(question=question, notes=tuple(notes))


def stated_network(options: LaunchOptions) -> dict[str, Value]:
    """The sizes of the network that options state, with its architecture; empty without any."""
    sizes: dict[str, Value] = {
        fact: options.values[name] for name, fact in SIZES.items() if options.positive(name)
    }
    if not sizes:
        return sizes
    idle = options.text("noop_layers")
    if idle and isinstance(layers := sizes.get("layers"), int):
        sizes["layers"] = layers - len(idle.split(","))  # they fill a stage and compute nothing
    if "num_query_groups" in options.values and not options.values.get("group_query_attention"):
        sizes.pop("kv_heads", None)
    if (found := re.search(r"\[0\] ?\* ?(\d+)", options.text("moe_layer_freq") or "")) and int(found[1]):
        sizes["dense_layers"] = int(found[1])  # ([0]*3+[1]*58): the first three have no experts
    sizes["architecture"] = "moe-decoder" if sizes.get("experts") else "decoder"
    if sizes.get("kv_lora_rank"):
        sizes["attention_kind"] = "latent"
    return sizes


def model_hint(place: str, options: LaunchOptions) -> str:
    """A likely name of the model: of the folder of its weights or tokenizer, else of the script.

    Sizes decide; the name only chooses among the models that have them.
    """
    for option in ("tokenizer_name_or_path", "load"):
        text = options.text(option)
        if text and "/" in text.strip("./"):
            return text
    return read_name(place).without(Part.RUN, Part.PACKING)
