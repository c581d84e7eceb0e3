"""The candidates of a search with their posterior, and what a composition needs of the search of a part."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Sequence
    from contextlib import AbstractContextManager

    import numpy as np
    from numpy.typing import NDArray

    from kg.nouns.values import Settings
    from recommender.search.evaluations import Evaluation
    from recommender.space.coordinates import Coordinates
    from recommender.space.space import SearchSpace


@dataclass(frozen=True, slots=True, kw_only=True)
class CandidateOutlook:
    """The posterior of every candidate of a search.

    Attributes:
        u: Coordinates, shape (N, d).
        mean: Expected log cost, shape (N,).
        stdev: Of it, shape (N,).
        allowed: Logarithm of the chance to run, shape (N,).
        open: Which have not been evaluated, shape (N,).
    """

    u: Coordinates
    mean: NDArray[np.float64]
    stdev: NDArray[np.float64]
    allowed: NDArray[np.float64]
    open: NDArray[np.bool_]


class PartSearch(Protocol):
    """A search over the space of one part, which learns its cost and predicts it."""

    space: SearchSpace

    def tell(self, evaluation: Evaluation, /) -> None:
        """Add an evaluation of the part."""

    def outlook(self) -> CandidateOutlook:
        """The posterior of the part's candidates."""

    def believing(self, configurations: Sequence[Settings], /) -> AbstractContextManager[None]:
        """Take predictions of configurations for their results while the block lasts."""
