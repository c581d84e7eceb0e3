"""Costs of a step for a batch of configurations: time with its split, memory and power.

Power rests on three points: idle, busy inference, saturated matrix unit. No power trace of a training run was
found; between the points it is drawn in a straight line over the use of the matrix unit.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from recommender.cost_model.facts.device import Device
from recommender.cost_model.facts.physics import Floats
from recommender.cost_model.settings.plans import CHOICES

PARTS = (
    "compute", "memory", "communication_exposed", "scheduling", "synchronisation", "bubble", "host",
    "data_loading",
)  # fmt: skip
"""Parts of the time that add up to it; hidden communication stands beside them."""


@dataclass(frozen=True, slots=True)
class Steps:
    """Costs of ``n`` configurations.

    Attributes:
        time_s: Time of a step (training) or of a decode step (serving), shape (n,).
        split_s: Its parts, by the names of ``PARTS``; they add up to ``time_s``.
        hidden_s: Communication that runs behind compute.
        throughput: Tokens (or samples) per second of the whole job.
        unit: What throughput counts.
        memory_bytes: Parts of the memory of the fullest device.
        capacity_bytes: What that device can allocate; NaN if unknown.
        power_w: Power of one device; None where facts are missing.
        energy_j: Energy of a step over all devices; None likewise.
        devices: Devices of the job.
        spread: Standard deviation of the log of the time.
        doubt: Share of the error of a price that measured runs near by leave, shape (n,); None without any.
        near_spread: Standard deviation of the log of the time beside them, shape (n,); None without any.
        extra: Further results by name, such as ``ttft_s``.
        basis: Measured steps that the times are anchored on, in words; empty if on none.
    """

    time_s: Floats
    split_s: Mapping[str, Floats]
    hidden_s: Floats
    throughput: Floats
    unit: str
    memory_bytes: Mapping[str, Floats]
    capacity_bytes: float
    power_w: Floats | None
    energy_j: Floats | None
    devices: Floats
    spread: float
    extra: Mapping[str, Floats]
    basis: str = ""
    doubt: Floats | None = None
    near_spread: Floats | None = None

    def spread_of(self, place: int) -> float:
        """Standard deviation of the log of the time of one configuration."""
        return self.spread if self.near_spread is None else float(self.near_spread[place])

    @property
    def memory_total(self) -> Floats:
        """Bytes in use on the fullest device."""
        return np.asarray(sum(self.memory_bytes.values()), dtype=np.float64)

    @property
    def fits(self) -> NDArray[np.bool_]:
        """True if the memory suffices; false where the capacity is not known."""
        return np.asarray(self.memory_total <= self.capacity_bytes)


def scaled(steps: Steps, factor: Floats | float) -> Steps:
    """The same with every time ``factor`` as long, rates as much lower; energy goes with it."""
    return replace(
        steps,
        time_s=steps.time_s * factor,
        split_s={name: part * factor for name, part in steps.split_s.items()},
        hidden_s=steps.hidden_s * factor,
        throughput=steps.throughput / factor,
        energy_j=None if steps.energy_j is None else steps.energy_j * factor,
        extra={name: _scaled(name, values, factor) for name, values in steps.extra.items()},
    )


def _scaled(name: str, values: Floats, factor: Floats | float) -> Floats:
    if name.endswith(("throughput", "cube_use")):
        return np.asarray(values / factor)
    return np.asarray(values * factor) if name.endswith(("_s", "_j")) else values


POWER_SPREAD = 0.25
"""Relative spread of a power estimate: a judgement, nothing measures it."""


def peaks(device: Device, formats: Floats) -> Floats:
    """Peak of the matrix unit in each of some number formats, operation/s."""
    asked = formats.tolist()
    known = {index: device.peak(CHOICES["precision"][int(index)]) for index in dict.fromkeys(asked)}
    return np.array([known[index] for index in asked])


def power_w(device: Device, *, active: Floats, cube_use: Floats) -> Floats | None:
    """Power of one device, watt; None where its idle or full power is not known.

    Args:
        device: Which.
        active: Share of the time that any unit works.
        cube_use: Share of the matrix unit's peak that is reached, averaged over all time.
    """
    idle = device.get("idle_power_w")
    full = device.get("saturated_power_bf16_w", "saturated_power_fp16_w", "tdp_w")
    if idle is None or full is None:
        return None
    busy = device.get("busy_power_w") or idle + 0.45 * (full - idle)  # 215 of 96 to 365 W on the 910B3
    reached = np.clip(cube_use / 0.87, 0, 1)  # saturated power was drawn at 86 to 88 % of the peak (FlagPerf)
    return np.asarray(idle + (busy - idle) * np.clip(active, 0, 1) + (full - busy) * reached)
