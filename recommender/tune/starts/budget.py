"""The budget of a tune: starts and time."""

import time
from dataclasses import dataclass
from threading import Event

from kg.nouns.codec import JsonNoun

_MOST_PAIRS = 40


@dataclass(frozen=True, slots=True, kw_only=True)
class Budget(JsonNoun):
    """Budget of a tune: starts and time.

    Attributes:
        evaluations: Starts at most; None for any number.
        seconds: Time of all starts and loads at most, of all machines together; None for any.
    """

    evaluations: int | None = None
    seconds: float | None = None

    def has(self, starts: int, each_s: float, used: int, used_s: float) -> bool:
        """True if so many more starts of so many seconds fit into the rest of the budget."""
        return (self.evaluations is None or used + starts <= self.evaluations) and (
            self.seconds is None or used_s + starts * each_s <= self.seconds
        )

    def pairs(self, each_s: float, used: int, used_s: float) -> int:
        """Pairs of starts that fit into what is left; of time the last start may end beyond it."""
        left = [_MOST_PAIRS]
        if self.evaluations is not None:
            left.append((self.evaluations - used) // 2)
        if self.seconds is not None:
            left.append(int((self.seconds - used_s + each_s) / (2 * max(each_s, 1e-3))))
        return max(0, min(left))


class Until(Event):
    """Is set once another one is, or a time has passed."""

    def __init__(self, cancel: Event, seconds: float) -> None:
        super().__init__()
        self._cancel, self._end_s = cancel, time.monotonic() + seconds

    def is_set(self) -> bool:
        """See :class:`Event`."""
        return self._cancel.is_set() or time.monotonic() >= self._end_s

    def wait(self, timeout: float | None = None) -> bool:
        """See :class:`Event`."""
        left_s = max(0.0, self._end_s - time.monotonic())
        self._cancel.wait(left_s if timeout is None else min(timeout, left_s))
        return self.is_set()
