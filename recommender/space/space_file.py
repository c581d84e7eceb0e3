"""Search spaces as files declare them."""

from collections.abc import Mapping

from kg.errors import InputError
from kg.nouns.values import Value, as_value
from recommender.space.constraint import Constraint
from recommender.space.parameters import Parameter, ParameterKind
from recommender.space.space import SearchSpace

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


def _parameter(name: str, content: object) -> Parameter:
    if isinstance(content, list):
        content = {"values": content}
    if not isinstance(content, dict):
        raise InputError(f"parameter {name}: expected a list of values or a range, not {str(content)[:40]!r}")
    if unknown := [key for key in content if key not in _PARAMETER]:
        raise InputError(f"parameter {name}: no key {unknown[0]!r}", hint=f"known: {', '.join(_PARAMETER)}")
    listed = content.get("values")
    if listed is not None and not isinstance(listed, list):
        raise InputError(f"parameter {name}: values is a list")
    try:
        values: tuple[Value, ...] = tuple(as_value(item) for item in listed or ())
        kind = ParameterKind(content["kind"]) if "kind" in content else _kind(values, content)
    except ValueError as fault:
        raise InputError(f"parameter {name}: {fault}") from None
    return Parameter(
        name=name,
        kind=kind,
        values=values,
        low=_number(name, content.get("low")),
        high=_number(name, content.get("high")),
        step=_number(name, content.get("step")),
        log=bool(content.get("log", False)),
        when=str(content.get("when") or ""),
    )


def _kind(values: tuple[Value, ...], content: Mapping[str, object]) -> ParameterKind:
    if not values:
        ends = [content.get(key) for key in ("low", "high", "step")]
        is_integer = all(
            isinstance(end, int) and not isinstance(end, bool) for end in ends if end is not None
        )
        return ParameterKind.INTEGER if is_integer else ParameterKind.FLOAT
    numbers = [value for value in values if isinstance(value, int | float) and not isinstance(value, bool)]
    if len(numbers) == len(values) and numbers in (sorted(numbers), sorted(numbers, reverse=True)):
        return ParameterKind.ORDINAL
    return ParameterKind.CATEGORICAL


def _number(name: str, content: object) -> float | None:
    if content is None:
        return None
    if isinstance(content, bool) or not isinstance(content, int | float):
        raise InputError(f"parameter {name}: {str(content)[:40]!r} is not a number")
    return content


def _constraint(content: object) -> Constraint:
    if isinstance(content, str):
        return Constraint(expression=content)
    if not isinstance(content, dict) or not content.get("expression"):
        raise InputError(f"constraint {str(content)[:60]!r}: expected an expression")
    if unknown := [key for key in content if key not in _CONSTRAINT]:
        raise InputError(f"constraint: no key {unknown[0]!r}", hint=f"known: {', '.join(_CONSTRAINT)}")
    return Constraint(
        expression=str(content["expression"]),
        reason=str(content.get("reason") or ""),
        source=str(content.get("source") or ""),
    )
