"""Memory of configurations, without their times.

The same parts as an estimate has, for asking about many configurations at little cost.
"""

import re
from collections.abc import Mapping, Sequence

import numpy as np

from kg.errors import InputError
from recommender.cost_model.facts.model import ModelSizes
from recommender.cost_model.facts.physics import PHYSICS, Floats
from recommender.cost_model.settings.engine_defaults import engine_defaults
from recommender.cost_model.settings.plans import Columns, columns
from recommender.cost_model.workloads import (
    inference,
    layouts,
    networks,
    serving,
    serving_memory,
    training_memory,
)

USABLE_MEMORY = 0.9
"""Share of the memory that a serving engine fills: vLLM's default of --gpu-memory-utilization."""
TOLERANCE = 1.1
"""Largest need, over the capacity, that is believed to run: of 33 published runs with stated devices and
layout, two need 1.00 and 1.08 by this reckoning."""


def memory_bytes(
    model: ModelSizes,
    phase: str,
    settings: Sequence[Mapping[str, object]],
    devices: int,
    *,
    engine: str = "",
    reserved: float = PHYSICS["reserved_bytes"],
) -> dict[str, Floats]:
    """Bytes of each part on the fullest device, each of shape (len(settings),).

    Args:
        model: What runs.
        phase: ``"training"`` or ``"serving"``.
        settings: One mapping per configuration; names as in ``recommender.cost_model.settings.plans``.
        devices: Devices of the job.
        engine: What runs it; empty if not stated.
        reserved: Bytes of a device that its driver and program hold besides.

    Raises:
        InputError: A layout that cannot be (the message names the rule), an unknown setting, or a
            network whose layers are not known.
    """
    if reason := not_modelled(model):
        raise InputError(reason)
    s = complete_columns(
        model, phase, columns(settings, engine_defaults(phase, engine, "", settings)), devices
    )
    return parts_of(model, phase, s, reserved=reserved)


def not_modelled(model: ModelSizes) -> str:
    """The reason why the memory of a model cannot be modelled; empty if it can."""
    if model.layers or networks.written_elements(model):
        return ""
    return f"{model.id}: what its layers keep in memory is not known"


def least_bytes(parameters: float, precision: str) -> float:
    """Bytes of the weights alone in a number format: no layout on any number of devices needs less."""
    bits = (_bits(part) for part in precision.split("/"))
    return parameters * min(bits) / 8


def _bits(name: str) -> float:
    """Bits of a weight: ``int4``, ``mxfp4``, ``w4a8`` and ``fp8`` say so, other names are 16 bit or 32."""
    found = re.match(r"w(\d+)a\d+|[a-z]*?(4|8|32)(?!\d)", name)
    return float(found[1] or found[2]) if found else 16.0


def complete_columns(model: ModelSizes, phase: str, settings: Columns, devices: int) -> Columns:
    """The columns, with those that follow from others filled in.

    Raises:
        LayoutError: A layout that cannot be; it says which of them can.
        InputError: A size that is missing.
    """
    counts = np.full(len(settings["precision"]), float(devices))
    if phase == "training":
        return layouts.complete_columns(model, settings, counts)
    if inference.feeds_forward(model, phase):
        return inference.complete_columns(settings, counts)
    return serving.complete_columns(model, settings, counts)


def parts_of(
    model: ModelSizes, phase: str, s: Columns, *, reserved: float = PHYSICS["reserved_bytes"]
) -> dict[str, Floats]:
    """Bytes of each part on the fullest device, each of shape (n,), of checked columns."""
    if phase == "training" and not model.layers:
        return networks.trained_memory_parts(model, s, reserved)
    if phase != "training" and inference.feeds_forward(model, phase):
        return networks.served_memory_parts(model, s, reserved)
    if phase == "training":
        return training_memory.memory_parts(model, s, layouts.pass_tokens(s), reserved=reserved)
    return serving_memory.memory_parts(model, s, s["batch"], reserved=reserved)
