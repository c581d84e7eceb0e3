"""Gaps of a device by what they are due to: calls that cover them in time, their place in the step."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from ingest.profiles.facts.host_spans import LEAST_US, OPERATOR, STEP, HostSpans
from ingest.profiles.facts.kernels import Floats, Integers, Kernels, Mask
from ingest.profiles.facts.run import Rank
from ingest.profiles.facts.stretches import overlap_us, union
from recommender.diagnosis.ledger.reasons import (
    AFTER,
    BEFORE,
    HOST,
    LAUNCH,
    QUEUED,
    STOPS,
    SWITCHES,
    UNSEEN_HOST,
)
from recommender.diagnosis.rank.host_calls import (
    CALLED,
    LAUNCHES,
    LOADS,
    LONGEST_LAUNCH_US,
    RUNTIME,
    SYNCHRONISING,
    USUAL_LAUNCH_US,
    WAITS,
    calls_of,
    is_copy,
    launch_us,
    outermost,
    reason_of,
    spent_us,
    total_us,
)
from recommender.diagnosis.rank.program_signs import launches_block
from recommender.diagnosis.rank.view import LONG_GAP_US

LEAST_STEPS = 4
"""Steps from which on what comes in every step is told from what does not: quarters of them."""
RECURS = 2.0
"""Times of the lower quarter of steps that a wait of every step takes at most. Assumed."""
ALONE, APART = 0.8, 4.0
"""Part of a step's stops that one makes, and times of the usual longest stop that it lasts. Assumed."""
SWITCH_US, NEAR_SWITCH = 5000.0, 0.08
"""Python's interval between switches of threads (``sys.getswitchinterval``), and part of it by which a gap
may differ: what else the host does around it. The second assumed."""
LEAST_SWITCHES, ANYHOW = 8, 0.3
"""Gaps of that length from which they are no chance, and least spread of what lies between them over its
mean. Assumed; chance has one gap of six near."""
LATE_US = 5.0
"""A gap that is longer is no switch between two kernels: a launch takes some 5 µs at least."""
CLOSE = 64
"""Launches between two waits for which the host never gets ahead: those of a layer or two. Assumed."""
SLOW_LAUNCHES = 2.0
"""Gap behind a launch in launches of mean length: the next one begins when the one before has returned."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Gaps:
    """The g stretches in which a device has nothing to do.

    Attributes:
        start_ns: When each begins, shape (g,).
        length_us: How long it is, shape (g,).
        step: Number of the step that it lies in, shape (g,).
        place: -1 before the first work of its step, 1 behind the last, 0 between; shape (g,).
        queued_us: Its end in which the next work was launched already, as far as that is known, shape (g,).
    """

    start_ns: Integers
    length_us: Floats
    step: Integers
    place: Integers
    queued_us: Floats

    def where(self, mask: Mask) -> Gaps:
        """Gaps that a mask selects."""
        return Gaps(
            start_ns=self.start_ns[mask],
            length_us=self.length_us[mask],
            step=self.step[mask],
            place=self.place[mask],
            queued_us=self.queued_us[mask],
        )


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
    held = np.where(gaps.queued_us > LONG_GAP_US, gaps.queued_us, 0.0)  # no host can end it
    queued = _by_step(gaps, held, steps)
    gaps = replace(gaps, length_us=gaps.length_us - held)
    short = gaps.length_us <= max(LONG_GAP_US, SLOW_LAUNCHES * launch_us(rank.calls))
    short &= gaps.place == 0
    long = gaps.where(~short)
    spans = rank.details.spans
    if spans is not None and any(level in RUNTIME for level, _ in spans.names):
        times = _covered(long, spans)
    else:
        times = _told_by_sums(long, rank, steps, most_waits_us)
    rest = times.pop(HOST)
    stops = np.where(_stops(long, rest, steps), rest, 0.0)
    times[STOPS], rest = stops, rest - stops
    switches = np.where(_switches(long, rest), rest, 0.0)
    times[SWITCHES], rest = switches, _by_step(long, rest - switches, steps)
    found = {reason: _by_step(long, us, steps) for reason, us in times.items()}
    brief = gaps.where(short)
    held = (
        np.zeros(len(brief.length_us))
        if spans is None
        else np.where(_held_up(brief, spans), brief.length_us, 0)
    )
    if rank.kernels is not None and launches_block(rank.kernels):
        held = brief.length_us
    if held.any():
        found[WAITS] = found.get(WAITS, 0.0) + _by_step(brief, held, steps)
    launching = found.get(LAUNCH, 0.0) + _by_step(brief, brief.length_us - held, steps)
    # What a launch takes beyond a usual one is the host's: no fewer kernels would end it.
    found[LAUNCH] = launching * min(1.0, USUAL_LAUNCH_US / max(launch_us(rank.calls), 1e-9))
    rest = rest + launching - found[LAUNCH]
    has_runtime = any(call.level in RUNTIME for call in rank.calls)
    found[HOST if has_runtime else UNSEEN_HOST] = rest
    if spans is not None and len(spans.launches_ns):
        late = np.where(gaps.length_us > LATE_US, gaps.length_us, 0.0)
        _charge_stalls(found, spans, _by_step(gaps, late, steps))
    found[QUEUED] = queued
    return {reason: us for reason, us in found.items() if us.any()}


def queued_us(start_ns: Integers, length_us: Floats, kernels: Kernels) -> Floats:
    """The end of each gap in which the work behind it was launched and the call had returned, shape (g,)."""
    queued, call = kernels.numbers["queued_us"], kernels.numbers["call_us"]
    if not np.isfinite(queued).any():
        return np.zeros(len(start_ns))
    order = np.argsort(kernels.start_ns, kind="stable")
    end = start_ns + np.rint(length_us * 1e3).astype(np.int64)
    at = np.minimum(np.searchsorted(kernels.start_ns[order], end - NEAR_NS), len(order) - 1)
    row = order[at]
    is_next = np.abs(kernels.start_ns[row] - end) <= NEAR_NS
    waited = np.where(is_next, np.nan_to_num(queued[row] - call[row]), 0.0)
    return np.clip(waited, 0.0, length_us)


NEAR_NS = 1000
"""Rounding of times, twice that of a trace in whole microseconds."""


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
    is_first = has_mark | (gaps.place < 0) | (np.searchsorted(loads, begin) < np.searchsorted(loads, end))
    if len(marks) and len(spans.launches_ns):  # the device was still at work for the step before at the mark
        begun = np.append(marks, 0)[np.searchsorted(marks, begin, side="right") - 1]
        first = np.append(spans.launches_ns, 0)[np.searchsorted(spans.launches_ns, begun)]
        is_first |= (first > begin) & (first < end) & (begun <= begin)
    before_mark = (at - begin) / 1e3 - overlap_us(begin, at, *taken)
    found[AFTER] = np.where(gaps.place > 0, rest, np.where(has_mark, np.clip(before_mark, 0.0, rest), 0.0))
    found[BEFORE] = np.where(is_first, rest - found[AFTER], 0.0)
    rest = np.where(is_first | (gaps.place > 0), 0.0, rest)
    waits = spans.of(lambda level, name: reason_of(level, name) == WAITS)
    longest_us = (waits[1] - waits[0]).max(initial=0) / 1e3
    behind = (_behind(begin, *waits) & (rest <= longest_us)) | _held_up(gaps, spans)
    found[WAITS] = found[WAITS] + np.where(behind, rest, 0.0)
    rest = np.where(behind, 0.0, rest)
    launches = spans.of(
        lambda level, name: level == OPERATOR or (level in RUNTIME and any(part in name for part in LAUNCHES))
    )
    launching = overlap_us(begin, end, *union(*launches)) >= rest / 2
    count = np.searchsorted(launches[0], end) - np.searchsorted(np.sort(launches[1]), begin, side="right")
    # No launch takes longer: in an operator that does the host was held up, by another thread or program.
    found[LAUNCH] = np.where(launching, np.minimum(rest, count * LONGEST_LAUNCH_US), 0.0)
    found[HOST] = rest - found[LAUNCH]
    return found


def _behind(begin: Integers, start: Integers, end: Integers) -> Mask:
    """Gaps that begin when a call of some returns, shape of ``begin``: the host could not run ahead."""
    if not len(start):
        return np.zeros(len(begin), np.bool_)
    near = round(LEAST_US * 1e3)
    last = np.searchsorted(start, begin + near, side="right") - 1
    reaches = np.maximum.accumulate(end)[np.maximum(last, 0)]
    return np.asarray((last >= 0) & (reaches >= begin - near), np.bool_)


def _charge_stalls(found: dict[str, Floats], spans: HostSpans, late_us: Floats) -> None:
    """Charge what stops the host with the gaps behind launches that would be none if it had run ahead.

    A host that loses time before its first launch hands over the whole step late: launches then come one by
    one to a device that has nothing left, though they take no longer than the work does. Without the stop
    the host is earlier by its length: so much of these gaps is due to it, and no more.
    """
    marks = sorted(
        set(zip(*(ends.tolist() for ends in spans.of(lambda level, _: level == STEP)), strict=True))
    )
    if len(marks) != len(late_us):
        return
    start, end = np.array(marks, np.int64).T
    first = np.append(spans.launches_ns, 0)[np.searchsorted(spans.launches_ns, start)]
    first = np.clip(first, start, end)
    stops = {BEFORE: (first - start) / 1e3}
    taken = spans.of(lambda level, name: level == OPERATOR or bool(reason_of(level, name)))
    stops[BEFORE] -= overlap_us(start, first, *union(*taken))
    for reason in CALLED[:-1]:
        mine = spans.of(lambda level, name, reason=reason: reason_of(level, name) == reason)  # type: ignore[misc]  # bound now
        stops[reason] = overlap_us(start, end, *union(*mine))
    more = {reason: np.maximum(0.0, us - found.get(reason, 0.0)) for reason, us in stops.items()}
    total = sum(more.values())
    late = np.minimum(found[LAUNCH], late_us)
    part = np.minimum(1.0, np.divide(late, total, out=np.zeros(len(start)), where=total > 0))
    for reason, us in more.items():
        found[reason] = found.get(reason, 0.0) + us * part
    found[LAUNCH] = found[LAUNCH] - total * part


def _held_up(gaps: Gaps, spans: HostSpans) -> Mask:
    """Gaps between waits of a step so close that the host cannot run ahead between them, shape (g,)."""
    start, end = spans.of(
        lambda level, name: level in RUNTIME and any(part in name for part in SYNCHRONISING)
    )
    if len(start) < 2 or not len(spans.launches_ns):
        return np.zeros(len(gaps.start_ns), np.bool_)
    last = np.searchsorted(end, gaps.start_ns + np.rint(gaps.length_us * 1e3).astype(np.int64)) - 1
    marks = np.sort(spans.of(lambda level, _: level == STEP)[0])
    launches, ends = (
        np.searchsorted(times, start[1:]) - np.searchsorted(times, end[:-1])
        for times in (spans.launches_ns, marks)
    )
    is_close = np.append((launches <= CLOSE) & (ends == 0), [False, False])  # nor at either end
    return np.asarray(is_close[last] & (gaps.place == 0), np.bool_)


def _stops(gaps: Gaps, us: Floats, steps: int) -> Mask:
    """Gaps that are a single long stop of the host in a few steps that lie anyhow, shape (g,).

    So does a collection of garbage: it comes when so many objects were made, wherever the program is then.
    """
    longest = np.zeros(steps)
    np.maximum.at(longest, gaps.step, us)
    is_one = longest >= ALONE * _by_step(gaps, us, steps)
    hit = np.flatnonzero((longest > APART * max(float(np.median(longest)), LONG_GAP_US)) & is_one)
    apart = np.diff(hit)
    least = int(apart.min(initial=steps))
    goes_on = len(apart) > 0 and (hit[0] >= least or hit[-1] + least < steps)
    is_regular = len(set(apart.tolist())) < 2 and not goes_on
    if not 2 <= len(hit) <= steps / 2 or is_regular or least == 1 == int(apart.max()):
        return np.zeros(len(us), np.bool_)
    return np.asarray(np.isin(gaps.step, hit) & (us == longest[gaps.step]), np.bool_)


def _switches(gaps: Gaps, us: Floats) -> Mask:
    """Gaps of one of Python's switch intervals or several, if most of the host's are and lie anyhow, (g,).

    A thread that wants the interpreter asks the one that has it to let go, and waits an interval for it.
    """
    turns = np.rint(us / SWITCH_US)
    near = (turns >= 1) & (np.abs(us / SWITCH_US - turns) <= NEAR_SWITCH * turns)
    begin = np.sort(gaps.start_ns[near])
    apart = np.diff(begin)
    if len(begin) < LEAST_SWITCHES or us[near].sum() < us.sum() / 2 or apart.std() < ANYHOW * apart.mean():
        return np.zeros(len(us), np.bool_)
    return near


def _told_by_sums(gaps: Gaps, rank: Rank, steps: int, most_waits_us: float) -> dict[str, Floats]:
    """Time of each long gap by reason, from the sums of calls, then from its place.

    Calls that wait do so beside running kernels too: they have no more than as many of the longest gaps, and
    of each no more than the longest of them. A copy that blocks may lie anywhere; a wait for the device has
    nothing to wait for before a step's first work or behind its last, and one that every step has takes in
    each about the same.
    """
    left = gaps.length_us.copy()
    found: dict[str, Floats] = {}

    def take(reason: str, most_us: float, each_us: Floats) -> None:
        total = float(each_us.sum())
        part = each_us * min(1.0, most_us / total) if total > 0 else np.zeros(len(left))
        found[reason] = found.get(reason, 0.0) + part
        left[:] -= part

    for reason in CALLED[:-1]:
        take(reason, spent_us(rank.calls, reason), left)
    waits = outermost(calls_of(rank.calls, WAITS))
    copies = [call for call in waits if is_copy(call)]
    for calls, places in ((copies, (-1, 0, 1)), ([call for call in waits if call not in copies], (0,))):
        count = sum(call.count for call in calls)
        longest = max((math.inf if call.max_us is None else call.max_us for call in calls), default=0.0)
        each = np.where(np.isin(gaps.place, places), left, 0.0)
        order = np.argsort(-each, kind="stable")[:count]
        most = np.zeros(len(left))
        most[order] = np.minimum(gaps.length_us[order], longest * max(1.0, count / max(1, len(order))))
        most *= each > 0
        least_us = min(total_us(calls), most_waits_us)
        if calls is not copies and count >= steps >= LEAST_STEPS and most_waits_us == math.inf:
            by_step = _by_step(gaps, most, steps)
            usual = RECURS * float(np.quantile(by_step, 0.25))
            part = np.minimum(1.0, np.divide(usual, by_step, out=np.ones(steps), where=by_step > 0))
            each = np.minimum(each, most * part[gaps.step])
        take(WAITS, min(least_us, float(most.sum())), each)
    for reason, place in ((BEFORE, -1), (AFTER, 1), (HOST, 0)):
        found[reason] = np.where(gaps.place == place, left, 0.0)
    return found
