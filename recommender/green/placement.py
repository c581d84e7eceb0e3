"""Cheapest slots for a job, exactly: whole, in pieces, and in pieces that cost something.

A price is what a slot emits; it may be any number. Times count in slots from the first price on.
"""

from itertools import pairwise

import numpy as np

from recommender.green.history import Floats, Slots

_TIE = 1e-9
"""Relative difference below which two prices are the same: the earlier slot wins."""


def window_sums(price: Floats, length: int) -> Floats:
    """Sum of each run of ``length`` prices, along the last axis."""
    sums = np.concatenate([np.zeros((*price.shape[:-1], 1)), np.cumsum(price, axis=-1)], axis=-1)
    return np.asarray(sums[..., length:] - sums[..., :-length])


def best_start(price: Floats, length: int) -> int:
    """Start of the cheapest run of ``length`` slots; the earliest of equal ones.

    Raises:
        ValueError: The job is longer than the window.
    """
    if not 0 < length <= len(price):
        raise ValueError(f"{length} slots do not fit in {len(price)}")
    sums = window_sums(price, length)
    return int(np.flatnonzero(sums <= sums.min() + _TIE * abs(sums).max())[0])


def cheapest_slots(price: Floats, length: int) -> Slots:
    """The ``length`` cheapest slots in order of time; the earliest of equal ones.

    Raises:
        ValueError: The job is longer than the window.
    """
    if not 0 < length <= len(price):
        raise ValueError(f"{length} slots do not fit in {len(price)}")
    return np.sort(np.argsort(price, kind="stable")[:length])


def cheapest_pieces(
    price: Floats, length: int, least_run: int, restart_cost: float, *, is_running: bool = False
) -> Slots:
    """Slots of the cheapest plan whose pieces have a least length and cost something to start again.

    By dynamic programming over slots, work done and the length of the running piece, capped at ``least_run``;
    exact. The last piece may not be shorter either, unless the whole job is.

    Args:
        price: Price of each slot.
        length: Slots of work.
        least_run: Least slots of a piece.
        restart_cost: Price of every start but the first, in the unit of ``price``.
        is_running: The job runs already, so that the first start costs too, unless it is in the first slot.

    Raises:
        ValueError: The job is longer than the window.
    """
    if not 0 < length <= len(price):
        raise ValueError(f"{length} slots do not fit in {len(price)}")
    least = max(1, min(least_run, length))
    # cost[w, r]: cheapest way to have done w slots with a piece of r running (r = 0: paused)
    cost = np.full((length + 1, least + 1), np.inf)
    cost[0, 0] = 0.0
    came = np.empty((len(price), length + 1, least + 1), dtype=np.int16)  # state before: the r it came from
    for slot, now in enumerate(price):
        after = np.full_like(cost, np.inf)
        origin = came[slot]
        origin[:] = np.maximum(np.arange(least + 1) - 1, 0)
        # pause: from paused, or from a piece that is long enough
        stop = cost[:, least]
        is_stop = stop < cost[:, 0]
        after[:, 0] = np.where(is_stop, stop, cost[:, 0])
        origin[:, 0] = np.where(is_stop, least, 0)
        if slot == 0 and is_running:
            after[0, 0] += restart_cost
        # start a piece, or go on with one
        after[1:, 1] = cost[:-1, 0] + now
        after[2:, 1] += restart_cost
        after[1:, 2:] = cost[:-1, 1:least] + now
        going = cost[:-1, least] + now
        is_better = going < after[1:, least]
        after[1:, least] = np.where(is_better, going, after[1:, least])
        origin[1:, least][is_better] = least
        cost = after
    if not np.isfinite(min(cost[length, 0], cost[length, least])):
        raise ValueError(f"{length} slots in pieces of {least} do not fit in {len(price)}")
    state = 0 if cost[length, 0] <= cost[length, least] else least
    chosen: list[int] = []
    work = length
    for slot in range(len(price) - 1, -1, -1):
        before = int(came[slot, work, state])
        if state:
            chosen.append(slot)
            work -= 1
        state = before
    return np.array(chosen[::-1], dtype=np.int64)


def pieces(slots: Slots) -> list[tuple[int, int]]:
    """First slot and length of each run of slots."""
    if not len(slots):
        return []
    breaks = [0, *(np.flatnonzero(np.diff(slots) > 1) + 1), len(slots)]
    return [(int(slots[begin]), int(end - begin)) for begin, end in pairwise(breaks)]
