"""A constraint: a rule that every configuration of a search space satisfies."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from kg.errors import InputError
from kg.nouns.values import Settings
from recommender.space.parameters import Parameter

Coordinates: TypeAlias = NDArray[np.float64]
"""Shape (n, d), in the order in which a space declares its d parameters."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Constraint:
    """A rule on configurations; one that names an inactive parameter holds.

    Attributes:
        expression: See ``recommender.space.expressions``; empty where there is a function.
        reason: Why, for people; of a predicate also its name in the digest of the space.
        source: Document or fact that the rule rests on.
        predicate: A function of a configuration, evaluated last; None where there is an expression.
        holds: A rule from facts, over many configurations at once: takes the parameters of a space and
            coordinates, shape (n, d), and returns which rows are allowed, shape (n,). It is not declared,
            so it is no part of a digest.
    """

    expression: str = ""
    reason: str = ""
    source: str = ""
    predicate: Callable[[Settings], bool] | None = field(default=None, compare=False)
    holds: Callable[[Sequence[Parameter], Coordinates], NDArray[np.bool_]] | None = field(
        default=None, compare=False
    )

    def __post_init__(self) -> None:
        """Refuse a constraint that states nothing, or two things."""
        forms = (bool(self.expression.strip()), self.predicate is not None, self.holds is not None)
        if sum(forms) != 1:
            raise InputError("a constraint has an expression or a predicate")

    def __str__(self) -> str:
        return self.expression or self.reason or getattr(self.predicate, "__name__", "predicate")
