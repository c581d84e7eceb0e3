"""Stretches of time: kernels of parallel streams overlap, so their union counts and not their sum."""

import numpy as np

from ingest.profiles.facts.kernels import UNKNOWN_NS, Floats, Integers

JUMP = 1000.0
"""Gap over all other time of a step from which the clock has jumped, or the recording paused. Assumed."""


def jump_us(start_ns: Integers, end_ns: Integers) -> float:
    """Length of the gap between intervals that is no time of theirs, for the clock jumped; 0 without one."""
    start, end = union(start_ns, end_ns)
    if len(start) < 2:
        return 0.0
    longest = int((start[1:] - end[:-1]).max())
    return longest / 1e3 if longest > JUMP * (int(end[-1] - start[0]) - longest) else 0.0


def union(start_ns: Integers, end_ns: Integers) -> tuple[Integers, Integers]:
    """Begin and end of each stretch that the intervals cover, in order."""
    keep = (end_ns > start_ns) & (start_ns != UNKNOWN_NS)
    start, end = start_ns[keep], end_ns[keep]
    if not len(start):
        return start, end
    if np.any(start[1:] < start[:-1]):
        order = np.argsort(start, kind="stable")
        start, end = start[order], end[order]
    end = np.maximum.accumulate(end)
    is_new = np.append(True, start[1:] > end[:-1])
    return start[is_new], end[np.append(np.flatnonzero(is_new)[1:] - 1, len(end) - 1)]


def length_us(start_ns: Integers, end_ns: Integers) -> float:
    """Length of the union of the intervals, microseconds."""
    start, end = union(start_ns, end_ns)
    return float((end - start).sum()) / 1e3


def overlap_us(start_ns: Integers, end_ns: Integers, from_ns: Integers, to_ns: Integers) -> Floats:
    """Time that each of some intervals shares with a union of others, microseconds, shape of ``start_ns``.

    Args:
        start_ns: Begin of each interval.
        end_ns: Its end.
        from_ns: Begin of each stretch of the union, in order.
        to_ns: Its end.
    """
    if not len(from_ns):
        return np.zeros(len(start_ns))
    before = np.concatenate([[0], np.cumsum(to_ns - from_ns)])

    def covered(at: Integers) -> Integers:
        place = np.searchsorted(from_ns, at, side="right")
        last = np.maximum(place - 1, 0)
        over = np.where(place > 0, np.maximum(0, to_ns[last] - at), 0)
        return np.asarray(before[place] - over, np.int64)

    return np.asarray((covered(end_ns) - covered(start_ns)) / 1e3, np.float64)
