"""Deciding slot by slot whether to run: the forecast is made anew, and only its first slot binds."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from recommender.green.history import Floats, Slots

_TIE = 1e-9
"""Relative difference of prices below which the earlier slot is taken."""


class Forecasts(Protocol):
    """Forecasts from every origin of a stretch of a series."""

    def ahead(self, origin: int) -> Floats | NDArray[np.float32]:
        """Forecast from a slot on, the slot itself first."""

    def sums(self, origin: int) -> Floats | NDArray[np.float32]:
        """Running sums of :meth:`ahead`, beginning with zero."""


def runs_now(price: Floats | NDArray[np.float32], length: int) -> bool:
    """Whether the first slot is among the ``length`` cheapest."""
    limit = price[0] * (1 - _TIE)
    return bool(np.count_nonzero(price[1:] < limit) < length)


def starts_now(sums: Floats | NDArray[np.float32], length: int) -> bool:
    """Whether the first of all runs of ``length`` slots is the cheapest, from running sums of prices."""
    windows = sums[length:] - sums[: len(sums) - length]
    return bool(windows[0] * (1 - _TIE) <= windows.min())


def replan_whole(forecasts: Forecasts, arrival: int, length: int, deadline: int) -> int:
    """Start of a job that runs in one piece, decided anew before every slot.

    Args:
        forecasts: From each slot of the wait.
        arrival: First slot in which it may run.
        length: Slots of work.
        deadline: Slot before which it must be done.
    """
    for slot in range(arrival, deadline - length):
        if starts_now(forecasts.sums(slot)[: deadline - slot + 1], length):
            return slot
    return deadline - length


def replan_split(forecasts: Forecasts, arrival: int, length: int, deadline: int) -> Slots:
    """Slots of a job that may be interrupted, decided anew before every slot."""
    chosen: list[int] = []
    for slot in range(arrival, deadline):
        left = length - len(chosen)
        if left == deadline - slot:
            chosen += range(slot, deadline)
            break
        if runs_now(forecasts.ahead(slot)[: deadline - slot], left):
            chosen.append(slot)
            if len(chosen) == length:
                break
    return np.array(chosen, dtype=np.int64)
