"""The pool of configurations that a search chooses from: all there are, or a part of them that grows.

Of a space that can be enumerated the pool holds the few thousand most promising configurations; the others
wait in reserve and are promoted when the model, asked about all of them now and then, thinks well of them.
Of a larger space the pool starts as a sample and takes in neighbours of what was good.
"""

import numpy as np
from numpy.typing import NDArray

from kg.errors import InfeasibleError
from kg.nouns.values import Settings
from recommender.space.constraint import Coordinates
from recommender.space.space import SearchSpace

MOST_ENUMERATED = 30_000
"""Configurations up to which the whole space is the pool; a choice that keeps a suggestion at 10 ms."""

LOOKED_AT = 1_000_000
"""Configurations up to which those that facts allow are looked for among all that are declared; a choice."""

_SAMPLED = 2048
"""Configurations of a larger space drawn to begin with; a choice."""

SCREENED = 3072
"""Most configurations scored at every step; a choice that keeps a suggestion at 10 ms."""

PROMOTED = 768
"""Configurations that leave the reserve at a time; a choice."""

_NEAR = 96
"""Neighbours of a good configuration that join the pool of a larger space; a choice."""

_DIGITS = 9
"""Decimals by which two coordinates are told apart."""


class Candidates:
    """The pool of candidates of one search, by row.

    Args:
        space: Where they are from.
        rng: For the sample of a space too large to enumerate.

    Attributes:
        u: Coordinates, shape (N, d).
        features: As ``SearchSpace.features`` has them, shape (N, k).
        open: Which rows may still be proposed, shape (N,).
        complete: Whether pool and reserve are all there is.
        reserve: Coordinates of those that wait, shape (M, d); some may have entered the pool otherwise.
        waiting: Their features, shape (M, k).

    Raises:
        InfeasibleError: The space is empty.
    """

    def __init__(self, space: SearchSpace, rng: np.random.Generator) -> None:
        self._space = space
        blocks: list[Coordinates] | None = []
        count = 0
        enumerable = space.finite and (space.declared is space or space.declared.size(LOOKED_AT) is not None)
        for block in space.blocks() if enumerable else ():
            count += len(block)
            if count > MOST_ENUMERATED:
                blocks = None
                break
            if blocks is not None:
                blocks.append(block)
        self.complete = enumerable and blocks is not None
        if self.complete and not blocks:
            next(iter(space.enumerate()))  # raises with what rules everything out
        self.u = (
            np.concatenate(blocks) if self.complete and blocks else space.sample_coordinates(rng, _SAMPLED)
        )
        if not len(self.u):
            raise InfeasibleError("no configuration satisfies the constraints")
        self.reserve = self.u[:0]
        if len(self.u) > SCREENED:
            order = rng.permutation(len(self.u))
            self.u, self.reserve = self.u[order[: SCREENED // 3]], self.u[order[SCREENED // 3 :]]
        self.features, self.waiting = space.features(self.u), space.features(self.reserve)
        self.open = np.ones(len(self.u), bool)
        self._rows = {key: row for row, key in enumerate(map(_key, self.u))}

    def __len__(self) -> int:
        return len(self.u)

    def row(self, u: NDArray[np.float64]) -> int | None:
        """The row of coordinates, shape (d,); None if it is not in the pool."""
        return self._rows.get(_key(u))

    def fresh(self, u: Coordinates) -> NDArray[np.bool_]:
        """Mask of the configurations that are open or not in the pool, shape (n,)."""
        rows = [self.row(point) for point in u]
        return np.array([row is None or self.open[row] for row in rows], bool)

    def farthest(self) -> int:
        """The open row farthest from all that are not open; there is one of each.

        Source:
            Johnson, Moore and Ylvisaker, Minimax and maximin distance designs, Journal of Statistical
            Planning and Inference 26, 1990.
        """
        rows = np.flatnonzero(self.open)
        away = np.full(len(rows), np.inf)
        for taken in self.features[~self.open]:
            away = np.minimum(away, ((self.features[rows] - taken) ** 2).sum(axis=1))
        return int(rows[np.argmax(away)])

    def add(self, u: Coordinates, *, proposable: bool) -> NDArray[np.int64]:
        """Put configurations into the pool; those already there stay.

        Args:
            u: Shape (e, d).
            proposable: Whether the new ones may be proposed.

        Returns:
            Rows that are new.
        """
        new: list[int] = []
        for i, point in enumerate(u):
            if self._rows.setdefault(_key(point), len(self.u) + len(new)) == len(self.u) + len(new):
                new.append(i)
        first = len(self.u)
        if new:
            self.u = np.concatenate([self.u, u[new]])
            self.features = np.concatenate([self.features, self._space.features(u[new])])
            self.open = np.concatenate([self.open, np.full(len(new), proposable)])
        return np.arange(first, len(self.u))

    def promote(self, scores: NDArray[np.float64], most: int) -> NDArray[np.int64]:
        """Move the best of the reserve into the pool.

        Args:
            scores: Shape (len(reserve),); larger is better.
            most: How many at most.

        Returns:
            Which of the reserve left it, before it shrank.
        """
        chosen = np.sort(np.argsort(-scores, kind="stable")[:most])
        self.add(self.reserve[chosen], proposable=True)
        left = np.ones(len(self.reserve), bool)
        left[chosen] = False
        self.reserve, self.waiting = self.reserve[left], self.waiting[left]
        return chosen

    @property
    def remaining(self) -> int | None:
        """Number of configurations that may still be proposed; None where there is no end of them."""
        if not self.complete:
            return None
        return int(self.open.sum()) + sum(_key(u) not in self._rows for u in self.reserve)

    def neighbours(self, row: int, rng: np.random.Generator) -> Coordinates:
        """Allowed configurations that differ from one in a parameter or two, shape (e, d)."""
        u = np.repeat(self.u[[row]], _NEAR, axis=0)
        for change in u:
            for j in rng.choice(u.shape[1], size=min(1 + rng.integers(2), u.shape[1]), replace=False):
                near = rng.random() < 0.5 and not np.isnan(change[j])
                change[j] = np.clip(change[j] + rng.normal(0.0, 0.15), 0, 1) if near else rng.random()
        u = self._space.snapped(u)
        return u[self._space.allowed(u)]

    def configuration(self, row: int) -> Settings:
        """The configuration of a row."""
        return self._space.decode(self.u[[row]])[0]


def _key(u: NDArray[np.float64]) -> bytes:
    return (np.round(u, _DIGITS) + 0.0).tobytes()
