"""Layouts of training: their rules, and parameters of a device. Arrays run over configurations."""

import numpy as np

from kg.errors import InputError
from recommender.cost_model.facts.model import ModelSizes
from recommender.cost_model.facts.physics import Floats, physics_by_place
from recommender.cost_model.settings.plans import (
    CHOICES,
    FEW_BITS,
    GROUPS,
    Columns,
    divides,
    rule,
    with_groups,
)
from recommender.cost_model.workloads.adapters import adapter_parameters


def complete_columns(model: ModelSizes, settings: Columns, devices: Floats) -> Columns:
    """The columns, with those that follow from others filled in.

    Raises:
        InputError: A layout that cannot be; the message names the rule.
    """
    s = with_groups(settings)
    few = [CHOICES["precision"].index(name) for name in FEW_BITS]
    rule(
        ~np.any([np.isin(s[name], few) for name in ("precision", *GROUPS)], axis=0),
        "weights of few bits are for serving, not for training",
    )
    tp, pp, cp, ep = (
        s[n] for n in ("tensor_parallel", "pipeline_parallel", "context_parallel", "expert_parallel")
    )
    inside = tp * pp * cp
    rule(divides(inside, devices), "tensor x pipeline x context must divide the number of devices")
    dp = np.where(s["data_parallel"] > 0, s["data_parallel"], devices / inside)
    rule(inside * dp == devices, "tensor x pipeline x context x data must be the number of devices")
    s["data_parallel"] = dp
    s["global_batch"] = np.where(s["global_batch"] > 0, s["global_batch"], s["micro_batch"] * dp)
    rule(divides(s["micro_batch"] * dp, s["global_batch"]), "micro-batch x data must divide the global batch")
    rule(s["zero_stage"] <= 3, "ZeRO has the stages 0 to 3")
    rule((s["zero_stage"] < 2) | (pp == 1), "ZeRO stages 2 and 3 need a pipeline of 1")
    if model.layers:
        rule(pp * s["virtual_stages"] <= model.layers, "pipeline x chunks must not be more than the layers")
        rule(divides(tp, np.full_like(tp, model.heads)), "tensor must divide the attention heads")
        rule((s["virtual_stages"] == 1) | (pp > 1), "interleaving needs a pipeline above 1")
        if model.tokens_per_image:
            s["seq_len"] = np.full_like(tp, model.tokens_per_image)
        if np.any(s["seq_len"] < 1):
            raise InputError("seq_len: a training step needs a sequence length of at least 1")
        rule(divides(cp, s["seq_len"]), "context must divide the sequence length")
    else:
        rule(inside == 1, "a network without blocks is split by data alone")
        rule(s["lora_rank"] == 0, "low-rank adapters (lora_rank) need a model of blocks")
    if model.experts:
        rule(divides(ep, np.full_like(ep, model.experts)), "expert parallel must divide the experts")
        rule(divides(ep, dp * cp * tp), "expert parallel must divide tensor x context x data")
        cut = ep * np.maximum(s["etp"], 1)
        rule(divides(cut, dp * cp * tp), "expert x its tensor split must divide tensor x context x data")
    else:
        rule(ep == 1, "expert parallel needs a model with experts")
    return s


def pass_tokens(s: Columns) -> Floats:
    """Tokens of a micro-batch on one device: a sample of a paired objective is two sequences."""
    read = physics_by_place("sequences", s["objective_kind"])
    return np.asarray(s["micro_batch"] * s["seq_len"] * read / s["context_parallel"])


def stage_layers(model: ModelSizes, s: Columns) -> Floats:
    """Blocks of the longest stage; it sets the pace where the stages cannot be alike."""
    pieces = s["pipeline_parallel"] * s["virtual_stages"]
    return np.asarray(np.ceil(model.layers / pieces) * s["virtual_stages"])


def _held(model: ModelSizes, s: Columns) -> Floats:
    """Share of the blocks in the longest stage; all of a network without blocks."""
    return stage_layers(model, s) / model.layers if model.layers else np.ones_like(s["pipeline_parallel"])


def shares(model: ModelSizes, s: Columns) -> tuple[Floats, Floats]:
    """Parameters of one device of the longest stage outside and inside the routed experts."""
    tp, held = s["tensor_parallel"], _held(model, s)
    routed = model.routed_parameters
    dense = (model.parameters - routed) * held / tp
    return dense, routed * held / expert_cut(s)


def expert_cut(s: Columns) -> Floats:
    """Devices that share an expert layer: as told (etp), else the wider of expert and tensor parallelism."""
    ep, etp = s["expert_parallel"], s["etp"]
    return np.where(etp > 0, ep * etp, np.maximum(ep, s["tensor_parallel"]))


def trained(model: ModelSizes, s: Columns) -> tuple[Floats, Floats]:
    """Parameters of one device that are trained, outside and inside the routed experts."""
    dense, routed = shares(model, s)
    tables = (model.embeddings - 1) * model.vocabulary * model.hidden  # shares count one
    dense = dense + tables / (s["tensor_parallel"] * s["pipeline_parallel"])
    adapted = s["lora_rank"] > 0
    adapters = adapter_parameters(model, s["lora_rank"]) * _held(model, s) / s["tensor_parallel"]
    return np.where(adapted, adapters, dense), np.where(adapted, 0.0, routed)
