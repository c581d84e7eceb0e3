"""The nouns of a search: suggestions, their evaluations, and tables of similar problems."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeAlias

from kg.errors import InputError
from kg.nouns.entities import Better, Status
from kg.nouns.gain import NORMAL_90

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    from numpy.typing import NDArray

    from kg.nouns.entities import Objective
    from kg.nouns.values import Settings

Origin: TypeAlias = Literal["source", "default", "random", "spread", "model", "parts", "repeat", "ablation"]
"""Why a configuration is proposed."""

_T90 = (6.31, 2.92, 2.35, 2.13, 2.02, 1.94, 1.89, 1.86, 1.83)
"""Student's t for a two-sided 90 % interval with 1, 2, ... degrees of freedom; ``NORMAL_90`` beyond the list
is a little narrow, by 10 % at ten."""


def half_width(stdev: float, n: int) -> float:
    """Half of the 90 % interval of a mean of ``n`` numbers, two or more, from their standard deviation."""
    return (_T90[n - 2] if n - 2 < len(_T90) else NORMAL_90) * stdev / math.sqrt(n)


@dataclass(frozen=True, slots=True, kw_only=True)
class Suggestion:
    """A configuration to evaluate next.

    Attributes:
        number: Of the suggestion in its search, from 0; ``Search.tell`` takes it back.
        configuration: What to set.
        origin: Why: a source's best, the default, chance, far from the others, the model, the models of
            the parts, a finalist measured again, or a step between default and best.
        expected: Predicted value of each objective in its own metric; None where no model spoke.
        stdev: Standard deviation of the predicted logarithm, by objective; 0.05 is about 5 %.

    Example:
        >>> from kg.nouns.values import Settings
        >>> suggestion = Suggestion(number=0, configuration=Settings({"tile": 32}), origin="default")
        >>> print(suggestion.configuration)
        tile=32
    """

    number: int
    configuration: Settings
    origin: Origin
    expected: tuple[float, ...] | None = None
    stdev: tuple[float, ...] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Evaluation:
    """The result of evaluating one configuration.

    Attributes:
        configuration: What was set.
        values: One value an objective, then one a limit, each in its own metric; None where unknown.
            All None unless ``status`` is ok.
        status: What became of the run.
        reason: Why it failed; empty if it did not.
        stdev: Sample standard deviation over the repeats by value, same order and unit; None if unknown.
        repeats: How often it was measured.
        cost_s: Time it took; None if unknown.
        parts: Cost of each part of the search, in their order; empty where nobody told.

    Example:
        >>> from kg.nouns.values import Settings
        >>> Evaluation(configuration=Settings({"tile": 32}), values=(1.2e-3,), repeats=3).ok
        True
        >>> failed = Status.OUT_OF_MEMORY
        >>> Evaluation(configuration=Settings({"tile": 64}), values=(None,), status=failed).ok
        False
    """

    configuration: Settings
    values: tuple[float | None, ...]
    status: Status = Status.OK
    reason: str = ""
    stdev: tuple[float | None, ...] | None = None
    repeats: int = 1
    cost_s: float | None = None
    parts: tuple[float, ...] = ()

    def __post_init__(self) -> None:
        """Refuse a success without a first value, a failure with one, and numbers that are not finite."""
        known = [*(value for value in self.values if value is not None), *self.parts]
        if not all(map(math.isfinite, known)):
            raise InputError("a measured value is a finite number", hint="tell a run without one as failed")
        if self.status is Status.OK and (not self.values or self.values[0] is None):
            raise InputError("an evaluation that is ok has a value of the first objective")
        if self.status is not Status.OK and known:
            raise InputError(f"an evaluation that is {self.status} has no values")
        if self.repeats < 1:
            raise InputError(f"{self.repeats} repeats")

    @property
    def ok(self) -> bool:
        """True where it ran."""
        return self.status is Status.OK

    @property
    def half_width(self) -> float | None:
        """Half of the 90 % interval of the first value; None where it was measured once."""
        spread = self.stdev[0] if self.stdev else None
        return None if spread is None or self.repeats < 2 else half_width(spread, self.repeats)


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceTable:
    """Measurements of a similar problem, from which a search starts.

    Attributes:
        name: What to call it, such as the device.
        similarity: How far it is trusted before anything is measured, 0 to 1.
        configurations: What was tried there; it may lack parameters of the space or have others.
        costs: Shape (n,): the first objective as a positive cost, lower is better; inf for a failure.
        problem_id: Of the problem in the graph; empty if it is not there.
    """

    name: str
    similarity: float
    configurations: Sequence[Settings]
    costs: NDArray[np.float64]
    problem_id: str = ""

    def __post_init__(self) -> None:
        """Refuse a table whose columns differ in length."""
        if len(self.configurations) != len(self.costs):
            raise InputError(f"source {self.name}: {len(self.configurations)} rows, {len(self.costs)} costs")
        if not 0 <= self.similarity <= 1:
            raise InputError(f"source {self.name}: a similarity of {self.similarity}")


def cost_of(value: float, objective: Objective) -> float:
    """A value as a cost on the log scale; lower is better.

    Raises:
        InputError: The value is not positive, so it has no logarithm.
    """
    if not value > 0:
        raise InputError(
            f"{objective.metric}: {value} is not above zero", hint="search compares ratios: shift the metric"
        )
    return -math.log(value) if objective.better is Better.HIGHER else math.log(value)


def value_of(cost: float, objective: Objective) -> float:
    """The inverse of ``cost_of``."""
    return math.exp(-cost if objective.better is Better.HIGHER else cost)
