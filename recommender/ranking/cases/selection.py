"""Selection of k candidates to try together: the best expected best of k.

Another device may turn the effect of a parameter around. Scenarios draw, for each parameter, a tilt over
its ordered values and a shift for each value; candidates are then taken one by one so that the mean over
scenarios of the best taken so far falls most. With no drift this is plain order.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from kg.nouns.entities import Configuration

SCENARIOS = 256

_SEED = 20240229
_HEAVY_TAIL = 3  # degrees of freedom: turning around is rare, and large when it comes
_MOST_REGRET = 1.0
_TIE = 1e-3
_COVERED = (
    0.7  # one of the best of a source settles it in most cases, not in all: a list repeats itself a little
)


def select(
    candidates: Sequence[Configuration], expected: NDArray[np.float64], drift: float, k: int
) -> list[int]:
    """Return the indices of the k candidates to try, best first.

    Args:
        candidates: n configurations.
        expected: Their expected log regret, shape (n,).
        drift: Spread of how one parameter's effect may differ, in nats.
        k: How many.
    """
    order = sorted(range(len(candidates)), key=lambda place: (expected[place], candidates[place].digest))
    if drift <= 0 or len(order) <= k:
        return order[:k]
    regret = expected[:, None] + _shifts(candidates, drift)
    regret = np.minimum(regret - regret.min(axis=0), _MOST_REGRET)
    rank = np.empty(len(order), np.intp)
    rank[order] = np.arange(len(order))
    taken = [order[0]]
    best = regret[order[0]]
    while len(taken) < k:
        gain = np.minimum(best, regret).mean(axis=1)
        gain[taken] = np.inf
        place = min(
            range(len(candidates)), key=lambda item: (gain[item], expected[item], candidates[item].digest)
        )
        taken.append(place)
        best = np.minimum(best, regret[place])
    return taken


def cover(
    best: NDArray[np.float64], fate: NDArray[np.float64], expected: NDArray[np.float64], k: int
) -> list[int]:
    """Return k places that together hold one of the best of as many sources as possible, greedily.

    Args:
        best: How far each candidate is among the best of each source, 0 to 1, shape (S, n).
        fate: Weight of each source, shape (S,).
        expected: Expected log regret, shape (n,); decides between equals.
        k: How many.
    """
    n = best.shape[1]
    missed = np.ones(len(best))
    taken: list[int] = []
    while len(taken) < min(k, n):
        won = (fate * missed) @ best - _TIE * expected
        won[taken] = -np.inf
        place = int(np.argmax(won))
        taken.append(place)
        missed *= 1 - _COVERED * best[:, place]
    return taken


def _shifts(candidates: Sequence[Configuration], drift: float) -> NDArray[np.float64]:
    rng = np.random.default_rng(_SEED)
    shifts = np.zeros((len(candidates), SCENARIOS))
    for name in sorted({name for item in candidates for name in item}):
        column = [item.get(name) for item in candidates]
        values = sorted(set(column), key=lambda value: (isinstance(value, str), _sortable(value)))
        if len(values) < 2:
            continue
        code = {value: place for place, value in enumerate(values)}
        effect = 0.3 * drift * rng.standard_t(_HEAVY_TAIL, (len(values), SCENARIOS))
        if any(isinstance(value, str) for value in values) or len(values) < 4:
            effect = effect / 0.3
        else:
            effect = effect + np.linspace(-1, 1, len(values))[:, None] * drift * rng.standard_t(
                _HEAVY_TAIL, (1, SCENARIOS)
            )
        shifts += effect[[code[value] for value in column]]
    shifts += 0.25 * drift * rng.standard_normal(shifts.shape)
    return shifts


def _sortable(value: object) -> tuple[float, str]:
    return (float(value), "") if isinstance(value, int | float) else (0.0, str(value))
