"""The clock of the cores, from counters and samples, and the time lost where it falls."""

from collections.abc import Iterator

import numpy as np

from ingest.profiles.facts.kernels import Floats
from recommender.diagnosis.evidence import MetricReading, SoftEvidence, kernel_evidence
from recommender.diagnosis.rank.view import LEAST_US, KernelView, View
from recommender.diagnosis.thresholds import Thresholds


def kernel_clocks_mhz(view: KernelView) -> Floats:
    """Clock of each compute kernel, MHz: cycles by time and cores.

    nan where blocks go in several rounds or may, since nothing tells how many cores there are.
    """
    kernels = view.kernels
    blocks = kernels.numbers["blocks"]
    mhz = np.full(len(kernels), np.nan)
    core = kernels.texts["core"]
    ambiguous = {"MIX_AIV"}  # its vector cores are twice its blocks, or not: the tool does not say
    for cycles, time, width in (
        ("aic_total_cycles", "aicore_time(us)", 1),
        ("aiv_total_cycles", "aiv_time(us)", 2),
    ):
        spent = kernels.pipe(time)
        usable = np.isnan(mhz) & (np.nan_to_num(spent) > LEAST_US)
        usable &= (blocks > 0) & (blocks <= width * view.cores)
        usable &= ~core.where(label in ambiguous for label in core.labels)
        with np.errstate(divide="ignore", invalid="ignore"):
            clock = kernels.pipe(cycles) / spent / blocks
        mhz[usable] = clock[usable]
        ambiguous = {"MIX_AIV", "MIX_AIC"}  # of the latter the blocks are those of its cube cores
    return mhz


def highest_mhz(view: View) -> float:
    """The highest clock that counters or samples of a rank show, but for outliers; 0 if unknown."""
    clock = kernel_clocks_mhz(view) if isinstance(view, KernelView) else np.zeros(0)
    sampled = max((mhz for _, mhz in view.rank.frequency_mhz), default=0.0)
    return max(sampled, float(np.nanpercentile(clock, 95)) if np.isfinite(clock).any() else 0.0)


def find(view: KernelView, thresholds: Thresholds) -> Iterator[SoftEvidence]:
    """Evidence of the time that kernels lose to a clock below its highest."""
    kernels = view.kernels
    if view.total_us <= 0:
        return
    own = kernels.duration_us * view.exclusive
    clock = kernel_clocks_mhz(view)
    samples = np.array([mhz for _, mhz in view.rank.frequency_mhz if mhz > 0])
    if len(samples) >= 2:
        top = samples.max()
    elif np.isfinite(clock).any():
        top = float(np.nanpercentile(clock, 95))
    else:
        return
    nominal = view.device.get("clock_hz", 0.0)
    stated = float(nominal) / 1e6 if isinstance(nominal, int | float) else 0.0
    top = max(top, view.peer_mhz, stated)
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
    total = float(np.nansum(own))
    mean = float(np.nansum(drop * own)) / total if total else 0.0
    yield kernel_evidence(
        view,
        "frequency-drop",
        lost,
        f"the clock of the cores is {mean:.0%} below its {'nominal' if top == stated else 'highest'} "
        f"({top:.0f} MHz) on average",
        MetricReading(metric="aicore_frequency_drop_share", value=mean, unit="1"),
    )
