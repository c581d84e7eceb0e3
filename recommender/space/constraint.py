"""What every configuration of a space must satisfy."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeAlias

from kg.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy as np
    from numpy.typing import NDArray

    from kg.nouns.values import Settings
    from recommender.space.space import SearchSpace

Coordinates: TypeAlias = "NDArray[np.float64]"


@dataclass(frozen=True, slots=True, kw_only=True)
class Constraint:
    """What a configuration must satisfy; one that speaks of an inactive parameter holds.

    Attributes:
        expression: See ``recommender.space.expressions``; empty where there is a function.
        reason: Why, for people; of a predicate also its name in the digest of the space.
        source: What the rule rests on.
        predicate: A function of a whole configuration, asked last; None where there is an expression.
        holds: What facts say of many configurations at once: from a space and coordinates in it, shape
            (n, d), whether each row may be, shape (n,). It was not declared, so it is no part of a digest.
    """

    expression: str = ""
    reason: str = ""
    source: str = ""
    predicate: Callable[[Settings], bool] | None = field(default=None, compare=False)
    holds: Callable[[SearchSpace, Coordinates], NDArray[np.bool_]] | None = field(default=None, compare=False)

    def __post_init__(self) -> None:
        """Refuse a constraint that says nothing, or two things."""
        said = (bool(self.expression.strip()), self.predicate is not None, self.holds is not None)
        if sum(said) != 1:
            raise InputError("a constraint has an expression or a predicate")

    def __str__(self) -> str:
        return self.expression or self.reason or getattr(self.predicate, "__name__", "predicate")
