"""Search spaces as files declare them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kg.errors import InputError
from kg.nouns.values import as_value
from recommender.space.constraint import Constraint
from recommender.space.parameters import Parameter, ParameterKind
from recommender.space.space import SearchSpace

if TYPE_CHECKING:
    from collections.abc import Mapping

    from kg.nouns.values import Value

_PARAMETER = ("kind", "values", "low", "high", "step", "log", "when")
_CONSTRAINT = ("expression", "reason", "source")


def read_space(raw: Mapping[str, object]) -> SearchSpace:
    """A space from the ``parameters`` and ``constraints`` of a YAML file.

    A parameter is a list of values (numbers in rising order are ordinal, all else categorical) or a mapping
    of ``kind``, ``values`` or ``low``, ``high``, ``step``, ``log``, and ``when``. A constraint is an
    expression, or a mapping with ``expression``, ``reason`` and ``source``.

    Raises:
        InputError: A key or value is wrong; the message names the parameter.
    """
    parameters, constraints = raw.get("parameters"), raw.get("constraints") or []
    if not isinstance(parameters, dict) or not parameters:
        raise InputError("parameters: expected names and their values", hint="parameters: {tile: [16, 32]}")
    if not isinstance(constraints, list):
        raise InputError("constraints: expected a list of expressions")
    return SearchSpace(
        parameters=tuple(_parameter(str(name), item) for name, item in parameters.items()),
        constraints=tuple(_constraint(item) for item in constraints),
    )


def _parameter(name: str, told: object) -> Parameter:
    if isinstance(told, list):
        told = {"values": told}
    if not isinstance(told, dict):
        raise InputError(f"parameter {name}: expected a list of values or a range, not {str(told)[:40]!r}")
    if unknown := [key for key in told if key not in _PARAMETER]:
        raise InputError(f"parameter {name}: no key {unknown[0]!r}", hint=f"known: {', '.join(_PARAMETER)}")
    listed = told.get("values")
    if listed is not None and not isinstance(listed, list):
        raise InputError(f"parameter {name}: values is a list")
    try:
        values: tuple[Value, ...] = tuple(as_value(item) for item in listed or ())
        kind = ParameterKind(told["kind"]) if "kind" in told else _kind(values, told)
    except ValueError as fault:
        raise InputError(f"parameter {name}: {fault}") from None
    return Parameter(
        name=name,
        kind=kind,
        values=values,
        low=_number(name, told.get("low")),
        high=_number(name, told.get("high")),
        step=_number(name, told.get("step")),
        log=bool(told.get("log", False)),
        when=str(told.get("when") or ""),
    )


def _kind(values: tuple[Value, ...], told: Mapping[str, object]) -> ParameterKind:
    if not values:
        ends = [told.get(key) for key in ("low", "high", "step")]
        whole = all(isinstance(end, int) and not isinstance(end, bool) for end in ends if end is not None)
        return ParameterKind.INTEGER if whole else ParameterKind.FLOAT
    numbers = [value for value in values if isinstance(value, int | float) and not isinstance(value, bool)]
    if len(numbers) == len(values) and numbers in (sorted(numbers), sorted(numbers, reverse=True)):
        return ParameterKind.ORDINAL
    return ParameterKind.CATEGORICAL


def _number(name: str, told: object) -> float | None:
    if told is None:
        return None
    if isinstance(told, bool) or not isinstance(told, int | float):
        raise InputError(f"parameter {name}: {str(told)[:40]!r} is not a number")
    return told


def _constraint(told: object) -> Constraint:
    if isinstance(told, str):
        return Constraint(expression=told)
    if not isinstance(told, dict) or not told.get("expression"):
        raise InputError(f"constraint {str(told)[:60]!r}: expected an expression")
    if unknown := [key for key in told if key not in _CONSTRAINT]:
        raise InputError(f"constraint: no key {unknown[0]!r}", hint=f"known: {', '.join(_CONSTRAINT)}")
    return Constraint(
        expression=str(told["expression"]),
        reason=str(told.get("reason") or ""),
        source=str(told.get("source") or ""),
    )
