"""The clock of the cores: what counters and samples tell of it, and what it costs where it falls."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from recommender.diagnosis.evidence import MetricReading, of_kernels
from recommender.diagnosis.rank.repairs import steady
from recommender.diagnosis.rank.view import LEAST_US

if TYPE_CHECKING:
    from collections.abc import Iterator

    from recommender.diagnosis.evidence import SoftEvidence
    from recommender.diagnosis.rank.view import Floats, View
    from recommender.diagnosis.thresholds import Thresholds


def clocks(view: View) -> Floats:
    """Clock of each compute kernel, MHz: cycles by time and cores.

    nan where blocks go in several rounds or may, since nothing tells how many cores there are.
    """
    kernels = view.kernels
    if kernels is None:
        return np.zeros(0)
    blocks = kernels.numbers["blocks"]
    found = np.full(len(kernels), np.nan)
    core = kernels.texts["core"]
    unsaid = {"MIX_AIV"}  # its vector cores are twice its blocks, or not: the tool does not say
    for cycles, time, width in (
        ("aic_total_cycles", "aicore_time(us)", 1),
        ("aiv_total_cycles", "aiv_time(us)", 2),
    ):
        spent = kernels.pipe(time)
        usable = np.isnan(found) & (np.nan_to_num(spent) > LEAST_US)
        usable &= (blocks > 0) & (blocks <= width * view.cores)
        usable &= ~core.where(label in unsaid for label in core.labels)
        with np.errstate(divide="ignore", invalid="ignore"):
            clock = kernels.pipe(cycles) / spent / blocks
        found[usable] = clock[usable]
        unsaid = {"MIX_AIV", "MIX_AIC"}  # of the latter the blocks are those of its cube cores
    return found


def highest_mhz(view: View) -> float:
    """The highest clock that counters or samples of a rank show, but for outliers; 0 if nothing tells."""
    clock = clocks(view)
    sampled = max((mhz for _, mhz in view.rank.frequency_mhz), default=0.0)
    return max(sampled, float(np.nanpercentile(clock, 95)) if np.isfinite(clock).any() else 0.0)


def find(view: View, thresholds: Thresholds) -> Iterator[SoftEvidence]:
    """What kernels lose to a clock below its highest."""
    kernels = view.kernels
    if kernels is None or not len(kernels) or view.total_us <= 0:
        return
    own = kernels.duration_us * view.alone
    clock = clocks(view)
    samples = np.array([mhz for _, mhz in view.rank.frequency_mhz if mhz > 0])
    if len(samples) >= 2:
        top = samples.max()
    elif np.isfinite(clock).any():
        top = float(np.nanpercentile(clock, 95))
    else:
        return
    top = max(top, view.peer_mhz)
    if top <= 0:
        return
    if np.isfinite(clock).any():
        top = max(top, float(np.nanpercentile(clock, 95)))
        drop = np.clip(1 - clock / top, 0, 1)
        drop = np.where(
            np.isnan(drop), np.nan_to_num(np.nanmean(drop)), drop
        )  # the others ran on the same clock
    else:
        drop = np.full(len(own), float(np.clip(1 - samples.mean() / top, 0, 1)))
    shown = thresholds.shows("frequency-drop", "aicore_frequency_drop_share", drop)
    lost = shown * own * drop
    whole = float(np.nansum(own))
    mean = float(np.nansum(drop * own)) / whole if whole else 0.0
    yield of_kernels(
        view,
        "frequency-drop",
        lost,
        f"the clock of the cores is {mean:.0%} below its highest ({top:.0f} MHz) on average",
        MetricReading(metric="aicore_frequency_drop_share", value=mean, unit="1"),
        fixed=lambda rank: steady(rank, lost),
    )
