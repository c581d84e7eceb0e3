"""The memory rule: leaves out layouts that cannot be, precisions a device lacks, and what does not fit.

A layout that the cost model cannot take, a precision that the device does not compute and a need of memory
above what there is would all fail when they are evaluated. Asked of whole columns, so that an enumerated
space costs milliseconds and a sampled one is checked as it is drawn.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from kg.errors import InputError, MissingFactError
from kg.nouns.entities import Limit
from recommender.cost_model.facts.device import Device
from recommender.cost_model.question import Question
from recommender.cost_model.settings.plans import (
    CHOICES,
    GROUPS,
    PHASES,
    Columns,
    LayoutError,
    check,
    name_of,
    number_of,
    with_groups,
)
from recommender.cost_model.workloads.memory_fit import (
    TOLERANCE,
    complete_columns,
    not_modelled,
    parts_of,
)
from recommender.space.constraint import Constraint, Coordinates
from recommender.space.parameters import Parameter

SOURCE = "modelled memory"
MARGIN = TOLERANCE - 1
"""Share above the capacity up to which a measured configuration is tried although it would not fit."""
RULES = ("layout", "precision", "memory")
"""Rules that can forbid a configuration, by code minus one."""


@dataclass(frozen=True, slots=True)
class MemoryRule:
    """A rule that the cost model checks: a possible layout, a supported precision, enough memory.

    Attributes:
        question: Model, machine, phase and fixed settings, as the cost model would be asked.
        most_bytes: Memory of a device that may be needed; NaN where it is not known.
        measured: Whether something else gives the numbers: then it may have parameters of its own.
    """

    question: Question
    most_bytes: float
    measured: bool = False

    def __call__(self, parameters: Sequence[Parameter], u: Coordinates) -> NDArray[np.bool_]:
        """Mask of the rows that are possible, shape (n,)."""
        codes, _ = self.codes(parameters, u)
        return np.asarray(codes == 0)

    def codes(
        self, parameters: Sequence[Parameter], u: Coordinates
    ) -> tuple[NDArray[np.int8], NDArray[np.float64]]:
        """The rule that forbids each row (0, or 1 plus its place in ``RULES``), and the bytes that it needs.

        Both of shape (n,).

        Raises:
            InputError: A setting or value that the cost model does not know, or a size that is missing.
        """
        s = self._columns(parameters, u)
        codes, needed = np.zeros(len(u), np.int8), np.full(len(u), np.nan)
        open_ = np.arange(len(u))
        while len(open_):
            part = {name: column[open_] for name, column in s.items()}
            try:
                whole = complete_columns(
                    self.question.model, self.question.phase, part, self.question.machine.count
                )
            except LayoutError as fault:  # without those that break this rule the next one is asked
                codes[open_[~fault.holds]] = 1
                open_ = open_[fault.holds]
                continue
            reserved = self.question.machine.device.reserved_bytes
            needed[open_] = sum(
                parts_of(self.question.model, self.question.phase, whole, reserved=reserved).values()
            )
            break
        codes[(codes == 0) & ~self._computes(s)] = 2
        codes[(codes == 0) & (needed > self.most_bytes)] = 3
        return codes, needed

    def _columns(self, parameters: Sequence[Parameter], u: Coordinates) -> Columns:
        defaults = PHASES[self.question.phase]
        fixed = {name_of(name, defaults): value for name, value in self.question.settings.items()}
        found = {
            name: np.full(len(u), number_of(name, fixed.get(name, default)))
            for name, default in defaults.items()
        }
        for j, parameter in enumerate(parameters):
            try:
                name = name_of(parameter.name, defaults)
            except InputError:
                if self.measured:
                    continue
                raise
            column = np.nan_to_num(u[:, j])
            values = (
                _numbers(name, parameter)[parameter.levels(column)]
                if parameter.finite
                else parameter.column(column).astype(float)
            )
            found[name] = np.where(np.isnan(u[:, j]), found[name], values)
        for name, default in defaults.items():
            check(name, default, found[name])
        return found

    def _computes(self, s: Columns) -> NDArray[np.bool_]:
        """Mask of the rows whose every precision the device computes in."""
        grouped = with_groups(s)
        held = np.ones(len(s["precision"]), bool)
        for name in ("precision", *GROUPS):
            for index in np.unique(grouped[name]):
                if not _has(self.question.machine.device, CHOICES["precision"][int(index)]):
                    held &= grouped[name] != index
        return held


def _has(device: Device, precision: str) -> bool:
    """True if a device computes in a precision, or if its peak there is unknown."""
    try:
        device.peak(precision)
    except InputError:
        return False
    except MissingFactError:
        return True
    return True


def _numbers(name: str, parameter: Parameter) -> NDArray[np.float64]:
    return np.array([number_of(name, value) for value in parameter.values])


def fit_constraint(
    question: Question, limits: Sequence[Limit] = (), *, margin: float = 0.0, measured: bool = False
) -> tuple[Constraint | None, str]:
    """The rule that leaves out what the cost model knows to fail.

    Args:
        question: Model, machine, phase and fixed settings.
        limits: Of the search; one on the memory counts like the capacity.
        margin: Share above the capacity that is still let through, for memory that is modelled while
            the search measures.
        measured: Whether it does, so that parameters which the cost model does not know decide nothing.

    Returns:
        The rule, and why it or a part of it is not asked; None and empty where there is none.
    """
    if reason := not_modelled(question.model):
        return None, f"{SOURCE}: {reason}"
    device = question.machine.device
    most = [item.maximum for item in limits if item.metric == "peak_memory"]
    if not np.isnan(device.memory_capacity):
        most.append(device.memory_capacity)
    least = min(most, default=float("nan")) * (1 + margin)
    what = f"needs at most {least / 1e9:.1f} GB of a device by the cost model"
    if margin:
        what += f" ({margin:.0%} beyond what there is)"
    rule = Constraint(reason=what, source=SOURCE, holds=MemoryRule(question, least, measured))
    if np.isnan(least):
        return rule, f"{SOURCE}: memory_bytes of {device.id} is not known"
    return rule, ""
