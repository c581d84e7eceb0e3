"""What one or many configurations of a workload cost: the entry of the cost model.

``estimate`` takes facts, not stores: whoever asks reads model and hardware from the graph.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from kg.errors import InputError
from recommender.cost_model.facts.device import Device
from recommender.cost_model.facts.model import ModelSizes, model_of
from recommender.cost_model.operators.kinds import Operators, shipped
from recommender.cost_model.operators.network import Network
from recommender.cost_model.settings.plans import SERVING, TRAINING, columns
from recommender.cost_model.workloads.inference import feeds_forward, inference_step
from recommender.cost_model.workloads.serving import serving_step
from recommender.cost_model.workloads.steps import PARTS, Steps
from recommender.cost_model.workloads.training import training_step

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

PHASES = {"training": TRAINING, "serving": SERVING}
"""Workloads and the settings they take."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Machine:
    """Devices and what joins them.

    Attributes:
        device: One device.
        network: Links of a node and between nodes.
        count: Devices of the job.
    """

    device: Device
    network: Network
    count: int


def machine(
    device: str,
    facts: Mapping[str, float | str],
    *,
    count: int,
    server: str = "",
    server_facts: Mapping[str, float | str] | None = None,
) -> Machine:
    """A machine from facts of a device and of the server it sits in.

    Raises:
        InputError: No device.
    """
    if count < 1:
        raise InputError(f"{count} devices: at least one is needed")
    held = dict(server_facts or {})
    nodes = held.get("device_count", held.get("devices_per_node", facts.get("devices_per_node")))
    per_node = float(nodes) if isinstance(nodes, int | float) else float(count)
    merged: dict[str, float | str] = {**facts, **held}
    return Machine(
        device=Device(device, dict(facts)), network=Network(server or device, merged, per_node), count=count
    )


def estimate(
    *,
    model: ModelSizes,
    machine: Machine,
    phase: str,
    settings: Sequence[Mapping[str, object]],
    operators: Operators | None = None,
) -> Steps:
    """Costs of configurations of one workload.

    Args:
        model: What runs.
        machine: Where.
        phase: ``"training"`` or ``"serving"``.
        settings: One mapping per configuration; names as in ``recommender.cost_model.settings.plans``.
        operators: Calibrated operators; the shipped ones if None.

    Raises:
        InputError: An unknown setting, an impossible layout, a precision that the device lacks.
        MissingFactError: A fact that the answer needs is unknown.
    """
    if phase not in PHASES:
        raise InputError(f"no phase named {phase!r}", hint=f"known: {', '.join(PHASES)}")
    if not settings:
        raise InputError("no configuration to estimate")
    held = columns(settings, PHASES[phase])
    devices = np.full(len(settings), float(machine.count))
    answers = inference_step if feeds_forward(model) else serving_step
    step = training_step if phase == "training" else answers
    return step(operators or shipped(), machine.device, machine.network, model, held, devices)


def sweep(base: Mapping[str, object], axes: Mapping[str, Sequence[object]]) -> list[dict[str, object]]:
    """Configurations over every combination of the values of ``axes``."""
    return [{**base, **dict(zip(axes, values, strict=True))} for values in itertools.product(*axes.values())]


def as_records(steps: Steps, settings: Sequence[Mapping[str, object]]) -> list[dict[str, object]]:
    """Results as JSON objects, one per configuration."""
    records = []
    known = bool(np.isfinite(steps.capacity_bytes))
    for index, given in enumerate(settings):
        record: dict[str, object] = {
            "settings": dict(given),
            "time_s": float(steps.time_s[index]),
            "time_interval_90_s": [
                float(steps.time_s[index] * np.exp(sign * 1.645 * steps.spread)) for sign in (-1, 1)
            ],
            "split_s": {name: float(steps.split_s[name][index]) for name in PARTS},
            "communication_hidden_s": float(steps.hidden_s[index]),
            "throughput": float(steps.throughput[index]),
            "throughput_unit": steps.unit,
            "memory_bytes": {name: float(part[index]) for name, part in steps.memory_bytes.items()},
            "memory_total_bytes": float(steps.memory_total[index]),
            "memory_capacity_bytes": steps.capacity_bytes if known else None,
            "fits": bool(steps.fits[index]) if known else None,
            "power_w": None if steps.power_w is None else float(steps.power_w[index]),
            "energy_j": None if steps.energy_j is None else float(steps.energy_j[index]),
            "kind": "modelled",
        }
        for name, values in steps.extra.items():
            value = float(values[index])
            record[name] = value if np.isfinite(value) else None
        records.append(record)
    return records


__all__ = ["Machine", "as_records", "estimate", "machine", "model_of", "sweep"]
