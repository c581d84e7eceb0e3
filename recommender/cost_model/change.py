"""Effect of a change of settings on time, memory and energy, by the cost model.

Both sides are estimated with the same base, so errors that both share cancel; what is left of the error of a
gain is :data:`GAIN_SPREAD`.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass

from kg.nouns.gain import Gain
from kg.nouns.layout import DEGREES
from kg.nouns.values import Value
from recommender.cost_model.priced_step import PricedStep, price
from recommender.cost_model.question import Question
from recommender.cost_model.settings.dialects import OFF, captured_rows
from recommender.cost_model.settings.engine_defaults import engine_defaults, replicated_by

GAIN_SPREAD = (0.163, 0.427)
"""Standard deviation of a published log gain around the modelled one: of a change that does nothing, and its
growth with the modelled one (the hypotenuse of the two). Fitted to 33 published effects of 18 documents; with
each document left out, 90 % intervals hold .88 of them (``benchmarks/answers/gains.py``)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SettingsChange:
    """A change of settings.

    Attributes:
        settings: What is changed, by the names of the cost model, before and after.
        before: Without it.
        after: With it.
    """

    settings: Mapping[str, tuple[object, object]]
    before: PricedStep
    after: PricedStep

    @property
    def log_gain(self) -> float:
        """Log of throughput after over before."""
        return math.log(self.after.throughput / self.before.throughput)

    def log_gain_in(self, result: str) -> float | None:
        """Log gain in ``"throughput"``, ``"tpot"`` or ``"ttft"``; None where that is not modelled."""
        if result == "throughput":
            return self.log_gain
        before, after = self.before.result(f"{result}_s"), self.after.result(f"{result}_s")
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


_DIVIDING = ("tensor_parallel", "pipeline_parallel", "context_parallel")
"""Degrees whose product divides the devices of a training between its copies."""


def modelled_gain(log_gain: float, spread: tuple[float, float] = GAIN_SPREAD) -> Gain:
    """A modelled log gain with its interval."""
    return Gain.around(log_gain, math.hypot(spread[0], spread[1] * log_gain))


def modelled_change(question: Question, configuration: Mapping[str, Value]) -> SettingsChange | None:
    """The change that a configuration makes; None where the cost model has no setting for any of it.

    What is not set now is as it is priced without; a switch of training is taken as off before,
    unless its program has it on.

    Raises:
        InputError: The cost model refuses the changed settings.
        MissingFactError: A fact is unknown.
    """
    base = question.settings
    told = question.translated(configuration)
    rows = captured_rows(question.engine, question.version, configuration, {**base, **told})
    after = {**rows, **_copies(question, told), **told}
    off = _unset(question)
    before = {name: base.get(name, off.get(name)) for name in after}
    differing = {
        name: (before[name], value)
        for name, value in after.items()
        if before[name] is not None and str(before[name]) != str(value)
    }
    if not differing:
        return None
    one, two = price(question, [{name: pair[at] for name, pair in differing.items()} for at in (0, 1)])
    return SettingsChange(settings=differing, before=one, after=two)


def _copies(question: Question, told: Mapping[str, object]) -> dict[str, object]:
    """The copies of a training that take the devices which a changed layout leaves them."""
    base = question.settings
    if question.phase != "training" or "data_parallel" not in base or not set(told) & set(_DIVIDING):
        return {}
    each = math.prod(int(float(str(told.get(name, base.get(name, 1))))) for name in _DIVIDING)
    return {} if question.machine.count % each else {"data_parallel": question.machine.count // each}


def _unset(question: Question) -> Mapping[str, object]:
    """Settings where nothing sets them: all but the layout, which a start has."""
    known = engine_defaults(question.phase, question.engine, question.version)
    priced = {name: value for name, value in known.items() if name not in DEGREES.values()}
    if question.phase != "training":
        return {**OFF, **priced}
    return {**priced, **OFF, **(replicated_by(question.engine, question.settings) or {})}
