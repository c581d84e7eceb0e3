"""Memory of a training step on the fullest device: weights, gradients, states, activations.

A block keeps for its backward pass, in 16 bit: the inputs and outputs of its norms, what attention reads
and writes, and what lies between the products of its feed-forward part; fused attention keeps no scores.
They are the parts of ``34 s b h + 5 a s^2 b`` (Korthikanti et al. 2022) by the sizes of the model. Arrays
run over configurations.
"""

import numpy as np

from recommender.cost_model.facts.model import ModelSizes, blocks_of
from recommender.cost_model.facts.physics import PHYSICS, Floats, physics_by_place, physics_of
from recommender.cost_model.settings.plans import CHOICES, Columns
from recommender.cost_model.workloads.layouts import expert_cut, shares, stage_layers, trained


def recomputed(model: ModelSizes, s: Columns) -> Floats:
    """Share of the blocks of a stage that are computed again, where their recomputation is told at all."""
    told, blocks = s["recompute_layers"] * s["virtual_stages"], stage_layers(model, s)
    return np.where(told > 0, np.minimum(told / np.maximum(blocks, 1.0), 1.0), 1.0)


def spread(model: ModelSizes, s: Columns, *, stage: int) -> Floats:
    """Trained parameters whose states (stage 1) or gradients (stage 2) a device keeps."""
    dense, routed = trained(model, s)
    apart = dense / (s["data_parallel"] * s["context_parallel"]) + routed / expert_copies(s)
    return np.where(s["zero_stage"] >= stage, apart, dense + routed)


def expert_copies(s: Columns) -> Floats:
    """Replicas of a device's experts, over which their states may be spread."""
    inside = s["data_parallel"] * s["context_parallel"] * s["tensor_parallel"]
    return np.maximum(np.floor(inside / expert_cut(s)), 1.0)


def layer_activation(model: ModelSizes, s: Columns, tokens: Floats, recompute: str = "none") -> Floats:
    """Bytes that one block keeps for its backward pass.

    Args:
        model: Sizes of the model.
        s: Settings.
        tokens: Of a micro-batch on one device.
        recompute: What is computed again: ``none``, ``products`` (every other one), ``full``.
    """
    tp = s["tensor_parallel"]
    along = np.where(s["sequence_parallel"] > 0, tp, 1.0)
    is_wide = s["precision"] == CHOICES["precision"].index("fp32")
    is_cast = (s["autocast"] > 0) & (s["pure_bf16"] == 0) & ~is_wide
    wide_share = np.where(is_wide, 2.0, 1.0)
    if recompute == "full":
        return np.asarray(np.where(is_cast | is_wide, 4, 2) * tokens * model.hidden / along)
    widths = [
        count / model.layers * np.array([*_attention_widths(block), *_inner_widths(block)])
        for count, block in blocks_of(model)
    ]
    attention, made, inner, routed = np.sum(widths, axis=0)
    experts = routed / np.where(s["etp"] > 0, s["etp"], np.where(s["expert_parallel"] > 1, 1.0, tp))
    if recompute == "products":
        products = 2 * (attention + made + inner + model.hidden) / tp / 2 + experts / 2
        return np.asarray(wide_share * tokens * (2 * model.hidden / along + products))
    # the masks of dropout are of encoders: decoders of today have none
    wide = (8 + 2 * (not model.causal)) * model.hidden / along + 2 * (attention + made) / tp
    wide = wide + 2 * model.matrices / (model.matrices - 1) * inner / tp + experts
    kept = (
        PHYSICS["unfused_norm_bytes"] * model.hidden / along
        + PHYSICS["unfused_activation_bytes"] * inner / (model.matrices - 1) / tp
    )
    plain = (s["autocast"] > 0) & (not model.is_gated)  # LayerNorm and GELU are kernels of PyTorch
    wide = wide + np.where((s["fused_ops"] > 0) | plain, 0.0, kept)
    wide = wide + np.where(is_cast, PHYSICS["autocast_bytes"] * model.hidden / along, 0.0)
    scored = (s["flash_attention"] > 0) | (s["recompute"] > 0)
    scores = np.where(scored, 0.0, 5 * model.heads * s["seq_len"] / tp)
    return np.asarray(wide_share * tokens * (wide + scores))


def _attention_widths(model: ModelSizes) -> tuple[float, float]:
    """Elements of a token that attention reads (queries, keys, values), and that it writes."""
    if model.is_linear:  # with a convolution over queries, keys and values, and a gate
        return model.linear_input + 2 * model.linear_keys + model.linear_values, model.linear_values
    if model.query_size:
        read = model.heads * (2 * model.query_size + model.value_size) + 2 * (
            model.query_rank + model.kv_width
        )
        made = model.heads * model.value_size
    else:
        made = model.heads * model.head_size
        read = made + 2 * model.kv_heads * model.head_size
    return read, made


def _inner_widths(model: ModelSizes) -> tuple[float, float]:
    """Elements of a token that the products into the feed-forward part make, and bytes of its routed rows."""
    into = model.matrices - 1
    if not model.experts:
        return into * model.inner, 0.0
    # rows are gathered for each expert that a token chooses, and its results summed
    routed = model.chosen * (4 * model.hidden + 2 * 3 * model.expert_inner)
    return into * model.shared * model.expert_inner, routed


def memory_parts(
    model: ModelSizes, s: Columns, tokens: Floats, *, reserved: float = PHYSICS["reserved_bytes"]
) -> dict[str, Floats]:
    """Bytes on the fullest device, the first stage of the pipeline."""
    zero, ranks = s["zero_stage"], s["data_parallel"] * s["context_parallel"]
    count = s["global_batch"] / (s["micro_batch"] * s["data_parallel"])
    activations = _activations(model, s, tokens, count)
    of_host, of_optimizer = (s["offload"] == CHOICES["offload"].index(n) for n in ("parameters", "optimizer"))
    pure = s["pure_bf16"] > 0
    kind = s["optimizer_kind"]
    wide, narrow = (physics_by_place(name, kind) for name in ("state_bytes", "narrow_state_bytes"))
    states = np.where(pure, narrow, wide + PHYSICS["master_bytes"]) * spread(model, s, stage=1)
    gradients = PHYSICS["gradient_bytes"] * np.where(pure, 0.5, 1.0) * spread(model, s, stage=2)
    # PyTorch makes gradients while activations go, Megatron and DeepSpeed have a buffer for them
    gradients = np.where(
        (pure | (s["autocast"] > 0)) & (count <= 1), np.maximum(gradients - activations, 0.0), gradients
    )
    # offloaded states take the gradients along where replicas share them (ZeRO-Offload)
    # a frozen reference is a second copy; where adapters are trained it is the model without them
    reference = (physics_by_place("frozen_passes", s["objective_kind"]) > 0) & (s["lora_rank"] == 0)
    return {
        "weights": _weights(model, s, ranks) * (1 + reference),
        "gradients": np.where(of_host | (of_optimizer & (zero >= 2)), 0.0, gradients),
        "optimizer": np.where(of_host | of_optimizer, 0.0, states),
        "activations": activations,
        "reserved": np.full_like(tokens, reserved),
    }


def _weights(model: ModelSizes, s: Columns, ranks: Floats) -> Floats:
    """Weights, with the blocks that are gathered where replicas share them."""
    dense, routed = shares(model, s)
    table = model.vocabulary * model.hidden / s["tensor_parallel"]
    ends = np.minimum(table / s["pipeline_parallel"], dense)  # which counts one table, of two too
    is_frozen = s["lora_rank"] > 0
    block = np.full_like(dense, 2.0)
    for bits, size in physics_of("frozen_bytes").items():
        block = np.where(is_frozen & (s["frozen_bits"] == float(bits)), size, block)
    # peft casts tables beside quantised blocks, unless those are shared out (TRL, trainer/sft_trainer.py)
    is_cast = (block < 2) & (s["pure_bf16"] == 0) & (s["zero_stage"] < 3)
    end_bytes = np.where(is_cast, PHYSICS["cast_bytes"], 2.0)
    tables = end_bytes * (ends + (model.embeddings - 1) * table / s["pipeline_parallel"])
    owned = block * (dense + routed - ends) + tables
    blocks = np.maximum(stage_layers(model, s), 1.0)
    gathered = PHYSICS["gathered_blocks"] * block * (dense + routed - ends) / blocks + tables
    kept = (owned - block * routed) / ranks + block * routed / expert_copies(s)
    kept = np.where(s["offload"] == CHOICES["offload"].index("parameters"), 0.0, kept)
    return np.where((s["zero_stage"] >= 3) & (ranks > 1), np.minimum(kept + gathered, owned), owned)


def _activations(model: ModelSizes, s: Columns, tokens: Floats, count: Floats) -> Floats:
    """Activation bytes of blocks and loss: of recomputed blocks one, the loss gone; of offloaded two."""
    pp, chunks = s["pipeline_parallel"], s["virtual_stages"]
    one = layer_activation(model, s, tokens)
    kept, again = one, np.zeros_like(tokens)
    for name in ("full", "products"):
        chosen = s["recompute"] == CHOICES["recompute"].index(name)
        share = recomputed(model, s)
        kept = np.where(chosen, share * layer_activation(model, s, tokens, name) + (1 - share) * one, kept)
        again = np.where(chosen, one, again)
    alive = np.minimum(pp * np.where(chunks > 1, 1 + (pp - 1) / (pp * chunks), 1.0), np.maximum(count, 1))
    away = s["offload"] == CHOICES["offload"].index("activations")
    held = np.where(away, 2 * kept, kept * stage_layers(model, s) * alive)
    logits = (
        tokens * model.vocabulary / s["tensor_parallel"] * physics_by_place("logit_bytes", s["loss_kind"])
    )
    return np.asarray(held + np.maximum(again, logits))  # blocks run again once the loss is gone
