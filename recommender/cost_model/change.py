"""What a change of settings does to time, memory and energy, by the cost model.

Both sides are estimated with the same base, so errors that both share cancel; what is left of the error of a
gain is :data:`GAIN_SPREAD`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from kg.errors import InputError
from recommender.cost_model.estimate import estimate
from recommender.cost_model.settings.dialects import OFF, translate
from recommender.cost_model.settings.plans import SERVING, TRAINING
from recommender.cost_model.workloads.inference import feeds_forward

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from kg.nouns.values import Value
    from recommender.cost_model.estimate import Machine
    from recommender.cost_model.facts.model import ModelSizes
    from recommender.cost_model.workloads.steps import Steps

GAIN_SPREAD = 0.18
"""Spread of published over modelled log gains that holds nine tenths of 38 published effects of 18 documents
within 0.29 (``benchmarks/end_to_end.py --effects``, which also leaves each document out)."""

MEMORY_SPREAD = 0.1
"""Relative spread of the memory of a step: a judgement. Three published changes of memory were modelled to
0.0, 0.05 and 0.16 of the log; of 33 runs that ran, two need 1.00 and 1.08 of the capacity by it."""

_WAYS = (1, 2, 4, 8, 16)


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelledConfiguration:
    """One configuration as the cost model sees it.

    Attributes:
        time_s: Of a step, or of a decode step.
        throughput: In ``unit``, of the whole job.
        unit: What throughput counts, such as ``"tokens/s"``.
        spread: Standard deviation of the log of time and throughput.
        memory_bytes: Of the fullest device; ``capacity_bytes`` is what it can hold, None if unknown.
        capacity_bytes: See above.
        power_w: Of one device; None where its facts are missing.
        energy_per_unit_j: Of one token or sample over all devices; None likewise.
        fits: Whether the memory suffices; None if the capacity is unknown.
    """

    time_s: float
    throughput: float
    unit: str
    spread: float
    memory_bytes: float
    capacity_bytes: float | None
    power_w: float | None
    energy_per_unit_j: float | None
    fits: bool | None


@dataclass(frozen=True, slots=True, kw_only=True)
class SettingsChange:
    """A change of settings.

    Attributes:
        settings: What is changed, by the names of the cost model, before and after.
        before: Without it.
        after: With it.
    """

    settings: Mapping[str, tuple[object, object]]
    before: ModelledConfiguration
    after: ModelledConfiguration

    @property
    def log_gain(self) -> float:
        """Log of throughput after over before."""
        return math.log(self.after.throughput / self.before.throughput)

    @property
    def log_memory(self) -> float:
        """Log of memory after over before."""
        return math.log(self.after.memory_bytes / self.before.memory_bytes)

    @property
    def log_energy(self) -> float | None:
        """Log of energy per token or sample, after over before; None where it is not known."""
        if self.before.energy_per_unit_j is None or self.after.energy_per_unit_j is None:
            return None
        return math.log(self.after.energy_per_unit_j / self.before.energy_per_unit_j)


@dataclass(frozen=True, slots=True)
class ModelledJob:
    """What runs where, with the settings that a question tells.

    Attributes:
        model: What.
        machine: Where.
        phase: ``"training"`` or ``"serving"``.
        base: Settings of the cost model that hold now.
    """

    model: ModelSizes
    machine: Machine
    phase: str
    base: Mapping[str, object]

    @classmethod
    def of(
        cls,
        model: ModelSizes,
        machine: Machine,
        phase: str,
        told: Mapping[str, Value],
        lengths: Mapping[str, object],
    ) -> tuple[ModelledJob, tuple[str, ...]]:
        """A job from what a question tells, and notes on what was assumed.

        Args:
            model: What runs.
            machine: Where.
            phase: ``"training"`` or ``"serving"``.
            told: The current configuration, by the names of a framework or of the cost model.
            lengths: Sizes of the workload, such as ``seq_len``.

        Raises:
            InputError: No layout is possible, or a size is missing.
            MissingFactError: A fact is unknown.
        """
        known = TRAINING if phase == "training" else SERVING
        own = translate(told, phase, count=machine.count, layers=int(model.layers) or None).settings
        base = {**{name: value for name, value in lengths.items() if name in known}, **own}
        if machine.count == 1 or feeds_forward(model) or {"tensor_parallel", "data_parallel"} & set(base):
            return cls(model, machine, phase, base), _untold(base, phase)
        found = cls(model, machine, phase, base)._fastest()
        said = ", ".join(f"{name}={value}" for name, value in found.items() if name not in base)
        assumed = f"layout not told: the fastest that fits is taken, {said}"
        return cls(model, machine, phase, found), (assumed, *_untold(base, phase))

    def _fastest(self) -> dict[str, object]:
        """The base with the fastest way to split it over the devices; one that fits, where any does."""
        tried: list[tuple[bool, float, dict[str, object]]] = []
        reason: InputError | None = None
        for tensor in _WAYS:
            for stages in _WAYS:
                if tensor * stages > self.machine.count:
                    continue
                split: dict[str, object] = {"tensor_parallel": tensor, "pipeline_parallel": stages}
                if self.phase == "serving":
                    split["data_parallel"] = self.machine.count // (tensor * stages)
                try:
                    steps = self.estimate([{**self.base, **split}])
                except InputError as refused:
                    reason = refused
                    continue
                tried.append((bool(steps.fits[0]), float(steps.throughput[0]), {**self.base, **split}))
        if not tried:
            raise reason or InputError("no layout is possible")
        return max(tried, key=lambda item: item[:2])[2]

    def estimate(self, settings: Sequence[Mapping[str, object]]) -> Steps:
        """Costs of configurations of this job."""
        return estimate(model=self.model, machine=self.machine, phase=self.phase, settings=settings)

    def now(self) -> ModelledConfiguration:
        """What holds now."""
        return standings(self.estimate([self.base]))[0]

    def change(self, told: Mapping[str, Value]) -> SettingsChange | None:
        """What a configuration changes; None where the cost model has no setting for any of it.

        A switch that is not set now is taken as off before.

        Raises:
            InputError: The cost model refuses what would be.
            MissingFactError: A fact is unknown.
        """
        after = translate(
            told, self.phase, count=self.machine.count, layers=int(self.model.layers) or None
        ).settings
        before = {name: self.base.get(name, OFF.get(name)) for name in after}
        differing = {
            name: (before[name], value)
            for name, value in after.items()
            if before[name] is not None and str(before[name]) != str(value)
        }
        if not differing:
            return None
        old = {**self.base, **{name: value for name, (value, _) in differing.items()}}
        new = {**old, **{name: value for name, (_, value) in differing.items()}}
        one, two = standings(self.estimate([old, new]))
        return SettingsChange(settings=differing, before=one, after=two)


def _untold(base: Mapping[str, object], phase: str) -> tuple[str, ...]:
    """Which switches are on because nothing is told of them."""
    known = TRAINING if phase == "training" else SERVING
    on = [name for name in OFF if name not in base and known.get(name) == 1 and OFF[name] == 0]
    return (f"not told, and taken as in use now: {', '.join(on)}",) if on else ()


def standings(steps: Steps) -> list[ModelledConfiguration]:
    """Each configuration of an estimate."""
    known = bool(np.isfinite(steps.capacity_bytes))
    found = []
    for at in range(len(steps.time_s)):
        power = None if steps.power_w is None else float(steps.power_w[at])
        throughput = float(steps.throughput[at])
        found.append(
            ModelledConfiguration(
                time_s=float(steps.time_s[at]),
                throughput=throughput,
                unit=steps.unit if steps.unit.endswith("/s") else f"{steps.unit}/s",
                spread=steps.spread,
                memory_bytes=float(steps.memory_total[at]),
                capacity_bytes=steps.capacity_bytes if known else None,
                power_w=power,
                energy_per_unit_j=None if power is None else power * float(steps.devices[at]) / throughput,
                fits=bool(steps.fits[at]) if known else None,
            )
        )
    return found
