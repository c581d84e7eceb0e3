"""The estimate of a search file: arithmetic that says what each configuration roughly costs, as a source.

Who writes a kernel knows its loops: how often they run, how wide they are, what stays in the cache. Written
as an expression over parameters and sizes of the problem, that knowledge orders the candidates where nobody
has measured anything similar. The search takes it as it takes another problem's table: it learns from its own
results how far to believe it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from kg.errors import InputError
from recommender.search.engine.candidates import Candidates
from recommender.search.evaluations import SourceTable
from recommender.search.run.source_tables import thinned
from recommender.search.run.task_file import TaskFile
from recommender.space.expressions import Expression
from recommender.space.space import SearchSpace

SIMILARITY = 0.5
"""Trust in an estimate before anything is measured, less than in a table of the same kernel elsewhere; a
choice, which was not varied."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CostEstimate:
    """A rough cost of every configuration; lower is better, the unit does not matter.

    Attributes:
        expression: Over parameters and sizes.
        sizes: Sizes of the problem, by name.
    """

    expression: Expression
    sizes: Mapping[str, float]

    @classmethod
    def parse(cls, text: str, space: SearchSpace, sizes: Mapping[str, float]) -> CostEstimate:
        """Check an estimate.

        Raises:
            InputError: It is no expression, or speaks of what is neither a parameter nor a size.
        """
        kept = {name: value for name, value in sizes.items() if name not in space.names}
        try:
            return cls(expression=Expression.parse(text, frozenset((*space.names, *kept))), sizes=kept)
        except InputError as fault:
            words = str(fault).removeprefix("constraint ")
            raise InputError(f"estimate: {words}", hint=fault.hint) from None

    def source(self, space: SearchSpace, rng: np.random.Generator) -> SourceTable:
        """The costs of a space's configurations, best first, as far as they are positive numbers.

        Of many the best are taken, and of the others every so many.

        Args:
            space: The space, or a sample where it cannot be listed.
            rng: Draws the sample.

        Raises:
            InputError: The estimate cannot be reckoned, or is nowhere a positive number.
        """
        pool = Candidates(space, rng)
        configurations = space.decode(np.concatenate([pool.u, pool.reserve]))
        columns: dict[str, NDArray[np.generic]] = {
            name: np.array([item.get(name) for item in configurations])
            for name in self.expression.names
            if name in space.names
        }
        columns |= {name: np.full(len(configurations), value) for name, value in self.sizes.items()}
        try:
            costs = np.broadcast_to(self.expression.numbers(columns), len(configurations))
        except InputError as fault:
            raise InputError(f"estimate: {fault}", hint="numbers, and texts only compared") from None
        usable = np.flatnonzero(np.isfinite(costs) & (costs > 0))
        if not len(usable):
            raise InputError("estimate: nowhere a positive number", hint="a cost, such as a number of cycles")
        order = thinned(usable[np.argsort(costs[usable], kind="stable")])
        return SourceTable(
            name="the file's estimate",
            similarity=SIMILARITY,
            configurations=[configurations[i] for i in order],
            costs=costs[order],
        )


def with_estimate(tables: Sequence[SourceTable], estimate: SourceTable) -> list[SourceTable]:
    """The tables that a search starts from: those trusted more than an estimate, or else the estimate alone.

    Both together need more evaluations than the better of the two (docs/figures-notes.md).
    """
    nearer = [item for item in tables if item.similarity > estimate.similarity]
    return nearer or [estimate]


def read_estimate(file: TaskFile, space: SearchSpace) -> CostEstimate | None:
    """The estimate of a search file; None where it has none.

    Raises:
        InputError: It is wrong.
    """
    text = file.raw.get("estimate")
    if text is None:
        return None
    if not isinstance(text, str):
        raise InputError(f"estimate: expected an expression, not {str(text)[:60]!r}")
    shape = (file.problem() or {}).get("shape")
    numbers = shape.items() if isinstance(shape, dict) else ()
    sizes = {
        str(name): float(value)
        for name, value in numbers
        if isinstance(value, int | float) and not isinstance(value, bool)
    }
    return CostEstimate.parse(text, space, sizes)
