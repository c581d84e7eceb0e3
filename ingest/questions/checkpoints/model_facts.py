"""Facts of a ``config.json`` beyond sizes: attention layer by layer, experts, draft layers.

``attention_kind`` is one word, or several joined by ``+`` where layers differ:

* ``full``: each position sees all before it, with grouped heads where ``kv_heads`` is less.
* ``latent``: one compressed row per token is cached (multi-head latent attention).
* ``sparse``: an index picks ``sparse_top_k`` tokens for each query.
* ``compressed``: tokens are merged before they are seen, in ``compressed_4_layers`` by 4 and in
  ``compressed_128_layers`` by 128.
* ``sliding``: only the last ``sliding_window`` tokens are seen.
* ``linear``: a state of fixed size takes the place of the cache.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from types import MappingProxyType

from ingest.questions.checkpoints.weight_format import weight_format

KEYS: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "q_lora_rank": ("q_lora_rank",),
        "qk_nope_head_dim": ("qk_nope_head_dim",),
        "qk_rope_head_dim": ("qk_rope_head_dim",),
        "v_head_dim": ("v_head_dim",),
        "dense_layers": ("first_k_dense_replace", "moe_layer_start_index"),
        "mtp_layers": ("num_nextn_predict_layers", "mtp_num_hidden_layers", "num_mtp_modules"),
        "shared_intermediate_size": ("shared_expert_intermediate_size", "shared_intermediate_size"),
        "global_kv_heads": ("num_global_key_value_heads",),
        "global_head_dim": ("global_head_dim",),
        "linear_key_heads": ("linear_num_key_heads", "mamba_n_groups", "n_groups"),
        "linear_value_heads": ("linear_num_value_heads", "mamba_num_heads", "mamba_n_heads"),
        "linear_key_head_dim": ("linear_key_head_dim", "ssm_state_size", "mamba_d_state"),
        "linear_value_head_dim": ("linear_value_head_dim", "mamba_head_dim", "mamba_d_head"),
        "index_heads": ("index_n_heads",),
        "index_head_dim": ("index_head_dim",),
        "sparse_top_k": ("index_topk",),
        "max_positions": ("max_position_embeddings", "model_max_length"),
    }
)
"""Facts and the keys that state them, in the order in which they are looked for."""

KINDS = ("full", "latent", "sparse", "compressed", "sliding", "linear")
"""Words of ``attention_kind``."""

_HEADS = ("linear_num_key_heads", "linear_num_value_heads")
_SIZES = ("linear_key_head_dim", "linear_value_head_dim")
_LAYERS = MappingProxyType(
    {"linear_attention": "linear", "mamba": "linear", "conv": "linear", "M": "linear"}
    | {"sliding_attention": "sliding", "chunked_attention": "sliding", "indexed_attention": "sparse"}
    | dict.fromkeys(("moe", "mlp", "E", "-"), "")
)
"""Kinds of attention by words for layers, none for a feed-forward part that stands alone; others see all."""


def structure(described: Mapping[str, object]) -> dict[str, int | str]:
    """Facts of the network that a ``config.json``, or its text part, describes.

    Args:
        described: The part that states the sizes.

    Returns:
        Facts by name; a fact that is not stated, or is zero, is left out.
    """
    facts: dict[str, int | str] = {}
    if isinstance(delta := described.get("linear_attn_config"), dict):
        sizes = dict.fromkeys(_HEADS, delta.get("num_heads")) | dict.fromkeys(_SIZES, delta.get("head_dim"))
        described = {**sizes, **described}
    for fact, keys in KEYS.items():
        value = next((described[key] for key in keys if described.get(key) is not None), None)
        if isinstance(value, int) and not isinstance(value, bool) and value > 0:
            facts[fact] = value
    if "dense_layers" not in facts and (dense := _dense_layers(described)):
        facts["dense_layers"] = dense
    kinds = _by_layer(described)
    window = described.get("sliding_window")
    if kinds.get("sliding") and isinstance(window, int) and window > 0:
        facts["sliding_window"] = window
    _sparse_blocks(described, facts, kinds)
    ratios = _ratios(described)
    facts |= {f"compressed_{ratio}_layers": layers for ratio, layers in sorted(ratios.items())}
    if ratios:
        kinds = Counter({"compressed": sum(ratios.values()), **kinds})
        if isinstance(window, int) and window > 0:
            facts["sliding_window"] = window
    told = ("full", "sliding", "linear", "sparse") if len(kinds) > 1 else ()
    facts |= {f"{kind}_attention_layers": kinds[kind] for kind in told if kinds[kind] > 0}
    words = {kind for kind, layers in kinds.items() if layers} or {"full"}
    if described.get("kv_lora_rank"):
        words = (words - {"full"}) | {"latent"}
    if "sparse_top_k" in facts and not ratios:
        words = (words if kinds["full"] else words - {"full"}) | {"sparse"}
    facts["attention_kind"] = "+".join(kind for kind in KINDS if kind in words)
    if stored := weight_format(described):
        facts["weight_format"] = stored
    return facts


def _dense_layers(described: Mapping[str, object]) -> int:
    """Layers without experts in a network that has some, where they are listed one by one."""
    kinds = described.get("mlp_layer_types")
    if isinstance(kinds, list):
        return kinds.count("dense")
    experts = described.get("moe_layer_freq")
    return experts.count(0) if isinstance(experts, list) else 0


def _by_layer(described: Mapping[str, object]) -> Counter[str]:
    """Layers by kind of attention, where the configuration tells them apart."""
    layers = described.get("num_hidden_layers")
    names = ("layer_types", "layers_block_type", "hybrid_override_pattern")
    types = next((described[name] for name in names if described.get(name)), None)
    linear = described.get("linear_attn_config")
    if isinstance(types, list | str):
        kinds = (_LAYERS.get(str(kind), "full") for kind in types)
        return Counter(kind for kind in kinds if kind)
    if isinstance(linear, dict):
        full, state = (linear.get(name) for name in ("full_attn_layers", "kda_layers"))
        if isinstance(full, list) and isinstance(state, list):
            return Counter(full=len(full), linear=len(state))
    every = described.get("full_attention_interval")
    if isinstance(layers, int) and isinstance(every, int) and every > 1:
        return Counter(full=layers // every, linear=layers - layers // every)
    repeated = described.get("sliding_window_pattern")  # the last of so many layers sees all
    if isinstance(layers, int) and isinstance(repeated, int) and repeated > 1:
        return Counter(full=layers // repeated, sliding=layers - layers // repeated)
    pattern = described.get("hybrid_layer_pattern")
    if isinstance(pattern, list):
        return Counter("sliding" if kind else "full" for kind in pattern)
    return Counter()


def _sparse_blocks(described: Mapping[str, object], facts: dict[str, int | str], kinds: Counter[str]) -> None:
    """Attention that picks tokens, or blocks of them, layer by layer."""
    indexes = described.get("indexer_types")  # a block has an index of its own, or shares the one before
    if isinstance(indexes, list) and "full" in indexes:
        facts["index_layers"] = indexes.count("full")
    block = described.get("sparse_attention_config")
    if not isinstance(block, dict):
        return
    layers = block.get("sparse_attention_freq")
    size, most = block.get("sparse_block_size"), block.get("sparse_topk_blocks")
    if isinstance(size, int) and isinstance(most, int):
        facts["sparse_top_k"] = size * most
    if isinstance(layers, list):
        kinds["sparse"] = sum(map(bool, layers))
        kinds["full"] = len(layers) - kinds["sparse"]


def _ratios(described: Mapping[str, object]) -> dict[int, int]:
    """Layers by the ratio in which they merge tokens; draft layers at the end of the list are not counted."""
    ratios: object = described.get("compress_ratios")
    layers = described.get("num_hidden_layers")
    if not isinstance(ratios, list) or not isinstance(layers, int):
        return {}
    counted: Sequence[object] = ratios[:layers]
    return dict(Counter(ratio for ratio in counted if isinstance(ratio, int) and ratio > 1))
