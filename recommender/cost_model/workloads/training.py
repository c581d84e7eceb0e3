"""A training step: pipeline of blocks, 1F1B or interleaved, gradients, optimiser, memory.

Bubble: ``(p - 1) / v`` micro-batch times for p stages and v chunks a stage (Narayanan et al. 2021).
Arrays run over configurations.
"""

import numpy as np

from kg.errors import MissingFactError
from recommender.cost_model.facts.device import Device
from recommender.cost_model.facts.model import ModelSizes
from recommender.cost_model.facts.physics import PHYSICS, Floats, physics_by_place
from recommender.cost_model.operators.convolution import operator_list
from recommender.cost_model.operators.kinds import Operators
from recommender.cost_model.operators.network import Network, Target, collective_us, point_us
from recommender.cost_model.settings.plans import CHOICES, Columns
from recommender.cost_model.workloads.adapters import adapter_kernels, adapters_us
from recommender.cost_model.workloads.block import BlockWork, PassSizes, forward, stream_us
from recommender.cost_model.workloads.layouts import (
    complete_columns,
    pass_tokens,
    shares,
    stage_layers,
    trained,
)
from recommender.cost_model.workloads.networks import convolutions_us, trained_memory_parts
from recommender.cost_model.workloads.products import products_us
from recommender.cost_model.workloads.steps import Steps, peaks, power_w
from recommender.cost_model.workloads.training_memory import (
    expert_copies,
    layer_activation,
    memory_parts,
    recomputed,
    spread,
)


def training_step(
    on: Target, model: ModelSizes, settings: Columns, devices: Floats, *, factor: float = 1.0
) -> Steps:
    """Costs of one optimiser step; ``factor`` is what measured steps make of its time.

    Raises:
        InputError: An impossible layout, or a precision that the device lacks.
        MissingFactError: A fact that the answer needs is unknown.
    """
    s = complete_columns(model, settings, devices)
    if not model.layers:
        return _by_layers(on, model, s, devices, factor)
    operators, device, network = on.operators, on.device, on.network
    tp, pp, dp, cp, ep = (
        s[f"{name}_parallel"] for name in ("tensor", "pipeline", "data", "context", "expert")
    )
    chunks, micro, length = s["virtual_stages"], s["micro_batch"], s["seq_len"]
    read, frozen = (physics_by_place(name, s["objective_kind"]) for name in ("sequences", "frozen_passes"))
    tokens = pass_tokens(s)
    sizes = PassSizes(tokens=tokens, sequences=micro * read, length=length, attention_parts=cp)
    work = forward(on, model, s, sizes)
    cube, vector, kernels, redo = _passes(work, s, recomputed(model, s), frozen)
    back = _products_back(s)
    vector = vector + adapters_us(device, model, tokens, s, redo)
    kernels = kernels + adapter_kernels(model, s, redo)
    redo = redo + frozen

    activation = tokens * model.hidden * 2
    gathered = 2 * collective_us(network, operators, "all_reduce", activation, tp, np.ones_like(tp))
    tensor_us = gathered * (2 + redo)
    cover = np.where(s["overlap_tensor_parallel"] > 0, np.minimum(tensor_us, 0.7 * cube), 0.0)
    expert_us = _exchange(operators, network, model, tokens, ep, tp) * (2 + redo)
    keys = np.where(cp > 1, tokens * model.kv_width / tp * 2, 0.0)
    ring = (cp - 1) * point_us(network, keys, tp * cp > network.per_node) * (1 + redo) * 2
    ring = np.where(cp > 1, ring, 0.0)
    ring_hidden = np.minimum(ring, work.attention_us * (1 + PHYSICS["attention_backward"]))

    layers = stage_layers(model, s)
    head = _head(operators, device, model, tokens, s) * (1 + back + frozen)
    head_flops = 2 * tokens * model.hidden * model.vocabulary / tp
    count = s["global_batch"] / (micro * dp)
    stage_cube, stage_vector = layers * cube + head, layers * vector
    stage_wire = layers * (tensor_us - cover + expert_us + ring - ring_hidden)
    hop = point_us(network, np.where(pp > 1, activation / tp, 0.0), tp * cp * dp >= network.per_node)
    stage_wire = stage_wire + np.where(pp > 1, 2 * chunks * hop, 0.0)
    launched = np.where(s["graph"] > 0, 0.0, layers * kernels * PHYSICS["training_host_us"])
    stage_device = stage_cube + stage_vector + stage_wire
    host = np.maximum(launched - stage_device, 0.0)
    bubble = (pp - 1) / chunks * (stage_device + host)

    wire, wire_hidden = _gradients(on, model, s, stage_cube * 2 / 3, count, 2 + frozen)
    update = _update(device, model, s)
    swap, swap_hidden = _offload(on, model, s, tokens, stage_cube, layers, 2 + redo)

    launching = layers * work.launch_us * (1 + back + redo)
    busiest = np.maximum(s["expert_imbalance"], 1.0)
    waiting = count * layers * work.experts_us * (1 + back + redo) * (1 - 1 / busiest)
    behind = count * layers * (cover + ring_hidden) + wire_hidden
    split = {
        "compute": count * (stage_cube - launching) - waiting,
        "memory": count * stage_vector + update + count * swap,
        "communication_exposed": count * stage_wire + wire + PHYSICS["overlap_tax"] * behind,
        "scheduling": count * launching,
        "synchronisation": waiting,
        "bubble": bubble,
        "host": count * host,
    }
    hidden = behind + count * swap_hidden
    flops = count * (1 + back + frozen) * (layers * work.flops + head_flops / np.maximum(pp, 1))
    memory = memory_parts(model, s, tokens, reserved=device.reserved_bytes)
    work_done = s["global_batch"] * length * read
    return _finish(device, s, split, hidden, devices, flops, memory, "tokens", work_done, factor=factor)


def _passes(
    work: BlockWork, s: Columns, share: Floats, frozen: Floats
) -> tuple[Floats, Floats, Floats, Floats]:
    """Matrix time, vector time and kernels of all passes of a block, and the forward passes repeated.

    Args:
        work: Of one forward pass.
        s: Settings.
        share: Of the blocks, those that are computed again.
        frozen: Forward passes that no backward pass follows, such as those of a reference.
    """
    again = s["recompute"]
    full, selective, products = (
        again == CHOICES["recompute"].index(name) for name in ("full", "selective", "products")
    )
    flash = s["flash_attention"] > 0
    # fused attention keeps nothing that selective recomputation would drop, so it repeats the vector work
    redo_attention = np.where(full, share, np.where(selective & ~flash, 1.0, 0.0))
    redo = share * np.where(full, 1.0, np.where(products, 0.5, 0.0))
    redo_vector = np.where(full | products, share, np.where(selective, 0.5, 0.0))
    back = _products_back(s)
    cube = (work.cube_us + work.experts_us) * (1 + back + redo + frozen)
    cube = cube + work.attention_us * (1 + PHYSICS["attention_backward"] + redo_attention + frozen)
    return (
        cube,
        work.vector_us * (1 + PHYSICS["backward_products"] + redo_vector + frozen),
        work.kernels * (1 + back + redo + frozen),
        redo,
    )


def _products_back(s: Columns) -> Floats:
    """Products of the backward pass for one of the forward pass: frozen weights need no gradient."""
    return np.where(s["lora_rank"] > 0, PHYSICS["backward_products"] - 1.0, PHYSICS["backward_products"])


def _exchange(
    operators: Operators, network: Network, model: ModelSizes, tokens: Floats, ep: Floats, tp: Floats
) -> Floats:
    """Dispatch and combine of one forward pass."""
    if not model.experts:
        return np.zeros_like(tokens)
    size = tokens * model.chosen * model.hidden * 2 / np.where(ep > 1, np.minimum(tp, ep), 1.0)
    return np.where(
        ep > 1, 2 * collective_us(network, operators, "all_to_all", size, ep, np.ones_like(ep)), 0.0
    )


def _head(operators: Operators, device: Device, model: ModelSizes, tokens: Floats, s: Columns) -> Floats:
    if not model.vocabulary:
        return np.zeros_like(tokens)
    width = model.vocabulary / s["tensor_parallel"]
    x = np.column_stack([tokens, width, np.full_like(tokens, model.hidden)])
    return products_us(operators, device, x, s["precision_head"]) + stream_us(
        device, tokens * width * 12, 4.0
    )


def _gradients(
    on: Target, model: ModelSizes, s: Columns, backward_us: Floats, count: Floats, passes: Floats
) -> tuple[Floats, Floats]:
    """Exposed and hidden time to add up gradients, and to gather weights for so many passes."""
    tp, dp, cp = s["tensor_parallel"], s["data_parallel"], s["context_parallel"]
    dense, routed = trained(model, s)
    group, operators, network = dp * cp, on.operators, on.network
    total = collective_us(network, operators, "all_reduce", dense * 2, group, tp)
    if model.experts:
        total = total + collective_us(network, operators, "all_reduce", routed * 2, expert_copies(s), tp)
    # ZeRO 3 gathers weights in every pass of every micro-batch and scatters gradients once
    gather = collective_us(network, operators, "all_gather", sum(shares(model, s)) * 2 / group, group, tp)
    total = np.where(s["zero_stage"] >= 3, passes * count * gather + total / 2, total)
    room = np.where(s["zero_stage"] >= 3, count, 1.0) * PHYSICS["overlap"] * backward_us
    hidden = np.where(s["overlap_gradients"] > 0, np.minimum(total, room), 0.0)
    return total - hidden, hidden


def _update(device: Device, model: ModelSizes, s: Columns) -> Floats:
    passes = np.where(s["fused_optimizer"] > 0, 1.0, PHYSICS["unfused_optimiser"])
    return stream_us(device, spread(model, s, stage=1) * PHYSICS["optimiser_bytes"] * passes, 10.0)


def _offload(
    on: Target,
    model: ModelSizes,
    s: Columns,
    tokens: Floats,
    stage_us: Floats,
    layers: Floats,
    passes: Floats,
) -> tuple[Floats, Floats]:
    """Exposed and hidden transfers to host memory per micro-batch; weights are fetched for so many passes.

    The optimiser of weights on the host is there too: its gradients and results move as without them.
    """
    kinds = s["offload"]
    zero = np.zeros_like(tokens)
    if not np.any(kinds > 0):
        return zero, zero
    facts = {**on.network.facts, **on.device.facts}
    up = Device(on.device.id, facts).number(
        "device_to_host_bandwidth_bytes_per_s",
        "measured_host_link_bandwidth_bytes_per_s",
        "pcie_bandwidth_bytes_per_s",
    )
    count = s["global_batch"] / (s["micro_batch"] * s["data_parallel"])
    states = 2 * PHYSICS["host_state_bytes"] * spread(model, s, stage=1) / up * 1e6 / count
    kept = 2 * layers * layer_activation(model, s, tokens) / up * 1e6
    fetched = passes * 2 * sum(shares(model, s)) / (s["data_parallel"] * s["context_parallel"]) / up * 1e6
    is_of = {
        name: kinds == CHOICES["offload"].index(name) for name in ("optimizer", "parameters", "activations")
    }
    moved = np.where(is_of["activations"], kept, np.where(is_of["parameters"], fetched, zero))
    hidden = np.minimum(moved, stage_us)
    return np.where(is_of["optimizer"] | is_of["parameters"], states, zero) + moved - hidden, hidden


def _finish(
    device: Device,
    s: Columns,
    split_us: dict[str, Floats],
    hidden_us: Floats,
    devices: Floats,
    flops: Floats,
    memory: dict[str, Floats],
    unit: str,
    items: Floats,
    *,
    factor: float,
) -> Steps:
    time = np.asarray(sum(split_us.values()), dtype=np.float64) / 1e6 * factor
    rate = s["samples_per_s_loaded"]
    loading = np.where(rate > 0, np.maximum(s["global_batch"] / np.maximum(rate, 1e-9) - time, 0.0), 0.0)
    time = time + loading
    split = {name: part / 1e6 * factor for name, part in split_us.items()}
    split["data_loading"] = loading
    active = (split["compute"] + split["memory"]) / time
    use = flops / time / peaks(device, s["precision"])
    power = power_w(device, active=active, cube_use=use)
    energy = None if power is None else power * time * devices
    return Steps(
        time_s=time,
        split_s=split,
        hidden_s=hidden_us / 1e6 * factor,
        throughput=items / time,
        unit=f"{unit}/s",
        memory_bytes=memory,
        capacity_bytes=device.memory_capacity,
        power_w=power,
        energy_j=energy,
        devices=devices,
        spread=PHYSICS["spread"],
        extra={"cube_use": use, "micro_batches": s["global_batch"] / (s["micro_batch"] * s["data_parallel"])},
    )


def _by_layers(on: Target, model: ModelSizes, s: Columns, devices: Floats, factor: float) -> Steps:
    """A step of a network that is known layer by layer, split by data.

    Raises:
        MissingFactError: Its layers are not known. By its operations alone a step is 3.8 times off, by the
            share of the peak of other networks 2.6 (docs/figures-notes.md): no answer.
    """
    samples = s["global_batch"] / s["data_parallel"]
    count = s["global_batch"] / (s["micro_batch"] * s["data_parallel"])
    layers = operator_list(model.id)
    if not layers:
        raise MissingFactError(
            f"{model.id}: the layers of the network are not known, and operations alone do not tell a step"
        )
    device = on.device
    cube, vector, kernels = convolutions_us(on, layers, s, s["micro_batch"], backward=True)
    compute, vector = count * cube, count * vector
    launched = np.where(s["graph"] > 0, 0.0, count * kernels * PHYSICS["training_host_us"])
    host = np.maximum(launched - compute - vector, 0.0)
    flops = 3 * model.flops_per_sample * samples
    s = {**s, "tensor_parallel": np.ones_like(samples), "expert_parallel": np.ones_like(samples)}
    wire, hidden = _gradients(on, model, s, compute / count * 2 / 3, count, np.full_like(count, 2.0))
    split = {
        "compute": compute, "memory": vector + _update(device, model, s),
        "communication_exposed": wire + PHYSICS["overlap_tax"] * hidden, "scheduling": np.zeros_like(wire),
        "synchronisation": np.zeros_like(wire), "bubble": np.zeros_like(wire), "host": host,
    }  # fmt: skip
    memory = trained_memory_parts(model, s, device.reserved_bytes)
    return _finish(
        device, s, split, hidden, devices, flops, memory, "samples", s["global_batch"], factor=factor
    )
