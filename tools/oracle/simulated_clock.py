"""A simulated clock: processes that wait for signals, and a device that runs the passes of its engines.

A process is a generator that yields the signal that it waits for and gets back the time at which it goes on.
What happens at one moment happens in the order in which it was planned.
"""

import heapq
from collections.abc import Callable, Generator
from itertools import count

MOST_EVENTS = 3_000_000
"""Events after which a run is given up: the largest of the drawn loads takes a tenth of them."""


class ClockSignal:
    """A moment that a process may wait for, known now or later.

    Attributes:
        time: When it is; None while that is not known.
    """

    __slots__ = ("_waiters", "time")

    def __init__(self, time: float | None = None) -> None:
        self.time = time
        self._waiters: list[Callable[[float], None]] = []

    def then(self, go_on: Callable[[float], None]) -> None:
        """Call ``go_on`` with the time once it is known."""
        if self.time is None:
            self._waiters.append(go_on)
        else:
            go_on(self.time)

    def set(self, time: float) -> None:
        """Set the time, and wake those that wait for it."""
        self.time = time
        waiters, self._waiters = self._waiters, []
        for go_on in waiters:
            go_on(time)


ClockProcess = Generator[ClockSignal, float, None]


class SimulatedClock:
    """A clock that runs actions in the order of their times.

    Attributes:
        now: The time, in seconds.
    """

    def __init__(self) -> None:
        self.now = 0.0
        self._events: list[tuple[float, int, Callable[[], None]]] = []
        self._order = count()

    def at(self, time: float, action: Callable[[], None]) -> None:
        """Do something at a time, or now if that is past."""
        heapq.heappush(self._events, (max(time, self.now), next(self._order), action))

    def start(self, process: ClockProcess) -> None:
        """Run a process from now on."""
        self.at(self.now, lambda: self._advance(process, first=True))

    def run(self, done: Callable[[], bool]) -> None:
        """Run events until ``done``.

        Raises:
            RuntimeError: Nothing is left to happen before that, or it does not come about.
        """
        for _ in range(MOST_EVENTS):
            if done():
                return
            if not self._events:
                raise RuntimeError("every process waits for another")
            self.now, _, action = heapq.heappop(self._events)
            action()
        raise RuntimeError(f"not done after {MOST_EVENTS} events")

    def _advance(self, process: ClockProcess, *, first: bool = False) -> None:
        signal = next(process) if first else process.send(self.now)
        signal.then(lambda time: self.at(time, lambda: self._advance(process)))


class PassLane:
    """A device, or several that run each pass together: a pass takes as long as the longest of its parts."""

    def __init__(self, members: int) -> None:
        self._members = members
        self._free = 0.0
        self._joined = [0] * members
        self._parts: dict[int, list[tuple[float, float]]] = {}
        self._ends: dict[int, ClockSignal] = {}

    def launch(self, member: int, ready: float, duration: float) -> ClockSignal:
        """Enqueue the next pass of a member; the signal is its end."""
        number = self._joined[member]
        self._joined[member] += 1
        end = self._ends.setdefault(number, ClockSignal())
        parts = self._parts.setdefault(number, [])
        parts.append((ready, duration))
        if len(parts) == self._members:
            start = max(self._free, *(at for at, _ in parts))
            self._free = start + max(takes for _, takes in parts)
            del self._parts[number], self._ends[number]
            end.set(self._free)
        return end


class Meeting:
    """A barrier at which processes wait for all others, and learn if any of them said yes.

    Attributes:
        verdict: What the last meeting came to.
    """

    def __init__(self, members: int, conclude: Callable[[bool], bool]) -> None:
        self.verdict = False
        self._members, self._conclude = members, conclude
        self._said: list[bool] = []
        self._signal = ClockSignal()

    def join(self, now: float, *, says: bool) -> ClockSignal:
        """Come; the signal is the coming of the last one, at which ``conclude`` gives the verdict."""
        self._said.append(says)
        signal = self._signal
        if len(self._said) == self._members:
            self.verdict = self._conclude(any(self._said))
            self._said, self._signal = [], ClockSignal()
            signal.set(now)
        return signal
