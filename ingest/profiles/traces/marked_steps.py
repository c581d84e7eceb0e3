"""Steps of a trace of a GPU: ranges of the host, and the kernels that belong to each.

A host that runs ahead marks its next step while the device still works at the one before: on the device a
step begins when what was launched before its mark is done. That is told by the number that a launch and its
kernel share (``correlation``); where it was not recorded, a kernel is of the step in whose mark it began.
"""

from array import array
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise

import numpy as np

from ingest.profiles.facts.kernels import UNKNOWN_NS, Floats, Integers, Kernels, Mask, TextColumn
from ingest.profiles.facts.stretches import jump_us, union

Step = tuple[int, int, str]
"""Begin, end (nanoseconds) and name of a step on the host."""
SHORTER = 0.05
"""Part of a mark that its work falls short of from which it is said: the share of a significant cause."""
_NONE = -1
_LOOKED_BACK = 64
"""Kernels of other streams that are looked at before the first of a step."""
_LARGEST = 1 << 62
_EARLIEST = -_LARGEST


class Launches:
    """Launch times of kernels, by the number that a call of the runtime and its kernel share."""

    def __init__(self) -> None:
        self._calls, self._times = array("q"), array("q")
        self._lasted, self._kernels = array("f"), array("q")

    def take_call(self, number: object, at_ns: int | None, lasted_us: float) -> None:
        """Take a call of the runtime."""
        if isinstance(number, int) and 0 <= number < _LARGEST and at_ns is not None:
            self._calls.append(number)
            self._times.append(at_ns)
            self._lasted.append(lasted_us)

    def take_kernel(self, number: object) -> None:
        """Take the next kernel or copy."""
        is_number = isinstance(number, int) and 0 <= number < _LARGEST
        self._kernels.append(number if is_number else _NONE)  # type: ignore[arg-type]  # an int then

    def times(self, count: int) -> tuple[Integers, Floats]:
        """When ``count`` kernels were launched, and how long that call took, microseconds.

        ``UNKNOWN_NS`` and nan where that was not recorded.
        """
        found, lasted = np.full(count, UNKNOWN_NS, np.int64), np.full(count, np.nan)
        if len(self._kernels) != count or not self._calls or not count:
            return found, lasted
        calls, times = np.frombuffer(self._calls, np.int64), np.frombuffer(self._times, np.int64)
        kernels = np.frombuffer(self._kernels, np.int64)
        order = np.argsort(calls, kind="stable")
        place = order[np.minimum(np.searchsorted(calls[order], kernels), len(order) - 1)]
        known = calls[place] == kernels
        found[known] = times[place[known]]
        lasted[known] = np.frombuffer(self._lasted, np.float32)[place[known]]
        return found, lasted


def with_launches(kernels: Kernels, launched_ns: Integers, lasted_us: Floats) -> Kernels:
    """Kernels with the time that each waited since its launch began, and what the launch took."""
    known = (launched_ns != UNKNOWN_NS) & (kernels.start_ns != UNKNOWN_NS)
    queued = np.where(known, (kernels.start_ns - np.where(known, launched_ns, 0)) / 1e3, np.nan)
    return kernels.with_values(queued_us=queued, call_us=np.where(known, lasted_us, np.nan))


LEAST_UPDATES = 4
"""Updates of an optimiser from which on what lies between them are steps: three are compared. Assumed."""


def steps_of_updates(updates: Sequence[Step]) -> list[Step]:
    """The steps of a program that marks none: each ends with an update of its optimiser.

    Of several optimisers the one that updates least often tells; what lies before its first update is none.
    """
    of_name: dict[str, list[Step]] = {}
    for item in sorted(updates):
        of_name.setdefault(item[2], []).append(item)
    least = min(of_name.values(), key=len, default=[])
    if len(least) < LEAST_UPDATES:
        return []
    return [(before[1], now[1], str(at)) for at, (before, now) in enumerate(pairwise(least), 1)]


def with_steps(kernels: Kernels, marks: Sequence[Step], launched: Integers) -> Kernels:
    """Kernels with their step; before the first and behind the last one there is none.

    Args:
        kernels: All n kernels and copies.
        marks: Steps of the host.
        launched: When each kernel was launched, shape (n,).
    """
    if not marks:
        return kernels
    steps = sorted(set(marks))
    marked = np.array([start for start, _, _ in steps] + [max(end for _, end, _ in steps)], np.int64)
    reached = _reached(kernels, launched, marked)
    if reached is None:
        codes = np.searchsorted(marked[:-1], kernels.start_ns, side="right").astype(np.int32)
        codes[_after_the_last(kernels, int(marked[-1]))] = 0
    else:
        codes = np.searchsorted(reached, kernels.start_ns, side="right").astype(np.int32)
        codes[codes > len(steps)] = 0
    labels = ("", *(name for _, _, name in steps))
    return replace(kernels, texts={**kernels.texts, "step": TextColumn(codes, labels)})


def _reached(kernels: Kernels, launched: Integers, marked: Integers) -> Integers | None:
    """Times at which the device had done all work launched before each moment; None if that is not known.

    The stream of most work tells: its kernels run in the order of their launches, and the first that was
    launched behind the moment waits for what the step before needs. What ends later on another stream runs
    ahead, or beside it. Where the device waits for the host, it is the moment itself.

    Args:
        kernels: All n kernels and copies.
        launched: When each was launched, shape (n,).
        marked: Moments in order, shape (k,).
    """
    timed = np.flatnonzero((kernels.start_ns != UNKNOWN_NS) & ~kernels.is_copy)
    known = timed[launched[timed] != UNKNOWN_NS]
    if not len(known):
        return None
    stream = kernels.texts["stream"]
    work = np.bincount(stream.codes[known], weights=kernels.duration_us[known], minlength=len(stream.labels))
    main = known[stream.codes[known] == int(work.argmax())]
    main = main[np.argsort(kernels.start_ns[main], kind="stable")]
    latest = np.maximum.accumulate(launched[main])
    by_end = timed[np.argsort(kernels.end_ns[timed], kind="stable")]
    ends = kernels.end_ns[by_end]
    by_launch = known[np.argsort(launched[known], kind="stable")]
    done = np.maximum.accumulate(kernels.end_ns[by_launch])
    times = launched[by_launch]
    found = marked.copy()
    for place, moment in enumerate(marked):
        first = int(np.searchsorted(latest, moment, side="left"))
        if first == len(main):  # nothing comes behind it
            until = done[int(np.searchsorted(times, moment, side="left")) - 1]
        else:
            until = kernels.start_ns[main[first]]
        at = int(np.searchsorted(ends, until, side="right"))
        for _ in range(_LOOKED_BACK):
            if at == 0 or launched[by_end[at - 1]] == UNKNOWN_NS or launched[by_end[at - 1]] < moment:
                break
            at -= 1  # of the step that begins, and done before its first work on that stream
        if at > 0:
            found[place] = max(int(moment), int(ends[at - 1]))
    reached: Integers = np.maximum.accumulate(found)
    return reached


def notes_on(kernels: Kernels | None, marks: Sequence[Step]) -> list[str]:
    """Notes on steps within steps, and on marks that begin before the first work or end after the last."""
    steps = sorted(set(marks))
    found = []
    within = sum(later[0] < earlier[1] - 1000 for earlier, later in pairwise(steps))  # clocks round by a µs
    if within:
        found.append(f"steps that begin within another: {within}; kernels are of the later one")
    if kernels is None:
        return found
    if paused_us := jump_us(kernels.start_ns, kernels.end_ns):
        found.append(f"the clock jumped, or the recording paused, for {paused_us / 1e6:.0f} s: left out")
    column = kernels.texts["step"]
    rows = np.flatnonzero(~kernels.is_copy & (kernels.start_ns != UNKNOWN_NS) & (column.codes > 0))
    if not len(rows):
        return found
    first, last = rows[kernels.start_ns[rows].argmin()], rows[kernels.end_ns[rows].argmax()]
    start, end, name = steps[int(column.codes[first]) - 1]
    begin = int(kernels.start_ns[first])
    before = kernels.end_ns[
        (column.codes == 0) & (kernels.start_ns != UNKNOWN_NS) & (kernels.start_ns < begin)
    ]
    lead_us = (begin - max(start, int(before.max(initial=_EARLIEST)))) / 1e3
    if lead_us > SHORTER * (end - start) / 1e3:
        found.append(
            f"step {name} counts from its first work on the device; "
            f"its mark begins {lead_us / 1e3:.2f} ms earlier"
        )
    start, end, name = steps[int(column.codes[last]) - 1]
    tail_us = (end - int(kernels.end_ns[last])) / 1e3
    if tail_us > SHORTER * (end - start) / 1e3:
        found.append(
            f"step {name} counts to its last work on the device; its mark ends {tail_us / 1e3:.2f} ms later"
        )
    return found


def _after_the_last(kernels: Kernels, end_ns: int) -> Mask:
    """Kernels that are no more of the last step, shape (n,), where nobody recorded their launches.

    When the host has ended a step, kernels that it launched may still run. They follow each other: behind a
    gap longer than any within the steps comes other work.
    """
    busy_from, busy_to = union(kernels.start_ns, kernels.end_ns)
    if len(busy_from) < 2:
        return np.zeros(len(kernels), np.bool_)
    idle = busy_from[1:] - busy_to[:-1]
    is_late = busy_from[1:] > end_ns
    longest = idle[~is_late].max(initial=0)
    breaks = np.flatnonzero(is_late & (idle > longest))
    return kernels.start_ns >= busy_from[breaks[0] + 1] if len(breaks) else np.zeros(len(kernels), np.bool_)
