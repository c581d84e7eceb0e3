"""The space that a define-by-run study has shown so far: its parameters, and when each exists.

A parameter that only some trials have exists under a condition. The condition is read off the trials: an
earlier parameter whose values with it and without it do not meet. A parameter whose presence nothing explains
is left to chance, as Optuna leaves it.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from optuna.distributions import CategoricalDistribution, FloatDistribution, IntDistribution

from kg.errors import InfeasibleError, InputError
from kg.nouns.values import Settings, as_value
from recommender.space.expressions import Expression
from recommender.space.foreign_spaces import distributed_parameter
from recommender.space.space import SearchSpace

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from optuna.distributions import BaseDistribution
    from optuna.trial import FrozenTrial

    from kg.nouns.values import Value
    from recommender.space.constraint import Constraint


class ObservedSpace:
    """A search space over Optuna's distributions, and the way there and back.

    Args:
        distributions: Of the parameters that may be proposed.
        trials: Ended ones, from which conditions are read.
        constraints: Rules; one applies where the space has all its parameters.

    Attributes:
        conditions: Condition of each parameter that not all trials have.
        space: The space; without the parameters whose presence nothing explains.

    Raises:
        InputError: No parameter is left.
    """

    def __init__(
        self,
        distributions: Mapping[str, BaseDistribution],
        trials: Sequence[FrozenTrial],
        constraints: Sequence[Constraint] = (),
    ) -> None:
        self._values = {
            name: _choices(item)
            for name, item in distributions.items()
            if isinstance(item, CategoricalDistribution)
        }
        self._distributions = dict(distributions)
        self.conditions, unexplained = self._presence(trials)
        parameters = tuple(
            replace(
                distributed_parameter(name, item, self._values.get(name)), when=self.conditions.get(name, "")
            )
            for name, item in distributions.items()
            if name not in unexplained
        )
        names = frozenset(parameter.name for parameter in parameters)
        self.space = SearchSpace(
            parameters=parameters,
            constraints=tuple(rule for rule in constraints if _applies(rule, names, whole=not unexplained)),
        )

    def settings(self, params: Mapping[str, Any]) -> Settings:
        """A trial's parameters as a configuration.

        Raises:
            InputError: A choice is none of its distribution.
        """
        return Settings(
            {name: self._value(name, params[name]) for name in self.space.names if name in params}
        )

    def params(self, configuration: Settings) -> dict[str, Any]:
        """A configuration as Optuna has it: 16 and 16.0, lists and tuples are one to us, not there."""
        return {name: self._param(name, value) for name, value in configuration.items()}

    def internal(self, configuration: Settings) -> dict[str, float]:
        """A configuration in Optuna's internal representation, which every storage keeps."""
        return {
            name: float(self._distributions[name].to_internal_repr(value))
            for name, value in self.params(configuration).items()
        }

    def external(self, internal: Mapping[str, float]) -> dict[str, Any]:
        """The inverse of ``internal``, as a trial's parameters."""
        return {
            name: self._distributions[name].to_external_repr(value)
            for name, value in internal.items()
            if name in self._distributions
        }

    # --- below

    def _value(self, name: str, param: Any) -> Value:
        distribution = self._distributions[name]
        if isinstance(distribution, CategoricalDistribution):
            try:
                return self._values[name][int(distribution.to_internal_repr(param))]
            except ValueError as fault:
                raise InputError(f"parameter {name}: {param!r} is none of its choices") from fault
        return as_value(param)

    def _param(self, name: str, value: Any) -> Any:
        distribution = self._distributions[name]
        if isinstance(distribution, CategoricalDistribution):
            for choice, known in zip(distribution.choices, self._values[name], strict=True):
                if known == value and isinstance(known, bool) == isinstance(value, bool):
                    return choice
            raise InfeasibleError(f"{value!r} is no choice of its distribution")
        return int(value) if isinstance(distribution, IntDistribution) else float(value)

    def _presence(self, trials: Sequence[FrozenTrial]) -> tuple[dict[str, str], set[str]]:
        """Conditions of the parameters that only some trials have; names of those that nothing explains."""
        conditions: dict[str, str] = {}
        unexplained: set[str] = set()
        order = list(dict.fromkeys(name for trial in trials for name in trial.params))
        usual = [name for name in order if name in self._distributions]
        for place, name in enumerate(usual):
            having = [trial.params for trial in trials if name in trial.params]
            lacking = [trial.params for trial in trials if name not in trial.params]
            if not lacking:
                continue
            earlier = [other for other in usual[:place] if other not in unexplained]
            earlier.sort(
                key=lambda other: not isinstance(self._distributions[other], CategoricalDistribution)
            )
            found = (self._condition(other, having, lacking) for other in earlier)
            condition = next(filter(None, found), None)
            if condition is None:
                unexplained.add(name)
            else:
                conditions[name] = condition
        if trials:
            unexplained |= set(self._distributions) - set(order)
        return conditions, unexplained

    def _condition(
        self, other: str, having: Sequence[Mapping[str, Any]], lacking: Sequence[Mapping[str, Any]]
    ) -> str | None:
        """The condition on another parameter that tells trials having one from those lacking it."""
        if any(other not in params for params in having):
            return None
        named = f"p[{other!r}]"
        try:
            inside = [self._value(other, params[other]) for params in having]
            outside = [self._value(other, params[other]) for params in lacking if other in params]
        except InputError:
            return None
        if not outside:
            return f"{named} == {named}"  # wherever the other exists
        if isinstance(self._distributions[other], CategoricalDistribution):
            kinds = {(isinstance(value, bool), value) for value in inside}
            if kinds & {(isinstance(value, bool), value) for value in outside}:
                return None
            if any(isinstance(value, tuple) for _, value in kinds):
                return None  # the language of conditions has no tuples
            return " or ".join(f"{named} == {value!r}" for value in dict.fromkeys(inside))
        numbers, others = [float(x) for x in inside], [float(x) for x in outside]  # type: ignore[arg-type]
        if min(numbers) > max(others):
            return f"{named} > {(min(numbers) + max(others)) / 2!r}"
        if max(numbers) < min(others):
            return f"{named} < {(max(numbers) + min(others)) / 2!r}"
        return None


def joined(older: BaseDistribution | None, newer: BaseDistribution) -> BaseDistribution:
    """The distribution that holds the values of both; the newer where they are of different kinds."""
    if older is None:
        return newer
    if isinstance(older, IntDistribution) and isinstance(newer, IntDistribution) and older.log == newer.log:
        aligned = older.step == newer.step and not (older.low - newer.low) % newer.step
        ends = min(older.low, newer.low), max(older.high, newer.high)
        return IntDistribution(*ends, log=newer.log, step=newer.step if aligned else 1)
    if (
        isinstance(older, FloatDistribution)
        and isinstance(newer, FloatDistribution)
        and older.log == newer.log
    ):
        step = newer.step if older.step == newer.step and older.low == newer.low else None
        reach = min(older.low, newer.low), max(older.high, newer.high)
        return FloatDistribution(*reach, log=newer.log, step=step)
    return newer


def _choices(distribution: CategoricalDistribution) -> tuple[Value, ...]:
    """The choices as values; their numbers where they are something else, or alike once they are values."""
    try:
        values = tuple(as_value(choice) for choice in distribution.choices)
        if len({(isinstance(value, bool), value) for value in values}) == len(values):
            return values
    except ValueError:
        pass
    return tuple(range(len(distribution.choices)))


def _applies(rule: Constraint, names: frozenset[str], *, whole: bool) -> bool:
    """True where a rule speaks of parameters that the space has."""
    if not rule.expression:
        return whole
    try:
        Expression.parse(rule.expression, names)
    except InputError:
        return False
    return True
