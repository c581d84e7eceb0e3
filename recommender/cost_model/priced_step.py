"""A step with its price: the one record of what a configuration takes, gives and needs by the cost model."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from kg.nouns.gain import NORMAL_90
from kg.nouns.layout import DEGREES, ParallelLayout
from recommender.cost_model.estimate import estimate_question
from recommender.cost_model.operators.kinds import Operators
from recommender.cost_model.question import Question
from recommender.cost_model.settings.plans import canonical_name
from recommender.cost_model.workloads.steps import PARTS, Steps

_NAMED = frozenset(
    {"step_time_s", "throughput", "power_w", "energy_j", "energy_per_unit_j", "communication_hidden_s"}
)
"""Results that its JSON has under names or at places of their own."""
_LONG = {"time_s": "step_time_s"}

MEMORY_SPREAD = 0.12
"""Standard deviation of the log of the memory of a training around the modelled one: the median error of 48
published peaks, as that of a normal distribution (``benchmarks/cost_models/training_memory.py``)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PricedStep:
    """One configuration with its price.

    Attributes:
        layout: How the work is divided.
        settings: Of the cost model.
        results: Metrics in SI units: ``throughput`` of the whole job, ``step_time_s`` (of a decode step where
            a model is served), ``tpot_s``, ``ttft_s``, ``power_w`` of one device where its facts are known,
            ``energy_per_unit_j`` of a token or sample over all devices likewise; empty where unpriced.
        unit: What the throughput counts.
        spread: Standard deviation of the log of time and throughput.
        doubt: Share of the error of the price that measured runs leave.
        memory_bytes: On the fullest device.
        capacity_bytes: What that device can hold; None if unknown.
        split_s: Parts of the time, which add up to it.
        memory_parts: Parts of the memory.
        log_merit: Natural log of the objective, higher is better; None without an objective or a price.
        beyond_limits: Natural log of how far the worst limit is missed, as the cost model sees it; 0 within.
    """

    layout: ParallelLayout
    settings: Mapping[str, object] = field(default_factory=dict)
    results: Mapping[str, float] = field(default_factory=dict)
    unit: str = "tokens/s"
    spread: float = math.nan
    doubt: float = 1.0
    memory_bytes: float = 0.0
    capacity_bytes: float | None = None
    split_s: Mapping[str, float] = field(default_factory=dict)
    memory_parts: Mapping[str, float] = field(default_factory=dict)
    log_merit: float | None = None
    beyond_limits: float = 0.0

    @property
    def throughput(self) -> float:
        """Throughput of the whole job, in ``unit``."""
        return self.results["throughput"]

    @property
    def power_w(self) -> float | None:
        """Power of one device; None where its facts are missing."""
        return self.results.get("power_w")

    @property
    def energy_per_unit_j(self) -> float | None:
        """Energy of one token or sample over all devices; None likewise."""
        return self.results.get("energy_per_unit_j")

    @property
    def fits(self) -> bool | None:
        """True if the memory suffices; None if the capacity is unknown."""
        return None if self.capacity_bytes is None else self.memory_bytes <= self.capacity_bytes

    @property
    def chance_to_fit(self) -> float:
        """The chance that a training fits, as its memory is modelled; 1 where nothing is known."""
        if not self.capacity_bytes or not self.memory_bytes:
            return 1.0
        room = math.log(self.capacity_bytes / self.memory_bytes) / MEMORY_SPREAD
        return math.erfc(-room / math.sqrt(2)) / 2

    @property
    def within_limits(self) -> bool:
        """True if all limits hold that the cost model knows."""
        return self.beyond_limits <= 0

    @property
    def time_interval_s(self) -> tuple[float, float]:
        """Bounds of the time of a step with 90 %."""
        low, high = (self.results["step_time_s"] * math.exp(s * NORMAL_90 * self.spread) for s in (-1, 1))
        return low, high

    def field(self, name: str) -> float | None:
        """A number of its JSON, of the split as ``split_s.compute``; None where it is not known."""
        part = name.removeprefix("split_s.")
        if part != name:
            return self.split_s.get(part)
        return self.memory_bytes if name == "memory_total_bytes" else self.result(_LONG.get(name, name))

    def result(self, name: str) -> float | None:
        """A result; None where it is not modelled, or without bound."""
        value = self.results.get(name, math.nan)
        return value if math.isfinite(value) else None

    def to_json(self) -> dict[str, object]:
        """Plain content; what is unknown is null."""
        return {
            "settings": dict(self.settings),
            "time_s": self.results["step_time_s"],
            "time_interval_90_s": list(self.time_interval_s),
            "split_s": dict(self.split_s),
            "communication_hidden_s": self.results["communication_hidden_s"],
            "throughput": self.throughput,
            "throughput_unit": self.unit,
            "memory_bytes": dict(self.memory_parts),
            "memory_total_bytes": self.memory_bytes,
            "memory_capacity_bytes": self.capacity_bytes,
            "fits": self.fits,
            "power_w": self.power_w,
            "energy_j": self.results.get("energy_j"),
            "kind": "modelled",
            **{name: self.result(name) for name in self.results if name not in _NAMED},
        }


def price(
    question: Question, changes: Sequence[Mapping[str, object]] = ({},), operators: Operators | None = None
) -> list[PricedStep]:
    """The price of a question, once for each of ``changes`` laid over its settings.

    Raises:
        InputError: An unknown setting, or a layout that cannot be.
        MissingFactError: A fact that the price needs is unknown.
    """
    steps = estimate_question(question, changes, operators)
    return priced_steps(steps, [question.configuration(one) for one in changes])


def priced_steps(steps: Steps, settings: Sequence[Mapping[str, object]]) -> list[PricedStep]:
    """Each configuration of an estimate, with the settings that it was made with, whole numbers whole."""
    capacity = steps.capacity_bytes if np.isfinite(steps.capacity_bytes) else None
    total, found = steps.memory_total, []
    for at, given in enumerate(settings):
        named = {canonical_name(name): value for name, value in given.items()}
        sizes = {name: float(str(named[name])) for name in DEGREES.values() if name in named}
        step = PricedStep(
            layout=ParallelLayout.of_degrees(sizes),
            settings={name: _whole(value) for name, value in given.items()},
            results=_results(steps, at),
            unit=steps.unit,
            spread=steps.spread_of(at),
            doubt=1.0 if steps.doubt is None else float(steps.doubt[at]),
            memory_bytes=float(total[at]),
            capacity_bytes=capacity,
            split_s={name: float(steps.split_s[name][at]) for name in PARTS},
            memory_parts={name: float(part[at]) for name, part in steps.memory_bytes.items()},
        )
        found.append(step)
    return found


def _whole(value: object) -> object:
    """A number as it is written: a count that was divided is whole again."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _results(steps: Steps, at: int) -> dict[str, float]:
    """The results of one configuration of an estimate, by name."""
    results = {name: float(values[at]) for name, values in steps.extra.items()}
    results["throughput"] = float(steps.throughput[at])
    results["step_time_s"] = float(steps.time_s[at])
    results["communication_hidden_s"] = float(steps.hidden_s[at])
    if steps.energy_j is not None:
        results["energy_j"] = float(steps.energy_j[at])
    if steps.power_w is not None:
        results["power_w"] = power = float(steps.power_w[at])
        results["energy_per_unit_j"] = power * float(steps.devices[at]) / results["throughput"]
    return results
