"""Time of each kernel with every instant counted once: computing first, then communication, copies, gaps.

Where several kernels of one class run at an instant, each has an equal part of it.
"""

from dataclasses import dataclass

import numpy as np

from ingest.profiles.facts.kernels import UNKNOWN_NS, Floats, Integers, Kernels, Mask


@dataclass(frozen=True, slots=True, kw_only=True)
class ShareOfTime:
    """The time of n kernels and of the g gaps between them, microseconds, each instant once.

    Attributes:
        computing_us: Of each compute kernel, shape (n,); 0 for the others.
        exposed_us: Of each kernel of communication while nothing computes, shape (n,).
        copy_us: Of each copy while nothing else runs, shape (n,).
        gap_us: Length of each stretch in which nothing runs, shape (g,).
        gap_ns: When it begins, shape (g,).
        gap_step: Number of the step that each lies in, shape (g,).
        first_ns: When the first work of each step begins, shape (s,).
        last_ns: When its last work ends, shape (s,).
    """

    computing_us: Floats
    exposed_us: Floats
    copy_us: Floats
    gap_us: Floats
    gap_ns: Integers
    gap_step: Integers
    first_ns: Integers
    last_ns: Integers


def share_time(kernels: Kernels, step: Integers) -> ShareOfTime:
    """The time of each kernel and gap within its step.

    A step goes from the begin of its first to the end of its last work that is no copy.

    Args:
        kernels: All kernels of a rank.
        step: Number of the step of each, shape (n,); -1 for kernels outside of all steps.
    """
    n = len(kernels)
    start, end = kernels.start_ns.copy(), kernels.end_ns.copy()
    copies, talks = kernels.is_copy, kernels.is_communication
    usable = (step >= 0) & (start != UNKNOWN_NS) & (end > start)
    count = int(step.max(initial=-1)) + 1
    works = usable & ~copies
    first, last = np.full(count, np.iinfo(np.int64).max), np.full(count, np.iinfo(np.int64).min)
    np.minimum.at(first, step[works], start[works])
    np.maximum.at(last, step[works], end[works])
    has_work = first < last
    usable &= np.append(has_work, False)[step]
    length = np.where(has_work, last - first, 0)
    offset = np.concatenate([[0], np.cumsum(length)])
    which = np.flatnonzero(usable)
    of = step[which]
    # One time line: the steps follow each other without a gap, and what reaches beyond its step is cut.
    start = np.clip(start[which] - first[of], 0, length[of]) + offset[of]
    end = np.clip(end[which] - first[of], 0, length[of]) + offset[of]
    kind = np.where(copies[which], 2, np.where(talks[which], 1, 0))
    zeros = np.zeros(n)
    if not len(which):
        return ShareOfTime(
            computing_us=zeros, exposed_us=zeros, copy_us=zeros, gap_us=zeros[:0], gap_ns=step[:0],
            gap_step=step[:0], first_ns=first, last_ns=last,
        )  # fmt: skip
    at = np.concatenate([start, end])
    order = np.argsort(at, kind="stable")
    place = np.empty(len(order), np.int64)
    place[order] = np.arange(len(order))
    sign = np.where(order < len(which), 1, -1)
    lengths = np.append(np.diff(at[order]), 0)
    idle: Mask = np.ones(len(order), np.bool_)
    shares = []
    for wanted in range(3):
        running = np.cumsum(np.where(kind[order % len(which)] == wanted, sign, 0))
        mine = idle & (running > 0)
        part = np.where(mine, lengths / np.maximum(running, 1), 0.0) / 1e3
        sums = np.concatenate([[0.0], np.cumsum(part)])
        share = zeros.copy()
        own = kind == wanted
        share[which[own]] = (sums[place[len(which) :]] - sums[place[: len(which)]])[own]
        shares.append(share)
        idle = idle & ~mine
    gaps = np.flatnonzero(idle & (lengths > 0))
    begin = at[order][gaps]
    within = np.searchsorted(offset, begin, side="right") - 1
    return ShareOfTime(
        computing_us=shares[0],
        exposed_us=shares[1],
        copy_us=shares[2],
        gap_us=lengths[gaps] / 1e3,
        gap_ns=begin - offset[within] + first[within],
        gap_step=within,
        first_ns=first,
        last_ns=last,
    )
