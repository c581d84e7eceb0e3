"""Leaving out of a space what was bad on every known device, with the price of each pair of values.

Price of two values of two parameters, on one device: log cost of the best configuration that has both, above
the best of all. A pair is as cheap as on the device where it is cheapest; a pair that no device has measured
costs nothing, so it stays. The dearest pairs go first, until the wanted share of the space is gone.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np

from kg.errors import InputError
from recommender.search.belief.transfer import project
from recommender.space.constraint import Constraint
from recommender.space.space import SearchSpace

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from kg.nouns.values import Value
    from recommender.search.evaluations import SourceTable

SHARE = 0.6
"""Share of a space to leave out; on kernel spaces the best was kept up to 0.7 (docs/figures-notes.md)."""
MOST = 200_000
"""Configurations up to which a space is pruned."""
_HUGE = 700.0
"""Nearly the logarithm of the largest number; a failure is beyond it."""
LEAST_ROWS = 100
"""Rows of a source below which it says nothing of pairs: most of them would be measured once; a choice."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ExcludedPair:
    """Two values that do not go together.

    Attributes:
        names: The parameters.
        values: Their values.
        price: Log cost above the best, on the device where it is least.
    """

    names: tuple[str, str]
    values: tuple[Value, Value]
    price: float


@dataclass(frozen=True, slots=True, kw_only=True)
class PrunedSpace:
    """A smaller space.

    Attributes:
        space: It.
        pairs: What was left out, dearest first.
        before: Configurations before.
        after: Configurations after.
        sources: What it rests on.
    """

    space: SearchSpace
    pairs: tuple[ExcludedPair, ...]
    before: int
    after: int
    sources: tuple[str, ...]

    @property
    def removed(self) -> float:
        """Share of the configurations that is gone."""
        return 1 - self.after / self.before


def prune(space: SearchSpace, sources: Sequence[SourceTable], *, share: float = SHARE) -> PrunedSpace:
    """Leave out the dearest pairs of values.

    Args:
        space: A space that can be enumerated.
        sources: The same problem on other devices, measured widely: what they lack stays.
        share: How much of the space to leave out, 0 to 1.

    Raises:
        InputError: The share is none, the space is too large, or no source has enough rows.
    """
    if not 0 <= share < 1:
        raise InputError(f"a share of {share:g} cannot be left out", hint="between 0 and 1, such as 0.6")
    count = space.size(MOST)
    if count is None:
        raise InputError(
            f"more than {MOST} configurations: too many to prune", hint="narrow the values first"
        )
    known = [source for source in sources if len(source.costs) >= LEAST_ROWS]
    if not known:
        raise InputError(
            f"no source has {LEAST_ROWS} rows", hint="give tables of the kernel on other devices"
        )
    points = np.concatenate(list(space.blocks()))
    codes = [np.unique(column, return_inverse=True) for column in points.T]
    tables = [_on(space, source, codes) for source in known]
    worst = np.zeros(len(points))
    found: list[tuple[tuple[int, int], NDArray[np.int64], NDArray[np.float64]]] = []
    for columns in combinations([j for j, (values, _) in enumerate(codes) if len(values) > 1], 2):
        sizes = [len(codes[j][0]) for j in columns]
        prices = np.min([_prices(table, columns, sizes) for table in tables], axis=0)
        keys = codes[columns[0]][1] * sizes[1] + codes[columns[1]][1]
        worst = np.maximum(worst, prices[keys])
        found.append((columns, np.unique(keys), prices))
    gone = math.ceil(share * len(points))
    limit = float(np.sort(worst)[::-1][gone - 1]) if gone else math.inf
    kept = worst < limit
    if not kept.any() or limit <= 0:  # what is left costs nothing anywhere: nothing tells it apart
        limit = float(np.nextafter(limit, math.inf))
        kept = worst < limit
    pairs = _pairs(space, codes, found, limit)
    smaller = SearchSpace(
        parameters=space.parameters,
        constraints=(*space.constraints, *_constraints(pairs, len(known))),
        listed=space.listed,
    )
    return PrunedSpace(
        space=smaller,
        pairs=pairs,
        before=len(points),
        after=int(kept.sum()),
        sources=tuple(source.name for source in known),
    )


def _on(
    space: SearchSpace,
    source: SourceTable,
    codes: Sequence[tuple[NDArray[np.float64], NDArray[np.int64]]],
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Rows of a source as codes of the space's values, -1 where it has another; log cost above its best."""
    points, _ = project(space, source.configurations)
    places = np.full(points.shape, -1, np.int64)
    for j, (values, _) in enumerate(codes):
        at = np.clip(np.searchsorted(values, points[:, j]), 0, len(values) - 1)
        places[:, j] = np.where(np.isclose(values[at], points[:, j]), at, -1)
    costs = np.asarray(source.costs, float)
    log = np.full(len(costs), np.inf)
    ran = np.isfinite(costs)
    log[ran] = np.log(costs[ran])
    return places, log - (log[ran].min() if ran.any() else 0.0)


def _prices(
    table: tuple[NDArray[np.int64], NDArray[np.float64]], columns: tuple[int, int], sizes: Sequence[int]
) -> NDArray[np.float64]:
    """Price of each pair of values of two parameters, shape (a * b,); 0 where it was not measured."""
    places, log = table
    first, second = places[:, columns[0]], places[:, columns[1]]
    seen = (first >= 0) & (second >= 0)
    keys = (first * sizes[1] + second)[seen]
    prices = np.full(sizes[0] * sizes[1], np.inf)
    np.minimum.at(prices, keys, log[seen])
    measured = np.zeros(len(prices), bool)
    measured[keys] = True
    return np.where(measured, prices, 0.0)


def _pairs(
    space: SearchSpace,
    codes: Sequence[tuple[NDArray[np.float64], NDArray[np.int64]]],
    found: Sequence[tuple[tuple[int, int], NDArray[np.int64], NDArray[np.float64]]],
    limit: float,
) -> tuple[ExcludedPair, ...]:
    made = []
    for (a, b), keys, prices in found:
        for key in keys[prices[keys] >= limit].tolist():
            i, j = divmod(key, len(codes[b][0]))
            one, other = space.parameters[a], space.parameters[b]
            made.append(
                ExcludedPair(
                    names=(one.name, other.name),
                    values=(one.value(float(codes[a][0][i])), other.value(float(codes[b][0][j]))),
                    price=float(prices[key]),
                )
            )
    return tuple(sorted(made, key=lambda pair: (-pair.price, pair.names, str(pair.values))))


def _constraints(pairs: Sequence[ExcludedPair], sources: int) -> list[Constraint]:
    """One constraint for each value of the first parameter of a pair."""
    groups: dict[tuple[str, str, object], list[ExcludedPair]] = {}
    for pair in pairs:
        groups.setdefault((*pair.names, pair.values[0]), []).append(pair)
    made = []
    for (first, second, value), members in groups.items():
        least = math.expm1(min([*(member.price for member in members), _HUGE]))
        how = f"at least {least:.0%} above the best" if least < 100 else "failed"
        among = " and ".join(f"{second} != {member.values[1]!r}" for member in members)
        made.append(
            Constraint(
                expression=f"{first} != {value!r} or ({among})",
                reason=f"{how} on all {sources} known devices",
                source="measured tables",
            )
        )
    return made
