"""A serving step: prefill, decode, their mixture under load, and the memory of the cache.

Decode steps stream weights and cache once per step; a prefill of a chunk is a forward pass. A pipeline
of p stages decodes p groups of sequences at a time, each group in every stage in turn. What the times of
steps make of a load is in ``serving_flow``. Arrays run over configurations.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from kg.errors import InputError, MissingFactError
from recommender.cost_model.facts.device import Device
from recommender.cost_model.facts.physics import PHYSICS, Floats
from recommender.cost_model.operators.network import Network, Target, point_us
from recommender.cost_model.settings.plans import CHOICES, Columns, divides, rule, with_groups
from recommender.cost_model.workloads.block import BlockWork, PassSizes
from recommender.cost_model.workloads.forward_pass import drafting_us, forward_pass
from recommender.cost_model.workloads.launching import between_us
from recommender.cost_model.workloads.serving_flow import StepTimes, is_apart, serving_flow, step_plan
from recommender.cost_model.workloads.serving_memory import memory_parts, on_device, sequence_bytes, weights
from recommender.cost_model.workloads.steps import PARTS, Steps, peaks, power_w

if TYPE_CHECKING:
    from collections.abc import Mapping

    from recommender.cost_model.facts.model import ModelSizes
    from recommender.cost_model.workloads.serving_flow import StepPlan


def complete_columns(model: ModelSizes, settings: Columns, devices: Floats) -> Columns:
    """The columns with the tensor split filled in.

    Raises:
        InputError: A layout that cannot be; the message names the rule.
    """
    if not model.layers:
        raise InputError(f"{model.id}: serving needs a transformer")
    s = with_groups(settings)
    dp, ep = s["data_parallel"], s["expert_parallel"]
    rule(dp >= 1, "data parallel is at least 1")
    # what an engine that shares out layers leaves open
    stages = np.maximum(devices / (np.maximum(s["tensor_parallel"], 1) * dp), 1)
    pp = s["pipeline_parallel"] = np.where(s["pipeline_parallel"] > 0, s["pipeline_parallel"], stages)
    wide, ahead = s["prefill_tensor_parallel"], s["prefill_engines"]
    rule((wide == 0) | (ahead > 0), "prefill_tensor_parallel is of engines that only prefill")
    rule((wide > 0) | divides(dp * pp, devices), "pipeline x data must divide the number of devices")
    left = np.where(wide > 0, (devices / pp - wide * ahead) / np.maximum(dp - ahead, 1), devices / (dp * pp))
    tp = np.where(s["tensor_parallel"] > 0, s["tensor_parallel"], left)
    s["prefill_tensor_parallel"] = wide = np.where(wide > 0, wide, tp)
    ranks = tp * (dp - ahead) + wide * ahead
    rule(ranks * pp == devices, "tensor x pipeline x data must be the number of devices")
    rule(pp <= model.layers, "no more stages than layers")
    s["tensor_parallel"] = tp
    for split in (tp, wide):
        rule(divides(split, np.full_like(tp, model.heads)), "tensor must divide the attention heads")
    if model.experts:
        # more devices than experts hold copies of the busiest ones (DeepSeek-V3, arXiv:2412.19437, 3.4)
        rule(
            divides(ep, np.full_like(ep, model.experts)) | (ep > model.experts),
            "expert parallel must divide the experts, or be more than there are",
        )
        shared = np.where(wide == tp, tp * dp, tp * (dp - ahead))
        rule(divides(ep, shared), "expert parallel must divide tensor x data")
    else:
        rule(ep == 1, "expert parallel needs a model with experts")
    apart = s["separation"] == CHOICES["separation"].index("separate")
    rule((ahead == 0) | apart, "engines that only prefill need separation=separate")
    rule((ahead == 0) | (ahead < dp), "an engine that decodes must be left")
    rule(s["prefix_hit"] < 1, "a prefix hit of 1 leaves nothing to compute")
    return s


def serving_step(
    on: Target, model: ModelSizes, settings: Columns, devices: Floats, *, factor: float = 1.0
) -> Steps:
    """Costs of serving: ``time_s`` is a decode step; prefill, TTFT, TPOT and tails are in ``extra``.

    The factor is what measured steps make of the time of a decode step and of a prefill.

    Raises:
        InputError: An impossible layout, or a precision that the device lacks.
        MissingFactError: A fact that the answer needs is unknown.
    """
    device, network = on.device, on.network
    s = complete_columns(model, settings, devices)
    tp, pp = s["tensor_parallel"], s["pipeline_parallel"]
    batch, length, produced, drafted = (
        s[name] for name in ("batch", "input_len", "output_len", "speculative_tokens")
    )

    # Decode: one token (and the drafted ones) per sequence against the mean length of the cache.
    # A pipeline keeps as many groups of sequences in flight as it has stages.
    flight = batch / np.minimum(pp, batch)
    rows = flight * (1 + drafted)
    middle = length + produced / 2
    decoded = PassSizes(tokens=rows, sequences=flight, length=middle, phase="decode")
    decode = forward_pass(on, model, s, decoded, rows)
    kept = on_device(model, s)
    device_us, wire, host, work = decode.device_us * kept, decode.wire_us, decode.host_us, decode.block
    cached = flight * sequence_bytes(model, s, middle)
    fetched = _host_fetch_us(device, network, cached * s["kv_host_share"], s) + _hosted_us(model, s, cached)
    proposing = drafting_us(on, model, s, decode, flight)
    idle_host = between_us(device, s) + np.maximum(host - device_us - wire, 0.0)
    stream = _stream_us(device, model, s, flight, cached) * kept
    launching = model.layers * work.launch_us * kept
    split_us = {
        "compute": np.maximum(device_us - stream - launching, 0.0) + proposing,
        "scheduling": np.minimum(launching, np.maximum(device_us - stream, 0.0)),
        "memory": np.minimum(stream, device_us) + fetched,
        "communication_exposed": wire,
        "host": idle_host,
    }
    split_us = {name: part * factor for name, part in split_us.items()}
    step_s = np.asarray(sum(split_us.values()), dtype=np.float64) / 1e6

    # Prefill of one request, in chunks that each read the weights again.
    plan, in_step = step_plan(s, device), _in_step(model, s)
    fresh, chunk, count, together = plan.fresh, plan.chunk, plan.count, plan.together
    prefilled = PassSizes(
        tokens=chunk * together, sequences=together, length=chunk, span=(length - fresh, length)
    )
    of_prefill = _of_prefill(s, _rows_share(s, plan, in_step))
    prefill = forward_pass(on, model, of_prefill, prefilled, together)
    # later chunks attend to earlier ones: the pairs of the whole sequence, less those within chunks
    pairs = np.maximum(length**2 - count * chunk**2 - (length - fresh) ** 2, 0) / np.maximum(chunk**2, 1)
    history = model.layers * prefill.block.growing_us * pairs
    hosts = (prefill.host_us, _shared_us(prefill.host_us, s, plan))
    # a prompt's blocks that the host keeps are brought to the device (op offload of ggml, 32 rows and more)
    brought = _host_fetch_us(device, network, weights(model, s) * (1 - kept), s)
    alone_s, passes_s = (
        (count * (np.maximum(prefill.device_us + prefill.wire_us, host) + brought) + history) / 1e6 * factor
        for host in hosts
    )
    apart = is_apart(s)
    transfer_s = np.zeros_like(tp)
    if np.any(apart):
        moved = np.where(apart, sequence_bytes(model, s, fresh), 0.0)
        transfer_s = point_us(network, moved, np.ones(tp.shape, dtype=bool)) / 1e6

    # the weights are read and the kernels launched once a step
    once = np.minimum(stream - cached / device.memory_bandwidth * 1e6 + launching, device_us)
    times = StepTimes(
        decode_s=step_s,
        alone_s=alone_s,
        passes_s=passes_s,
        transfer_s=transfer_s,
        base_s=once / 1e6 * factor,
    )
    parts = memory_parts(model, s, batch, reserved=device.reserved_bytes)
    s["cache_tokens"] = _cache_tokens(device, s, parts)
    output, flow = serving_flow(s, plan, times, in_step)
    power, energy = _power(device, model, s, split_us, step_s, work, devices)
    split = dict.fromkeys(PARTS, np.zeros_like(tp)) | {name: part / 1e6 for name, part in split_us.items()}
    extra = dict(flow)
    if power is not None:
        extra["energy_per_token_j"] = power * devices / np.maximum(output, 1e-12)
    return Steps(
        time_s=step_s,
        split_s=split,
        hidden_s=np.zeros_like(tp),
        throughput=output,
        unit="requests/s" if np.all(s["output_len"] <= 1) else "output tokens/s",
        memory_bytes=parts,
        capacity_bytes=device.memory_capacity,
        power_w=power,
        energy_j=energy,
        devices=devices,
        spread=PHYSICS["spread"],
        extra=extra,
    )


def _shared_us(launched: Floats, s: Columns, plan: StepPlan) -> Floats:
    """Host time of a prefill: requests of one length that started together end together."""
    most = np.where(s["length_spread"] > 0, plan.together, np.floor(plan.room / plan.fresh))
    return np.asarray(launched / np.maximum(np.minimum(most, s["batch"]) / plan.together, 1))


def _cache_tokens(device: Device, s: Columns, parts: Mapping[str, Floats]) -> Floats:
    """Tokens of requests that an engine's cache holds beside a prefix that they share; 0 where unknown."""
    left = device.memory_capacity - sum(part for name, part in parts.items() if name != "kv_cache")
    shared, whole = s["prefix_hit"] * s["input_len"], s["input_len"] + s["output_len"]
    priced = whole + (s["batch"] - 1) * (whole - s["output_len"] / 2 - shared)
    held = left / np.maximum(parts["kv_cache"], 1.0) * priced
    free = np.where(s["cache_tokens"] > 0, s["cache_tokens"], np.nan_to_num(held)) - shared
    return np.where(free > whole - shared, free, 0.0)


def _in_step(model: ModelSizes, s: Columns) -> Floats:
    """Engines that take each step together: those that share their experts, unless they prefill together."""
    waits = [CHOICES["engines"].index(name) for name in ("lock-step", "unpadded")]
    together = np.isin(s["engines"], waits) & bool(model.experts)
    sharing = np.minimum(s["expert_parallel"] / s["tensor_parallel"], s["data_parallel"])
    return np.where(together, np.maximum(sharing, 1.0), 1.0)


def _rows_share(s: Columns, plan: StepPlan, in_step: Floats) -> Floats:
    """Share of the engines in step that bring rows to the experts of a prefill: those that prefill then."""
    own = np.minimum(plan.count / plan.together / np.maximum(plan.steps, 1) * s["batch"], 1.0)
    share = own / (1 - (1 - own) ** in_step)
    return np.where(s["engines"] == CHOICES["engines"].index("unpadded"), share, 1.0)


def _of_prefill(s: Columns, rows_share: Floats) -> Columns:
    """The columns of engines that prefill: with a tensor split of their own, experts are theirs alone."""
    wide, ranks = s["prefill_tensor_parallel"], s["prefill_tensor_parallel"] * s["prefill_engines"]
    other = wide != s["tensor_parallel"]
    experts = np.where(other, np.minimum(s["expert_parallel"], ranks), s["expert_parallel"])
    return {**s, "tensor_parallel": wide, "expert_parallel": experts, "rows_share": rows_share}


def _power(
    device: Device,
    model: ModelSizes,
    s: Columns,
    split_us: Mapping[str, Floats],
    step_s: Floats,
    work: BlockWork,
    devices: Floats,
) -> tuple[Floats | None, Floats | None]:
    """Power of a device and energy of a decode step, where the facts are known."""
    active = np.clip((split_us["compute"] + split_us["memory"]) / 1e6 / step_s, 0, 1)
    peak = peaks(device, s["precision"])
    power = power_w(device, active=active, cube_use=model.layers * work.flops / (step_s * peak))
    return power, None if power is None else power * step_s * devices


def _stream_us(device: Device, model: ModelSizes, s: Columns, batch: Floats, cached: Floats) -> Floats:
    """Least time to read weights and cache once: the memory-bound part of a decode step."""
    read = weights(model, s)
    if model.experts:
        routed = model.routed_parameters
        share = 1 - (1 - model.chosen / model.experts) ** batch
        read = read * (1 - (1 - share) * routed / model.parameters)
    return np.asarray((read + cached) / device.memory_bandwidth * 1e6)


def _hosted_us(model: ModelSizes, s: Columns, cached: Floats) -> Floats:
    """Time of the blocks that the host runs in a decode step: it reads their weights and cache.

    Raises:
        MissingFactError: The speed of its memory is not stated.
    """
    away = 1 - on_device(model, s)
    if np.any((away > 0) & (s["host_bandwidth"] <= 0)):
        raise MissingFactError(
            f"{away.max() * model.layers:.0f} of {model.layers:.0f} blocks run on the host of unknown speed",
            hint="state its memory's, as --set host_bandwidth=60e9 (bytes/s), or put all on the device",
        )
    return np.asarray((weights(model, s) + cached) * away / np.maximum(s["host_bandwidth"], 1.0) * 1e6)


def _host_fetch_us(device: Device, network: Network, bytes_: Floats, s: Columns) -> Floats:
    """Time to bring the part of the cache that lives in host memory."""
    if not np.any(bytes_ > 0):
        return np.zeros_like(s["batch"])
    both = Device(device.id, {**device.facts, **network.facts})
    bandwidth = both.number(
        "host_to_device_bandwidth_bytes_per_s",
        "measured_host_link_bandwidth_bytes_per_s",
        "pcie_bandwidth_bytes_per_s",
    )
    return np.asarray(bytes_ / bandwidth * 1e6)
