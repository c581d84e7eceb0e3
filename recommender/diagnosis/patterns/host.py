"""Time in which the device has nothing to do."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ingest.profiles.facts.kernels import UNKNOWN_NS
from ingest.profiles.facts.place import FactPlace
from recommender.diagnosis.evidence import MetricReading, step_evidence
from recommender.diagnosis.rank.repairs import fill_idle_time
from recommender.diagnosis.rank.view import LONG_GAP_US, PLACES, KernelView, exclusive_shares

if TYPE_CHECKING:
    from collections.abc import Iterator

    from recommender.diagnosis.evidence import SoftEvidence
    from recommender.diagnosis.rank.view import View
    from recommender.diagnosis.thresholds import Thresholds


def find(view: View, thresholds: Thresholds) -> Iterator[SoftEvidence]:
    """Evidence of all free time, of the part behind launches, and of the part behind copies."""
    if not view.rank.steps or view.total_us <= 0:
        return
    free = view.step_sum("free_us")
    share = free / view.total_us
    free_shown = float(thresholds.shows("host-bound", "free_share", share))
    underfed = float(thresholds.shows("host-bound", "host_underfeed_share", share))
    yield step_evidence(
        view,
        "host-bound",
        free,
        f"nothing runs on the device for {share:.0%} of the step",
        MetricReading(metric="free_share", value=share, unit="1"),
        tuple(step.place for step in view.rank.steps[:3]),
        shown=max(free_shown, underfed) * (1.0 if _is_reliable(view) else UNSURE),
        fixed=lambda rank: fill_idle_time(rank, free, []),
    )
    yield from _launches(view, free)
    yield from _copies(view)


def _is_reliable(view: View) -> bool:
    """True if free time is of the profiler's own table, or counted where calls were collected too."""
    return not all(step.is_counted for step in view.rank.steps) or bool(view.rank.calls)


UNSURE = 0.5
"""Weight of free time counted from one table alone, which may be an excerpt: it says nothing either way."""


def _launches(view: View, free: float) -> Iterator[SoftEvidence]:
    """Evidence of kernels that end before the next is launched."""
    if not isinstance(view, KernelView):
        return
    kernels = view.kernels
    if len(kernels) < 2 or not (kernels.start_ns != UNKNOWN_NS).any():
        return
    order = np.argsort(kernels.start_ns, kind="stable")
    start, end = kernels.start_ns[order], np.maximum.accumulate(kernels.end_ns[order])
    gap = np.append(np.maximum(0, (start[1:] - end[:-1]) / 1e3), 0.0)
    duration = kernels.duration_us[order]
    late = (gap > duration) & (gap <= LONG_GAP_US)
    lost = min(free, float(gap[late].sum()))
    share = lost / free if free > 0 else 0.0
    yield step_evidence(
        view,
        "kernel-launch-overhead",
        lost,
        f"{share:.0%} of the free time lies in gaps up to {LONG_GAP_US:.0f} µs "
        f"behind {int(late.sum())} kernels "
        f"that are shorter than them (median kernel {float(np.median(duration)):.1f} µs)",
        MetricReading(metric="share of free time behind kernels shorter than it", value=share, unit="1"),
        (FactPlace(kernels.file, tuple(int(kernels.rows[order[i]]) for i in np.flatnonzero(late)[:PLACES])),),
        fixed=lambda rank: fill_idle_time(rank, lost, [], longest_us=LONG_GAP_US),
    )


def _copies(view: View) -> Iterator[SoftEvidence]:
    """Evidence of copies between host and device beside which no kernel runs."""
    kernels = view.rank.kernels
    if kernels is None:
        return
    copies = kernels.is_copy
    if not copies.any():
        return
    bare_us = float((kernels.duration_us * exclusive_shares(kernels))[copies].sum())
    lost = min(bare_us, view.step_sum("free_us"))
    yield step_evidence(
        view,
        "host-to-device-copy",
        lost,
        f"{int(copies.sum())} copies by the copy engine, {bare_us / 1e3:.2f} ms of them beside no kernel",
        MetricReading(metric="copies", value=float(copies.sum()), unit="1"),
        (FactPlace(kernels.file, tuple(int(row) for row in kernels.rows[copies][:PLACES])),),
        fixed=lambda rank: fill_idle_time(rank, lost, []),
    )
