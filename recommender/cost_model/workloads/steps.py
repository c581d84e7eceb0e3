"""Costs of a step for a batch of configurations: time with its split, memory and power."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from collections.abc import Mapping

Floats = NDArray[np.float64]

PARTS = (
    "compute", "memory", "communication_exposed", "scheduling", "synchronisation", "bubble", "host",
    "data_loading",
)  # fmt: skip
"""Parts of the time that add up to it; hidden communication stands beside them."""
SPREAD = 0.45
"""Log error of a whole step where no measured step anchors it: set by judgement, its coverage is in
docs/figures-cost-model.md."""
GPU_SPREAD = 0.35
"""The same of a language model on a GPU: nine tenths of 522 published steps of five tables lie within 1.645
of it (``docs/figures-cost-model-reach.md``)."""


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
        doubt: Share of it that measured runs near by leave, shape (n,); None without any.
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

    def spread_of(self, place: int) -> float:
        """Standard deviation of the log of the time of one configuration."""
        return self.spread if self.doubt is None else self.spread * float(self.doubt[place])

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


def ceiling(share: Floats | float) -> Floats:
    """Largest speed-up that removing a part of this share of the time can give: ``1 / (1 - share)``."""
    return np.asarray(1 / (1 - np.clip(share, 0, 1 - 1e-9)))


def speedup_without(steps: Steps, part: str) -> Floats:
    """Speed-up if one part took no time; never above ``ceiling`` of its share."""
    return np.asarray(steps.time_s / np.maximum(steps.time_s - steps.split_s[part], 1e-12))
