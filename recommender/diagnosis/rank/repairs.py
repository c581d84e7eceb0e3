"""Repairs of a rank: its facts with shorter kernels, less idle time or less communication.

A repair changes the facts and nothing else; its effect shows when they are analysed again.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from ingest.profiles.facts.intervals import gaps
from ingest.profiles.facts.kernels import UNKNOWN_NS
from recommender.diagnosis.rank.collectives import LOCAL, idle_us, moving_us
from recommender.diagnosis.rank.units import BUSY, CUBE, VECTOR

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ingest.profiles.facts.kernels import Floats, Integers
    from ingest.profiles.facts.run import Call, Collective, Rank, StepTime


def shorten_kernels(rank: Rank, lost_us: Floats, *, is_relieved: bool = False) -> Rank:
    """The rank's facts with its compute kernels shorter by ``lost_us``, and the step by all of it.

    Args:
        rank: Its facts.
        lost_us: What each compute kernel loses, shape (n,) of its compute kernels.
        is_relieved: Its busiest pipe is then no busier than the next: ratios of shortened kernels are even.
    """
    kernels = rank.kernels
    if kernels is None:
        return rank
    duration = kernels.duration_us.copy()
    mask = kernels.is_compute
    duration[mask] = np.maximum(0.0, duration[mask] - lost_us)
    fixed = kernels.with_values(duration_us=duration)
    if is_relieved:
        touched = np.zeros(len(kernels), np.bool_)
        touched[mask] = lost_us > 0
        pipes = {name: column.copy() for name, column in kernels.pipes.items()}
        for name, column in pipes.items():
            if name in (*CUBE, *VECTOR):
                column[touched] = np.where(np.nan_to_num(column[touched]) > 0, BUSY, column[touched])
            elif name.endswith("icache_miss_rate"):
                column[touched] = 0.0
        fixed = replace(fixed, pipes=pipes)
    total = float(np.nan_to_num(lost_us).sum())
    return replace(rank, kernels=fixed, steps=tuple(_less(rank, total, "computing_us")))


def _less(rank: Rank, lost_us: float, part: str) -> Iterator[StepTime]:
    total = sum(step.step_us for step in rank.steps)
    for step in rank.steps:
        mine = min(lost_us * step.step_us / total, getattr(step, part)) if total > 0 else 0.0
        yield replace(step, step_us=step.step_us - mine, **{part: getattr(step, part) - mine})


def drop_kernels(rank: Rank, lost: Floats) -> Rank:
    """The facts with compute kernels shorter by the time they lose, without those that lose most of it."""
    fixed = shorten_kernels(rank, lost)
    if fixed.kernels is None:
        return fixed
    kept = np.ones(len(fixed.kernels), np.bool_)
    gone = (
        lost >= 0.5 * np.nan_to_num(rank.kernels.duration_us[rank.kernels.is_compute])
        if rank.kernels
        else lost > 0
    )
    kept[fixed.kernels.is_compute] = ~gone
    return replace(fixed, kernels=fixed.kernels.where(kept))


def steady_clock(rank: Rank, lost: Floats) -> Rank:
    """The facts at a steady clock: kernels shorter, and cycles by time the same for all."""
    fixed = shorten_kernels(rank, lost)
    kernels = fixed.kernels
    if kernels is None:
        return fixed
    pipes = {name: column for name, column in kernels.pipes.items() if not name.endswith("total_cycles")}
    return replace(fixed, kernels=replace(kernels, pipes=pipes), frequency_mhz=())


def fill_idle_time(rank: Rank, saved_us: float, gone: list[Call], *, longest_us: float | None = None) -> Rank:
    """The facts with less free time, without the calls that made it; kernels follow each other closer.

    Args:
        rank: Its facts.
        saved_us: Free time that is gone.
        gone: Calls that are.
        longest_us: Gaps up to this are closed; None to make all shorter alike.
    """
    free = sum(step.free_us for step in rank.steps)
    part = min(1.0, saved_us / free) if free > 0 else 0.0
    steps = tuple(
        replace(step, step_us=step.step_us - part * step.free_us, free_us=(1 - part) * step.free_us)
        for step in rank.steps
    )
    names = {(call.level, call.name) for call in gone}
    calls = tuple(call for call in rank.calls if (call.level, call.name) not in names)
    kernels, details = rank.kernels, rank.details
    if kernels is not None and (kernels.start_ns != UNKNOWN_NS).all() and len(kernels) > 1:
        start, end = gaps(kernels)
        closed = part if longest_us is None else (end - start) <= longest_us * 1e3
        shift = np.concatenate([[0], np.cumsum(((end - start) * closed).astype(np.int64))])

        def earlier(at: Integers) -> Integers:
            return np.asarray(shift[np.searchsorted(end, at, side="right")], np.int64)

        kernels = kernels.with_values(start_ns=kernels.start_ns - earlier(kernels.start_ns))
        if details.spans is not None:
            details = replace(details, spans=details.spans.without(names).moved(earlier))
    return replace(rank, steps=steps, calls=calls, kernels=kernels, details=details)


def hide_communication(
    rank: Rank, saved_us: float, waits: list[Collective], *, transfers: bool = False
) -> Rank:
    """The facts with less exposed communication; the operators in ``waits`` no longer wait."""
    exposed = sum(step.exposed_us for step in rank.steps)
    part = min(1.0, saved_us / exposed) if exposed > 0 else 0.0
    steps = tuple(
        replace(
            step,
            step_us=step.step_us - part * step.exposed_us,
            exposed_us=(1 - part) * step.exposed_us,
            bubble_us=0.0 if waits and any(c.is_p2p for c in waits) else step.bubble_us,
        )
        for step in rank.steps
    )
    names = {item.name for item in waits}
    collectives = tuple(
        replace(item, elapse_ms=moving_us(item) / 1e3, wait_ms=0.0, idle_ms=0.0)
        if item.name in names
        else replace(item, transfers=tuple(replace(t, packets=()) for t in item.transfers))
        if transfers
        else item
        for item in rank.collectives
    )
    return replace(rank, steps=steps, collectives=collectives)


def arrive_earlier(rank: Rank, saved_us: float) -> Rank:
    """The facts of a rank whose peers come earlier: it waits ``saved_us`` less in shared collectives."""
    waited = sum(idle_us(c) for c in rank.collectives if not c.is_p2p)
    left = 1 - min(1.0, saved_us / waited) if waited > 0 else 1.0
    fixed = hide_communication(rank, saved_us if waited > 0 else 0.0, [])
    return replace(
        fixed,
        collectives=tuple(
            item
            if item.is_p2p
            else replace(
                item,
                elapse_ms=(moving_us(item) + left * idle_us(item)) / 1e3,
                wait_ms=left * item.wait_ms,
            )
            for item in fixed.collectives
        ),
    )


def drop_local_copies(rank: Rank, saved_us: float) -> Rank:
    """The facts without copies within the device before a transfer."""
    fixed = hide_communication(rank, saved_us, [])
    return replace(fixed, links=tuple(link for link in rank.links if link.transport != LOCAL))


def even_out_links(rank: Rank, saved_us: float) -> Rank:
    """The facts with every link as fast as the median of its kind."""
    fixed = hide_communication(rank, saved_us, [])
    by_kind: dict[str, list[float]] = {}
    for link in rank.links:
        by_kind.setdefault(link.transport, []).append(link.bandwidth_gb_s)
    return replace(
        fixed,
        links=tuple(
            replace(link, bandwidth_gb_s=float(np.median(by_kind[link.transport]))) for link in rank.links
        ),
    )


def match_peer_rate(rank: Rank, saved_us: float, names: set[str]) -> Rank:
    """The facts with these operators at the rate of their peers: nothing of them is compared any more."""
    fixed = hide_communication(rank, saved_us, [])
    return replace(
        fixed,
        collectives=tuple(
            replace(item, transfers=()) if item.name in names else item for item in fixed.collectives
        ),
    )
