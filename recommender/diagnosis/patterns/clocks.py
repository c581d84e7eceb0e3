"""The clock of the cores, from counters and samples, and the time lost where it falls."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from recommender.diagnosis.evidence import MetricReading, kernel_evidence
from recommender.diagnosis.rank.compared import group_means
from recommender.diagnosis.rank.view import LEAST_US, KernelView

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ingest.profiles.facts.kernels import Floats
    from recommender.diagnosis.evidence import SoftEvidence
    from recommender.diagnosis.rank.view import View
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
        yield from _all_alike(view)
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


SLOWER = 1.05
"""Factor by which all kernels take longer from which a clock is said to: a loss that matters."""
ALIKE, LEAST_KINDS = 0.8, 4
"""Share of time and of kinds, and number of kinds, that take longer by one factor. Assumed: nearly all."""


def _all_alike(view: KernelView) -> Iterator[SoftEvidence]:
    """Evidence of a lower clock where nothing recorded it: each kind of kernel takes longer by one factor."""
    compared = view.compared
    if compared is None:
        return
    time = view.kernels.duration_us
    count = int(max(compared.group.max(), compared.group_before.max())) + 1
    mean = group_means(time, compared.group, count)[compared.group]
    ratio = np.where(compared.is_usual, mean / compared.mean_before(compared.before.duration_us), np.nan)
    known = np.isfinite(ratio) & (time > 0)
    order = np.argsort(ratio[known])
    weight = time[known][order]
    kinds = len(np.unique(compared.group[known]))
    if not weight.sum() or kinds < LEAST_KINDS:
        return
    middle = float(ratio[known][order][np.searchsorted(np.cumsum(weight), weight.sum() / 2)])
    near = np.abs(ratio[known] - middle) <= (middle - 1) / 2
    if middle < SLOWER or float(time[known][near].sum()) < ALIKE * float(time.sum()):
        return
    if len(np.unique(compared.group[known][near])) < ALIKE * kinds:  # one kind may have nearly all the time
        return
    lost = np.where(known, np.maximum(0.0, compared.grown_us), 0.0)
    yield kernel_evidence(
        view,
        "frequency-drop",
        lost,
        f"kernels of all kinds, as many as before, take {middle:.2f} times as long, as at a slower clock",
        MetricReading(metric="factor of the time of all kernels", value=middle, unit="1"),
    )
