"""What a change of settings does to time, memory and energy, by the cost model.

Both sides are estimated with the same base, so errors that both share cancel; what is left of the error of a
gain is :data:`GAIN_SPREAD`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from kg.nouns.gain import Gain
from recommender.cost_model.estimate import estimate_question
from recommender.cost_model.settings.dialects import OFF, captured_rows, translate
from recommender.cost_model.settings.engine_defaults import engine_defaults

if TYPE_CHECKING:
    from collections.abc import Mapping

    from kg.nouns.values import Value
    from recommender.cost_model.question import Question
    from recommender.cost_model.workloads.steps import Steps

GAIN_SPREAD = (0.163, 0.427)
"""Standard deviation of a published log gain around the modelled one: of a change that does nothing, and its
growth with the modelled one (the hypotenuse of the two). Fitted to 33 published effects of 18 documents; with
each document left out, 90 % intervals hold .88 of them (``benchmarks/answers/gains.py``)."""

MEMORY_SPREAD = 0.1
"""Relative spread of the memory of a step: a judgement. Three published changes of memory were modelled to
0.0, 0.05 and 0.16 of the log; of 33 runs that ran, two need 1.00 and 1.08 of the capacity by it."""

OF_ENGINE = ("graph", "draft_graph", "captured_rows")
"""Settings of serving of which every release of an engine has its own default."""


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
        tpot_s: Time of an output token; None where nothing is served. ``ttft_s`` is that to the first.
        ttft_s: See above.
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
    tpot_s: float | None = None
    ttft_s: float | None = None


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
    def gain(self) -> Gain:
        """Log gain in throughput with the error that the cost model was seen to make."""
        return modelled_gain(self.log_gain)

    def log_gain_in(self, result: str) -> float | None:
        """Log gain in ``"throughput"``, ``"tpot"`` or ``"ttft"``; None where that is not modelled."""
        if result == "throughput":
            return self.log_gain
        before, after = getattr(self.before, f"{result}_s"), getattr(self.after, f"{result}_s")
        return math.log(before / after) if before and after else None

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


def modelled_gain(log_gain: float, spread: tuple[float, float] = GAIN_SPREAD) -> Gain:
    """A modelled log gain with its interval."""
    return Gain.around(log_gain, math.hypot(spread[0], spread[1] * log_gain))


def modelled_now(question: Question) -> ModelledConfiguration:
    """The settings of a question as they stand."""
    return standings(estimate_question(question))[0]


def modelled_change(question: Question, configuration: Mapping[str, Value]) -> SettingsChange | None:
    """The change that a configuration makes; None where the cost model has no setting for any of it.

    A switch that is not set now is taken as off before; a graph of serving, as its engine's release has it.

    Raises:
        InputError: The cost model refuses the changed settings.
        MissingFactError: A fact is unknown.
    """
    base, layers = question.settings, int(question.model.layers) or None
    told = translate(configuration, question.phase, count=question.machine.count, layers=layers).settings
    rows = captured_rows(question.engine, question.version, configuration, {**base, **told})
    after = {**rows, **told}
    off = {**OFF, **_of_engine(question)}
    before = {name: base.get(name, off.get(name)) for name in after}
    differing = {
        name: (before[name], value)
        for name, value in after.items()
        if before[name] is not None and str(before[name]) != str(value)
    }
    if not differing:
        return None
    old = {name: value for name, (value, _) in differing.items()}
    new = {name: value for name, (_, value) in differing.items()}
    one, two = standings(estimate_question(question, [old, new]))
    return SettingsChange(settings=differing, before=one, after=two)


def _of_engine(question: Question) -> Mapping[str, object]:
    """Settings that an engine makes by itself: its graphs."""
    known = engine_defaults(question.phase, question.engine, question.version)
    return {name: known[name] for name in OF_ENGINE if question.phase == "serving"}


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
                spread=steps.spread_of(at),
                memory_bytes=float(steps.memory_total[at]),
                capacity_bytes=steps.capacity_bytes if known else None,
                power_w=power,
                energy_per_unit_j=None if power is None else power * float(steps.devices[at]) / throughput,
                fits=bool(steps.fits[at]) if known else None,
                tpot_s=_result(steps, "tpot_s", at),
                ttft_s=_result(steps, "ttft_s", at),
            )
        )
    return found


def _result(steps: Steps, name: str, at: int) -> float | None:
    values = steps.extra.get(name)
    value = math.nan if values is None else float(values[at])
    return value if math.isfinite(value) else None
