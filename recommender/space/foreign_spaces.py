"""Search spaces that other tools declare: Optuna's distributions, tables."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kg.errors import InputError
from kg.nouns.values import Settings, as_value
from recommender.space.parameters import Parameter, ParameterKind
from recommender.space.space import SearchSpace

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from optuna.distributions import BaseDistribution

    from kg.nouns.values import Value
    from recommender.space.constraint import Constraint


def space_of_distributions(
    distributions: Mapping[str, BaseDistribution], constraints: Sequence[Constraint] = ()
) -> SearchSpace:
    """The space that Optuna's distributions span; constraints are what Optuna has no place for.

    Raises:
        InputError: A distribution of a kind that is not known here.
    """
    return SearchSpace(
        parameters=tuple(distributed_parameter(name, item) for name, item in distributions.items()),
        constraints=tuple(constraints),
    )


def space_of_table(configurations: Iterable[Settings]) -> SearchSpace:
    """The space whose only configurations are those of a table.

    Raises:
        InputError: The table is empty.
    """
    listed = tuple(dict.fromkeys(configurations))
    seen: dict[str, dict[tuple[bool, Value], Value]] = {}
    for settings in listed:
        for name, value in settings.items():
            seen.setdefault(name, {})[isinstance(value, bool), value] = value
    if not seen:
        raise InputError("a table without configurations is no search space")
    everywhere = {name for name in seen if all(name in settings for settings in listed)}
    if missing := sorted(set(seen) - everywhere):
        raise InputError(
            f"{missing[0]} is set in some rows of the table only", hint="split the table, or fill it in"
        )
    return SearchSpace(
        parameters=tuple(listed_parameter(name, tuple(values.values())) for name, values in seen.items()),
        listed=listed,
    )


def listed_parameter(name: str, values: Sequence[Value]) -> Parameter:
    """A parameter of listed values: numbers are ordinal and sorted, all else categorical as listed."""
    unique = list({(isinstance(value, bool), value): value for value in values}.values())
    numbers = [value for value in unique if isinstance(value, int | float) and not isinstance(value, bool)]
    if len(numbers) == len(unique):
        return Parameter(name=name, kind=ParameterKind.ORDINAL, values=tuple(sorted(numbers)))
    return Parameter(name=name, kind=ParameterKind.CATEGORICAL, values=tuple(unique))


def distributed_parameter(
    name: str, item: BaseDistribution, choices: tuple[Value, ...] | None = None
) -> Parameter:
    """The parameter that a distribution of Optuna describes; ``choices`` stand for its own, in their order.

    Raises:
        InputError: A distribution of a kind that is not known here.
    """
    fields = item._asdict()  # the one view of a distribution that all versions of Optuna share
    kind = type(item).__name__
    if "choices" in fields:
        return Parameter(
            name=name,
            kind=ParameterKind.CATEGORICAL,
            values=choices or tuple(map(as_value, fields["choices"])),
        )
    if kind not in {"IntDistribution", "FloatDistribution"}:
        raise InputError(f"parameter {name}: no {kind}", hint="categorical, integer and float ones are known")
    is_integer = kind == "IntDistribution"
    return Parameter(
        name=name,
        kind=ParameterKind.INTEGER if is_integer else ParameterKind.FLOAT,
        low=fields["low"],
        high=fields["high"],
        step=fields["step"] if not (is_integer and fields["log"]) else None,
        log=fields["log"],
    )
