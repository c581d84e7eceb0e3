"""Time in which the device has nothing to do."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import numpy as np

from ingest.profiles.facts.kernels import UNKNOWN_NS
from ingest.profiles.facts.place import FactPlace
from recommender.diagnosis.evidence import MetricReading, step_evidence
from recommender.diagnosis.rank.repairs import fill_idle_time
from recommender.diagnosis.rank.view import LONG_GAP_US, PLACES, KernelView, exclusive_shares

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ingest.profiles.facts.kernels import Kernels, Mask
    from recommender.diagnosis.evidence import SoftEvidence
    from recommender.diagnosis.rank.view import View
    from recommender.diagnosis.thresholds import Thresholds


def find(view: View, thresholds: Thresholds) -> Iterator[SoftEvidence]:
    """Evidence of all free time, of the part behind launches, and of the part behind copies."""
    if not view.rank.steps or view.total_us <= 0:
        return
    free = max(0.0, view.step_sum("free_us") - _copied_within_us(view))
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


_WITHIN = re.compile(r"Memset|Memcpy (?:DtoD|PtoP)")
"""Copies of a GPU that stay on the device, or go to another one, as traces name them."""


def _copied_within_us(view: View) -> float:
    """Time in which the device copies its own data and does nothing else: it is at work, and not idle."""
    kernels = view.rank.kernels
    if kernels is None:
        return 0.0
    within = _within(kernels)
    return float((kernels.duration_us * exclusive_shares(kernels))[within].sum()) if within.any() else 0.0


def _within(kernels: Kernels) -> Mask:
    """Copies that stay on the device or go to another one, shape (n,)."""
    name = kernels.texts["name"]
    return kernels.is_copy & name.where(_WITHIN.match(label) is not None for label in name.labels)


def _copies(view: View) -> Iterator[SoftEvidence]:
    """Evidence of copies beside which no kernel runs: between host and device, and within the device."""
    kernels = view.rank.kernels
    if kernels is None or not kernels.is_copy.any():
        return
    within = _within(kernels)
    bare = kernels.duration_us * exclusive_shares(kernels)
    for node, copies, where in (
        ("host-to-device-copy", kernels.is_copy & ~within, "between host and device"),
        ("memory-copies", within, "within the device"),
    ):
        if not copies.any():
            continue
        bare_us = float(bare[copies].sum())
        lost = min(bare_us, view.step_sum("free_us"))
        yield step_evidence(
            view,
            node,
            lost,
            f"{int(copies.sum())} copies {where}, {bare_us / 1e3:.2f} ms of them beside no kernel",
            MetricReading(metric="copies", value=float(copies.sum()), unit="1"),
            (FactPlace(kernels.file, tuple(int(row) for row in kernels.rows[copies][:PLACES])),),
            fixed=lambda rank, lost=lost: fill_idle_time(rank, lost, []),  # type: ignore[misc]  # bound now
        )
