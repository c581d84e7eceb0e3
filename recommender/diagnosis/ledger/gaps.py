"""Gaps of a device by what they are due to: calls that cover them in time, their place in the step."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ingest.profiles.facts.host_spans import LEAST_US, STEP
from ingest.profiles.facts.stretches import overlap_us, union
from recommender.diagnosis.ledger.reasons import AFTER, BEFORE, HOST, LAUNCH, UNSEEN_HOST
from recommender.diagnosis.rank.host_calls import (
    CALLED,
    LAUNCHES,
    LOADS,
    RUNTIME,
    WAITS,
    calls_of,
    launch_us,
    outermost,
    reason_of,
    spent_us,
)
from recommender.diagnosis.rank.view import LONG_GAP_US

if TYPE_CHECKING:
    from ingest.profiles.facts.host_spans import HostSpans
    from ingest.profiles.facts.kernels import Floats, Integers, Mask
    from ingest.profiles.facts.run import Rank

SLOW_LAUNCHES = 2.0
"""Gap behind a launch in launches of mean length: the next one begins when the one before has returned."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Gaps:
    """The g stretches in which a device has nothing to do.

    Attributes:
        start_ns: When each begins, shape (g,).
        length_us: How long it is, shape (g,).
        step: Number of the step that it lies in, shape (g,).
        leads: It lies before the first work of its step, shape (g,).
    """

    start_ns: Integers
    length_us: Floats
    step: Integers
    leads: Mask


def times_of_gaps(gaps: Gaps, rank: Rank, steps: int, most_waits_us: float = math.inf) -> dict[str, Floats]:
    """The time of gaps by reason and step, microseconds, each shape (steps,).

    Where calls have times, a call has the part of a gap that it covers. Where they are known by their sums, a
    kind of call has no more than its sum, taken from long gaps alike; that says what they can explain.

    Args:
        gaps: The gaps.
        rank: What the host did.
        steps: Number of steps.
        most_waits_us: Most that synchronising calls known by their sums have.
    """
    short = gaps.length_us <= max(LONG_GAP_US, SLOW_LAUNCHES * launch_us(rank.calls))
    found = {LAUNCH: _by_step(gaps, np.where(short, gaps.length_us, 0.0), steps)}
    long = Gaps(
        start_ns=gaps.start_ns[~short],
        length_us=gaps.length_us[~short],
        step=gaps.step[~short],
        leads=gaps.leads[~short],
    )
    spans = rank.details.spans
    if spans is not None and any(level in RUNTIME for level, _ in spans.names):
        for reason, us in _covered(long, spans).items():
            found[reason] = found.get(reason, 0.0) + _by_step(long, us, steps)
    else:
        all_us = _by_step(long, long.length_us, steps)
        total = float(all_us.sum())
        for reason, part in _explained(long.length_us, rank, most_waits_us).items():
            found[reason] = all_us * (part / total if total > 0 else 0.0)
    return {reason: us for reason, us in found.items() if us.any()}


def _by_step(gaps: Gaps, us: Floats, steps: int) -> Floats:
    return np.asarray(np.bincount(gaps.step, weights=us, minlength=steps), dtype=np.float64)


def _covered(gaps: Gaps, spans: HostSpans) -> dict[str, Floats]:
    """Time of each long gap by reason: what calls cover, the surest first, then what its place says."""
    begin = gaps.start_ns
    end = begin + np.rint(gaps.length_us * 1e3).astype(np.int64)
    taken = (begin[:0], begin[:0])
    told = np.zeros(len(begin))
    found: dict[str, Floats] = {}
    for reason in CALLED:
        mine = spans.of(lambda level, name, reason=reason: reason_of(level, name) == reason)  # type: ignore[misc]  # bound now
        taken = union(*(np.concatenate(pair) for pair in zip(taken, mine, strict=True)))
        both = overlap_us(begin, end, *taken)
        found[reason], told = both - told, both
    rest = np.maximum(0.0, gaps.length_us - told)
    marks = np.sort(spans.of(lambda level, _: level == STEP)[0])
    loads = spans.of(lambda level, name: reason_of(level, name) == LOADS)[0]
    place = np.searchsorted(marks, begin, side="left")
    has_mark = np.append(marks, np.iinfo(np.int64).max)[place] < end
    at = np.where(has_mark, np.append(marks, 0)[place], begin)
    is_first = has_mark | gaps.leads | (np.searchsorted(loads, begin) < np.searchsorted(loads, end))
    before_mark = (at - begin) / 1e3 - overlap_us(begin, at, *taken)
    found[AFTER] = np.where(has_mark, np.clip(before_mark, 0.0, rest), 0.0)
    found[BEFORE] = np.where(is_first, rest - found[AFTER], 0.0)
    rest = np.where(is_first, 0.0, rest)
    waits = spans.of(lambda level, name: reason_of(level, name) == WAITS)
    longest_us = (waits[1] - waits[0]).max(initial=0) / 1e3
    behind = _behind(begin, *waits) & (rest <= longest_us)
    found[WAITS] = found[WAITS] + np.where(behind, rest, 0.0)
    rest = np.where(behind, 0.0, rest)
    launches = spans.of(lambda level, name: level in RUNTIME and any(part in name for part in LAUNCHES))
    launching = overlap_us(begin, end, *union(*launches)) >= rest / 2
    found[LAUNCH] = np.where(launching, rest, 0.0)
    found[HOST] = np.where(launching, 0.0, rest)
    return found


def _behind(begin: Integers, start: Integers, end: Integers) -> Mask:
    """Gaps that begin when a call of some returns, shape of ``begin``: the host could not run ahead."""
    if not len(start):
        return np.zeros(len(begin), np.bool_)
    near = round(LEAST_US * 1e3)
    last = np.searchsorted(start, begin + near, side="right") - 1
    reaches = np.maximum.accumulate(end)[np.maximum(last, 0)]
    return np.asarray((last >= 0) & (reaches >= begin - near), np.bool_)


def _explained(lengths_us: Floats, rank: Rank, most_waits_us: float) -> dict[str, float]:
    """Time of long gaps by reason, from the sums of calls.

    Synchronising calls also wait beside running kernels: they have no more than as many of the longest gaps,
    and of each no more than the longest call.
    """
    left = float(lengths_us.sum())
    found: dict[str, float] = {}
    for reason in CALLED:
        most = spent_us(rank.calls, reason)
        if reason == WAITS:
            waits = outermost(calls_of(rank.calls, WAITS))
            longest = max((math.inf if call.max_us is None else call.max_us for call in waits), default=0.0)
            covered = np.minimum(np.sort(lengths_us)[::-1][: sum(call.count for call in waits)], longest)
            most = min(most, most_waits_us, float(covered.sum()))
        found[reason] = min(most, left)
        left -= found[reason]
    has_runtime = any(call.level in RUNTIME for call in rank.calls)
    found[HOST if has_runtime else UNSEEN_HOST] = left
    return found
