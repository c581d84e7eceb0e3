"""One parameter of a search space and its place on the unit interval.

``u``: a coordinate in [0, 1]; nan where the parameter is inactive. A parameter with a finite number of
values has *levels*, numbered in order; level ``k`` of ``L`` lies at ``k / (L - 1)``, so that steps of a
kernel's block size are equally far apart whatever the sizes are.
"""

import math
from dataclasses import dataclass
from enum import StrEnum

import numpy as np
from numpy.typing import NDArray

from kg.errors import InputError
from kg.nouns.values import Value, as_value, show

MOST_LEVELS = 4096
"""Values up to which a range is taken as a list; a choice. Wider ranges are continuous and rounded."""


class ParameterKind(StrEnum):
    """The relation between the values of a parameter."""

    INTEGER = "integer"
    FLOAT = "float"
    ORDINAL = "ordinal"
    """Listed values whose order means something."""
    CATEGORICAL = "categorical"
    """Listed values without an order."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Parameter:
    """One thing that can be set.

    Attributes:
        name: As configurations have it.
        kind: What its values are to each other.
        values: The values, in order; for a range empty, or its steps, filled in at birth.
        low: Least value of a range; None for listed values.
        high: Largest value of a range.
        step: Distance of two values of a range; None for 1 (integers) or any (floats).
        log: Whether a range is searched on a logarithmic scale.
        when: Expression over other parameters; the parameter exists only where it holds. Empty: always.

    Raises:
        InputError: No value, a value twice, or a range that is none.

    Example:
        >>> tile = Parameter(name="tile", kind=ParameterKind.ORDINAL, values=(16, 32, 64))
        >>> tile.coordinate(32), tile.value(1.0)
        (0.5, 64)
    """

    name: str
    kind: ParameterKind
    values: tuple[Value, ...] = ()
    low: float | None = None
    high: float | None = None
    step: float | None = None
    log: bool = False
    when: str = ""

    def __post_init__(self) -> None:
        """Refuse a parameter without a value."""
        if not self.name:
            raise InputError("a parameter without a name")
        if self.low is not None or self.high is not None:
            self._check_range()
            object.__setattr__(self, "values", self._steps())
        elif self.kind is ParameterKind.FLOAT and not self.values:
            raise InputError(f"parameter {self.name}: a range needs low and high")
        elif not self.values:
            raise InputError(
                f"parameter {self.name}: no values", hint="give a list of values, or low and high"
            )
        try:
            values = tuple(as_value(value) for value in self.values)
        except ValueError as fault:
            raise InputError(f"parameter {self.name}: {fault}") from fault
        if len(set(map(_key, values))) != len(values):
            raise InputError(f"parameter {self.name}: a value is listed twice")
        object.__setattr__(self, "values", values)

    def _check_range(self) -> None:
        low, high = self.low, self.high
        if self.kind in {ParameterKind.ORDINAL, ParameterKind.CATEGORICAL}:
            raise InputError(f"parameter {self.name}: {self.kind} takes a list of values, not low and high")
        if low is None or high is None or not (math.isfinite(low) and math.isfinite(high) and low <= high):
            raise InputError(f"parameter {self.name}: no range from {low} to {high}")
        if self.log and low <= 0:
            raise InputError(f"parameter {self.name}: a logarithmic range starts above zero, not at {low}")
        if self.step is not None and not (self.step > 0 and math.isfinite(self.step)):
            raise InputError(f"parameter {self.name}: a step of {self.step}")
        if self.kind is ParameterKind.INTEGER and (low % 1 or high % 1 or (self.step or 1) % 1):
            raise InputError(f"parameter {self.name}: an integer range has whole ends and steps")

    def _steps(self) -> tuple[Value, ...]:
        """The values of a range short enough to be listed, else nothing."""
        low, high = float(self.low or 0), float(self.high or 0)
        if low == high:
            return (as_value(low),)
        step = self.step or (1.0 if self.kind is ParameterKind.INTEGER else None)
        if step is None or (count := int((high - low) / step + 1e-9) + 1) > MOST_LEVELS:
            return ()
        return tuple(as_value(round(low + k * step, 12)) for k in range(count))

    @property
    def finite(self) -> bool:
        """True where its values can be listed."""
        return bool(self.values)

    @property
    def ordered(self) -> bool:
        """True where nearer coordinates mean nearer values."""
        return self.kind is not ParameterKind.CATEGORICAL

    def column(self, u: NDArray[np.float64]) -> NDArray[np.generic]:
        """The values at coordinates, for expressions; whatever stands where ``u`` is nan.

        Args:
            u: Coordinates, shape (n,).

        Returns:
            Shape (n,): float64, int64 or bool where all values are such, else objects.
        """
        u = np.nan_to_num(u, nan=0.0)
        if self.values:
            return _array(self.values)[self.levels(u)]
        found = self._on_range(u)
        return found.astype(np.int64) if self.kind is ParameterKind.INTEGER else found

    def levels(self, u: NDArray[np.float64]) -> NDArray[np.int64]:
        """Level numbers at coordinates, shape (n,)."""
        if self.log and self.low is not None and len(self.values) > 1:
            numbers = np.array([float(value) for value in self.values if isinstance(value, int | float)])
            middle = (numbers[1:] * numbers[:-1]) ** 0.5
            return np.searchsorted(middle, self._stretched(u))
        return np.rint(u * (len(self.values) - 1)).astype(np.int64)

    def _stretched(self, u: NDArray[np.float64]) -> NDArray[np.float64]:
        low, high = float(self.low or 0), float(self.high or 0)
        stretched: NDArray[np.float64] = low * (high / low) ** u if self.log else low + u * (high - low)
        return stretched

    def _on_range(self, u: NDArray[np.float64]) -> NDArray[np.float64]:
        low, high = float(self.low or 0), float(self.high or 0)
        raw = self._stretched(u)
        step = self.step or (1.0 if self.kind is ParameterKind.INTEGER else None)
        if step is not None:
            raw = low + np.rint((raw - low) / step) * step
            high = low + math.floor((high - low) / step + 1e-9) * step
        return np.clip(raw, low, high)

    def grid(self) -> NDArray[np.float64]:
        """Coordinates of all levels, shape (levels,)."""
        if self.log and self.low is not None:
            numbers = [float(value) for value in self.values if isinstance(value, int | float)]
            return np.array([self._place(number) for number in numbers])
        return np.arange(len(self.values)) / max(len(self.values) - 1, 1)

    def value(self, u: float) -> Value:
        """The value at a coordinate."""
        if self.values:
            return self.values[int(self.levels(np.array([u]))[0])]
        return as_value(self.column(np.array([u]))[0].item())

    def coordinate(self, value: Value) -> float:
        """The coordinate of a value.

        Raises:
            InputError: The parameter has no such value.
        """
        if self.values:
            try:
                level = [_key(item) for item in self.values].index(_key(value))
            except ValueError:
                raise InputError(
                    f"parameter {self.name}: no value {show(value)}",
                    hint=f"one of: {', '.join(map(show, self.values[:12]))}",
                ) from None
            if not (self.log and self.low is not None):
                return level / max(len(self.values) - 1, 1)
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise InputError(f"parameter {self.name}: {show(value)} is not a number")
        low, high = float(self.low or 0), float(self.high or 0)
        if not low <= value <= high or (self.kind is ParameterKind.INTEGER and value % 1):
            raise InputError(f"parameter {self.name}: {value} is not in {low:g} to {high:g}")
        return self._place(value)

    def _place(self, number: float) -> float:
        """The coordinate of a number on the range."""
        low, high = float(self.low or 0), float(self.high or 0)
        if low == high:
            return 0.0
        return math.log(number / low) / math.log(high / low) if self.log else (number - low) / (high - low)


def _key(value: Value) -> tuple[bool, Value]:
    """Equal only where both are booleans or neither is: True is not 1."""
    return isinstance(value, bool), value


def _array(values: tuple[Value, ...]) -> NDArray[np.generic]:
    if all(isinstance(value, bool) for value in values):
        return np.array(values, np.bool_)
    if all(isinstance(value, int) and not isinstance(value, bool) and abs(value) < 2**53 for value in values):
        return np.array(values, np.int64)
    if all(isinstance(value, int | float) and not isinstance(value, bool) for value in values):
        return np.array(values, np.float64)
    found = np.empty(len(values), object)
    found[:] = list(values)
    return found
