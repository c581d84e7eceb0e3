"""Search spaces that Optuna declares."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kg.errors import InputError
from kg.nouns.values import as_value
from recommender.space.parameters import Parameter, ParameterKind
from recommender.space.space import SearchSpace

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

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
