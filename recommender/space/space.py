"""The declared search space: parameters, constraints, and its configurations as coordinates.

``U``: configurations as coordinates, shape (n, d), one column a parameter in declared order, in [0, 1];
nan where a conditional parameter is inactive. Everything is computed on blocks of ``U``; ``Settings`` are
made only of what leaves the search.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import islice

import numpy as np
from numpy.typing import NDArray

from kg.errors import InfeasibleError, InputError
from kg.nouns.values import Settings, digest
from recommender.space.constraint import Constraint, Coordinates
from recommender.space.parameters import Parameter, ParameterKind
from recommender.space.rules import SpaceRules

_BLOCK = 1 << 16
"""Partial configurations held at once while enumerating; a choice: a few megabytes."""

_ROUNDS = 40
"""Rounds of sampling after which a space that gave nothing counts as empty; a choice."""


@dataclass(frozen=True, kw_only=True)
class SearchSpace:
    """All configurations a search may propose.

    Attributes:
        parameters: What can be set, in the order of the columns of ``U``.
        constraints: What every configuration satisfies.
        listed: If not empty, the only configurations there are; used where a table is all that exists.

    Raises:
        InputError: A name twice, a constraint that is none, conditions in a circle.

    Example:
        >>> from recommender.space.parameters import Parameter
        >>> tile = Parameter(name="tile", kind=ParameterKind.ORDINAL, values=(16, 32, 64))
        >>> unroll = Parameter(name="unroll", kind=ParameterKind.INTEGER, low=1, high=4)
        >>> fits = Constraint(expression="tile * unroll <= 64", reason="registers")
        >>> space = SearchSpace(parameters=(tile, unroll), constraints=(fits,))
        >>> space.size(at_most=100)
        7
        >>> space.violated(Settings({"tile": 64, "unroll": 2})).reason
        'registers'
    """

    parameters: tuple[Parameter, ...]
    constraints: tuple[Constraint, ...] = ()
    listed: tuple[Settings, ...] = ()

    def __post_init__(self) -> None:
        """Refuse a space that means nothing, and parse its expressions."""
        if not self.parameters:
            raise InputError("a search space without parameters")
        if len(set(self.names)) != len(self.parameters):
            raise InputError(f"a parameter is declared twice among {', '.join(self.names)}")
        _ = self._rules  # parsed at birth, so that a wrong expression is refused here

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Names of the parameters, in column order."""
        return tuple(parameter.name for parameter in self.parameters)

    @cached_property
    def digest(self) -> str:
        """Identifier of what was declared; a resumed search compares it."""
        parameters = [
            [p.name, p.kind, [str(v) for v in p.values], p.low, p.high, p.step, p.log, p.when]
            for p in self.parameters
        ]
        declared = [str(c) for c in self.constraints if c.holds is None]
        return digest(parameters, declared, sorted(s.digest for s in self.listed))

    @cached_property
    def declared(self) -> SearchSpace:
        """The space without the constraints that rest on facts, only with those that were declared."""
        rules = tuple(c for c in self.constraints if c.holds is None)
        return self if len(rules) == len(self.constraints) else replace(self, constraints=rules)

    @cached_property
    def finite(self) -> bool:
        """True where all configurations can be enumerated."""
        return bool(self.listed) or all(parameter.finite for parameter in self.parameters)

    # --- points and coordinates

    def encode(self, configurations: Sequence[Settings]) -> Coordinates:
        """Coordinates of configurations, shape (n, d); nan where a parameter is inactive.

        Raises:
            InputError: A parameter is unknown, missing, or has no such value.
        """
        grid = np.full((len(configurations), len(self.parameters)), np.nan)
        for j, parameter in enumerate(self.parameters):
            places: dict[tuple[bool, object], float] = {}
            for i, configuration in enumerate(configurations):
                if parameter.name not in configuration:
                    continue
                value = configuration[parameter.name]
                key = (isinstance(value, bool), value)
                if key not in places:
                    places[key] = parameter.coordinate(value)
                grid[i, j] = places[key]
        for configuration in configurations:
            if unknown := [name for name in configuration if name not in self._rules.columns]:
                raise InputError(
                    f"no parameter named {unknown[0]!r}", hint=f"parameters: {', '.join(self.names)}"
                )
        active = self._rules.active(grid)
        wrong = np.argwhere(active == np.isnan(grid))
        if len(wrong):
            name, is_active = self.names[wrong[0, 1]], bool(active[tuple(wrong[0])])
            what = "is missing" if is_active else "is set though its condition does not hold"
            raise InputError(f"parameter {name} {what}: {configurations[int(wrong[0, 0])]}")
        return grid

    def decode(self, u: Coordinates) -> list[Settings]:
        """Configurations at coordinates."""
        columns = [
            [None if np.isnan(x) else parameter.value(x) for x in u[:, j].tolist()]
            if not parameter.finite
            else _levels(parameter, u[:, j])
            for j, parameter in enumerate(self.parameters)
        ]
        absent = np.isnan(u)
        return [
            Settings({name: columns[j][i] for j, name in enumerate(self.names) if not absent[i, j]})
            for i in range(len(u))
        ]

    def snapped(self, u: Coordinates) -> Coordinates:
        """The nearest coordinates that stand for a value: on levels, with conditions applied."""
        near = np.array(u, float)
        for j in self._rules.order:
            parameter, column = self.parameters[j], np.clip(np.nan_to_num(near[:, j], nan=0.5), 0, 1)
            if parameter.finite:
                near[:, j] = parameter.grid()[parameter.levels(column)]
            elif parameter.kind is ParameterKind.INTEGER or parameter.step is not None:
                numbers = parameter.column(column)
                places = {x: parameter.coordinate(x) for x in set(numbers.tolist())}
                near[:, j] = [places[x] for x in numbers.tolist()]
            else:
                near[:, j] = column
            near[~self._rules.exists(j, near), j] = np.nan
        return near

    def active(self, u: Coordinates) -> NDArray[np.bool_]:
        """Mask of the parameters that exist in each configuration, shape (n, d)."""
        return self._rules.active(u)

    def features(self, u: Coordinates) -> NDArray[np.float32]:
        """Coordinates as columns for a model, shape (n, k); ``groups`` gives the parameter of each column.

        Ordered parameters keep their coordinate, categories become indicators (one for two values), a
        conditional parameter has a column that says whether it exists and 0.5 where it does not.
        """
        columns: list[NDArray[np.float64]] = []
        for j, parameter in enumerate(self.parameters):
            column = np.nan_to_num(u[:, j], nan=0.5)
            if parameter.ordered or len(parameter.values) <= 2:
                columns.append(column)
            else:
                levels = parameter.levels(column)
                columns += [(levels == k) * (0.5**0.5) for k in range(len(parameter.values))]
            if parameter.when:
                columns.append((~np.isnan(u[:, j])).astype(float))
        return np.stack(columns, axis=1).astype(np.float32)

    @cached_property
    def groups(self) -> NDArray[np.int64]:
        """The parameter of each column of ``features``, shape (k,)."""
        columns: list[int] = []
        for j, parameter in enumerate(self.parameters):
            wide = 1 if parameter.ordered or len(parameter.values) <= 2 else len(parameter.values)
            columns += [j] * (wide + bool(parameter.when))
        return np.array(columns)

    # --- what is allowed

    def allowed(self, u: Coordinates) -> NDArray[np.bool_]:
        """Mask of the rows that satisfy every constraint and are in the table if there is one."""
        held = self._within_constraints(u)
        if self.listed and held.any():
            rows = np.flatnonzero(held)
            for row, settings in zip(rows.tolist(), self.decode(u[rows]), strict=True):
                held[row] = settings.digest in self._listed
        return held

    def violated(self, configuration: Settings) -> Constraint | None:
        """The first constraint a configuration breaks; None if it is allowed.

        Raises:
            InputError: It is no point of the space: a parameter is unknown, missing or has no such value.
        """
        u = self.encode([configuration])
        for constraint, rule in self._rules.constraints:
            if not self._rules.holds(rule, u, absent=True)[0]:
                return constraint
        for constraint in self.constraints:
            if constraint.predicate is not None and not constraint.predicate(configuration):
                return constraint
            if constraint.holds is not None and not constraint.holds(self.parameters, u)[0]:
                return constraint
        if self.listed and configuration.digest not in self._listed:
            return Constraint(expression="listed", reason="it is not in the table that is the whole space")
        return None

    # --- many points

    def blocks(self) -> Iterator[Coordinates]:
        """All allowed configurations, block by block; partial ones that break a constraint are dropped.

        Raises:
            InputError: A parameter is continuous, so there is no end of configurations.
        """
        if self.listed:
            u = self.encode(self.listed)
            u = u[np.sort(np.unique(u, axis=0, return_index=True)[1])]  # a table may repeat itself
            yield u[self._within_constraints(u)]
            return
        if not self.finite:
            free = [p.name for p in self.parameters if not p.finite]
            raise InputError(f"not enumerable: {', '.join(free)} is continuous", hint="give it a step")
        yield from self._extended(np.full((1, len(self.parameters)), np.nan), 0)

    def enumerate(self) -> Iterator[Settings]:
        """All allowed configurations, lazily.

        Raises:
            InfeasibleError: There is none.
            InputError: A parameter is continuous.
        """
        empty = True
        for block in self.blocks():
            for start in range(0, len(block), 1024):
                empty = False
                yield from self.decode(block[start : start + 1024])
        if empty:
            raise InfeasibleError("no configuration satisfies the constraints", hint=self._tightest())

    def size(self, at_most: int) -> int | None:
        """Number of allowed configurations; None if more than ``at_most`` or without end."""
        if not self.finite:
            return None
        count = 0
        for block in self.blocks():
            count += len(block)
            if count > at_most:
                return None
        return count

    def sample(self, rng: np.random.Generator, n: int) -> list[Settings]:
        """Up to ``n`` different allowed configurations at random.

        Raises:
            InfeasibleError: None was found.
        """
        return self.decode(self.sample_coordinates(rng, n))

    def sample_coordinates(self, rng: np.random.Generator, n: int) -> Coordinates:
        """Draw as ``sample`` does, as coordinates, shape (m, d) with m at most ``n``."""
        if self.listed:
            u = next(iter(self.blocks()))
            return u[rng.permutation(len(u))[:n]]
        sample = np.zeros((0, len(self.parameters)))
        for _ in range(_ROUNDS):
            drawn = self._drawn(rng, max(256, 2 * n))
            sample = np.concatenate([sample, drawn[self.allowed(drawn)]])
            _, first = np.unique(np.nan_to_num(sample, nan=-1.0), axis=0, return_index=True)  # nan is not nan
            sample = sample[np.sort(first)]
            if len(sample) >= n:
                break
        if not len(sample):
            raise InfeasibleError("no configuration found within the constraints", hint=self._tightest())
        return sample[:n]

    # --- below

    def _within_constraints(self, u: Coordinates) -> NDArray[np.bool_]:
        """Mask of rows that satisfy every constraint, shape (n,)."""
        held = np.ones(len(u), bool)
        for _, rule in self._rules.constraints:
            held &= self._rules.holds(rule, u, absent=True)
        for constraint in self.constraints:
            if constraint.holds is not None and held.any():
                rows = np.flatnonzero(held)
                held[rows] = constraint.holds(self.parameters, u[rows])
        predicates = [c.predicate for c in self.constraints if c.predicate is not None]
        if predicates and held.any():
            rows = np.flatnonzero(held)
            for row, settings in zip(rows.tolist(), self.decode(u[rows]), strict=True):
                held[row] = all(predicate(settings) for predicate in predicates)
        return held

    @cached_property
    def _listed(self) -> frozenset[str]:
        return frozenset(settings.digest for settings in self.listed)

    @cached_property
    def _rules(self) -> SpaceRules:
        return SpaceRules(self.parameters, self.constraints)

    def _extended(self, u: Coordinates, depth: int) -> Iterator[Coordinates]:
        """All ways to complete partial configurations, depth first over blocks."""
        if not len(u):
            return
        if depth == len(self._rules.order):
            if any(not c.expression for c in self.constraints):
                u = u[self._within_constraints(u)]
            if len(u):
                yield u
            return
        j = self._rules.order[depth]
        grid = self.parameters[j].grid()
        at_once = max(1, _BLOCK // len(grid))
        for start in range(0, len(u), at_once):
            part = u[start : start + at_once]
            exists = self._rules.exists(j, part)
            copies = np.where(exists, len(grid), 1)
            wide = np.repeat(part, copies, axis=0)
            place = np.arange(len(wide)) - np.repeat(np.cumsum(copies) - copies, copies)
            wide[:, j] = np.where(np.repeat(exists, copies), grid[place % len(grid)], np.nan)
            for rule in self._rules.due[depth]:
                wide = wide[self._rules.holds(rule, wide, absent=True)]
            yield from self._extended(wide, depth + 1)

    def _drawn(self, rng: np.random.Generator, n: int) -> Coordinates:
        """Random configurations, each parameter drawn among what the constraints so far leave it."""
        u = np.full((n, len(self.parameters)), np.nan)
        for depth, j in enumerate(self._rules.order):
            parameter = self.parameters[j]
            tries = 8 if self._rules.due[depth] else 1
            open_rows = np.arange(len(u))
            exists = self._rules.exists(j, u)
            for _ in range(tries):
                u[open_rows, j] = np.where(
                    exists[open_rows], self._random(parameter, rng, len(open_rows)), np.nan
                )
                bad = np.zeros(len(open_rows), bool)
                for rule in self._rules.due[depth]:
                    bad |= ~self._rules.holds(rule, u[open_rows], absent=True)
                open_rows = open_rows[bad]
                if not len(open_rows):
                    break
            if len(open_rows):
                keep = np.ones(len(u), bool)
                keep[open_rows] = False
                if not keep.any():
                    return u[:0]
                u = u[keep]
        return u

    def _random(self, parameter: Parameter, rng: np.random.Generator, n: int) -> Coordinates:
        if parameter.finite:
            return parameter.grid()[rng.integers(len(parameter.values), size=n)]
        u = rng.random(n)
        if parameter.kind is ParameterKind.INTEGER or parameter.step is not None:
            return np.array([parameter.coordinate(x) for x in parameter.column(u).tolist()])
        return u

    def _tightest(self) -> str:
        """Constraints that no partial configuration survives, as far as each alone tells."""
        if facts := [c for c in self.constraints if c.holds is not None]:
            return "; ".join(map(str, facts))
        if self.listed or not self.finite:
            return "loosen a constraint"
        for constraint in self.constraints:
            if constraint.expression:
                alone = SearchSpace(parameters=self.parameters, constraints=(constraint,))
                if next(islice(alone.blocks(), 1), None) is None:
                    return f"{constraint} holds nowhere"
        return f"together they rule out everything: {'; '.join(map(str, self.constraints))}"[:300]


def _levels(parameter: Parameter, column: Coordinates) -> list[object]:
    return [parameter.values[k] for k in parameter.levels(np.nan_to_num(column)).tolist()]
