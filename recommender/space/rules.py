"""The parsed rules of a search space: its constraints, and the conditions under which parameters exist.

``U``: coordinates, shape (n, d); nan where a parameter is inactive.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from kg.errors import InputError
from recommender.space.constraint import Constraint, Coordinates
from recommender.space.expressions import Expression
from recommender.space.parameters import Parameter


class SpaceRules:
    """The expressions of one space, evaluated on blocks of coordinates.

    Args:
        parameters: Of the space.
        constraints: Of the space; only those with an expression are parsed.

    Attributes:
        columns: Column of each parameter by name.
        order: Columns ordered so that whatever decides whether a parameter exists comes before it.
        conditions: Condition of each conditional column, in ``order``.
        constraints: Constraints with an expression, each with that expression parsed.
        due: By place in ``order``: the expressions whose parameters are all set from there on.

    Raises:
        InputError: An expression is invalid, or conditions depend on each other in a circle.
    """

    def __init__(self, parameters: Sequence[Parameter], constraints: Sequence[Constraint]) -> None:
        self._parameters = parameters
        self.columns = {parameter.name: j for j, parameter in enumerate(parameters)}
        names = frozenset(self.columns)
        conditions = {j: Expression.parse(p.when, names) for j, p in enumerate(parameters) if p.when}
        self.order = self._ordered(conditions)
        self.conditions = {j: conditions[j] for j in self.order if j in conditions}
        self.constraints = tuple(
            (item, Expression.parse(item.expression, names)) for item in constraints if item.expression
        )
        place = {parameters[j].name: k for k, j in enumerate(self.order)}
        self.due: list[list[Expression]] = [[] for _ in self.order]
        for _, rule in self.constraints:
            self.due[max((place[name] for name in rule.names), default=0)].append(rule)

    def _ordered(self, conditions: dict[int, Expression]) -> tuple[int, ...]:
        order: list[int] = []
        waiting = list(range(len(self._parameters)))
        while waiting:
            ready = [
                j
                for j in waiting
                if j not in conditions or {self.columns[name] for name in conditions[j].names} <= set(order)
            ]
            if not ready:
                names = ", ".join(self._parameters[j].name for j in waiting)
                raise InputError(f"the conditions of {names} depend on each other in a circle")
            order.append(ready[0])
            waiting.remove(ready[0])
        return tuple(order)

    def active(self, u: Coordinates) -> NDArray[np.bool_]:
        """Mask of the parameters that exist in each configuration, shape (n, d)."""
        exists = np.ones(u.shape, bool)
        for j, condition in self.conditions.items():
            depends = np.array([self.columns[name] for name in condition.names], int)
            with_all = exists[:, depends].all(axis=1) & ~np.isnan(u[:, depends]).any(axis=1)
            exists[:, j] = with_all & condition.evaluate(self._values(u, condition), len(u))
        return exists

    def holds(self, rule: Expression, u: Coordinates, *, absent: bool = False) -> NDArray[np.bool_]:
        """Mask of the rows that satisfy an expression; ``absent`` where one of its parameters is inactive."""
        held = rule.evaluate(self._values(u, rule), len(u)).copy()
        inactive = np.isnan(u[:, [self.columns[name] for name in rule.names]]).any(axis=1)
        held[inactive] = absent
        return held

    def exists(self, j: int, u: Coordinates) -> NDArray[np.bool_]:
        """Mask of rows in which the parameter of a column exists, shape (n,)."""
        return self.holds(self.conditions[j], u) if j in self.conditions else np.ones(len(u), bool)

    def _values(self, u: Coordinates, rule: Expression) -> dict[str, NDArray[np.generic]]:
        return {
            name: self._parameters[self.columns[name]].column(u[:, self.columns[name]]) for name in rule.names
        }
