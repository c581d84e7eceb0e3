"""Transfers that slow down while kernels use the same memory."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from recommender.diagnosis.evidence import MetricReading, step_evidence
from recommender.diagnosis.patterns.packets import LEAST_BYTES, NOMINAL_MB_MS
from recommender.diagnosis.rank.collectives import places
from recommender.diagnosis.rank.view import exclusive_shares

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ingest.profiles.facts.run import Collective
    from recommender.diagnosis.evidence import SoftEvidence
    from recommender.diagnosis.rank.view import View
    from recommender.diagnosis.thresholds import Thresholds

NODE = "bandwidth-contention"
MOSTLY_COVERED = 0.5
"""Share of its time beside kernels from which an operator counts as covered, and below one minus which it
counts as uncovered; between the two it tells nothing."""
ALIKE = 2.0
"""Factor within which two transfers are of one size: their rates can be compared."""


def find(view: View, thresholds: Thresholds) -> Iterator[SoftEvidence]:
    """Evidence of transfers that are slower beside kernels than transfers of their size beside none.

    Where none ran beside no kernel, the nominal rate of a link stands in. Transfers follow one another, so
    one that takes longer beside a kernel delays those behind it: their additional time costs as much as there
    is communication that nothing hides.
    """
    beside = _beside_kernels(view)
    moved = [
        (item, beside[name], t.size_mb, t.size_mb / t.time_ms, t.transport)
        for item in view.rank.collectives
        if (name := item.name.partition("@")[0]) in beside
        for t in item.transfers
        if t.transport in NOMINAL_MB_MS and t.time_ms > 0 and t.size_mb * 1e6 >= LEAST_BYTES
    ]
    if view.total_us <= 0 or not moved:
        return
    lost = 0.0
    slow: list[Collective] = []
    seen: list[tuple[float, float]] = []
    for item, part, size, rate, transport in moved:
        if part < MOSTLY_COVERED:
            continue
        peers = [
            r
            for _, p, s, r, t in moved
            if t == transport and p < 1 - MOSTLY_COVERED and 1 / ALIKE <= s / size <= ALIKE
        ]
        ratio = rate / (float(np.median(peers)) if peers else NOMINAL_MB_MS[transport])
        shown = float(thresholds.shows(NODE, "sdma_bandwidth_ratio", ratio))
        seen.append((ratio, size))
        if shown >= 0.5:
            slow.append(item)
        lost += shown * size / rate * 1e3 * max(0.0, 1 - ratio)
    if not seen:
        return
    lost = min(lost, view.step_sum("exposed_us"))
    ratios, sizes = np.array(seen).T
    mean = float(np.average(ratios, weights=sizes))
    yield step_evidence(
        view,
        NODE,
        lost,
        f"transfers beside kernels go at {mean:.0%} of the rate of transfers beside none; "
        f"{lost / 1e3:.2f} ms of that nothing hides",
        MetricReading(metric="sdma_bandwidth_ratio", value=mean, unit="1"),
        places(slow),
    )


def _beside_kernels(view: View) -> dict[str, float]:
    """Share of the time of each operator of communication in which kernels run beside it.

    A name that comes several times cannot be told apart and is left out.
    """
    kernels = view.rank.kernels
    if kernels is None or not kernels.is_communication.any():
        return {}
    exclusive = exclusive_shares(kernels)
    shares: dict[str, float] = {}
    twice: set[str] = set()
    for row in np.flatnonzero(kernels.is_communication):
        name = kernels.text("name", int(row)).partition("@")[0]
        if name in shares:
            twice.add(name)
        shares[name] = float(1 - exclusive[row])
    return {name: value for name, value in shares.items() if name not in twice}
