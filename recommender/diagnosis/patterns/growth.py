"""Kernels that came as often in an earlier run and take longer now: one table tells what made them longer.

Beside collectives alone they share cores and memory with them; all by one factor, the clock is lower; those
that only move data by one factor, memory is slower; else one family of kernels is, and is named.
"""

from collections.abc import Iterator

import numpy as np

from ingest.profiles.facts.kernels import Floats, Mask
from ingest.profiles.facts.stretches import overlap_us, union
from recommender.diagnosis.evidence import MetricReading, SoftEvidence, kernel_evidence
from recommender.diagnosis.rank.compared import group_means
from recommender.diagnosis.rank.kinds import ATTENTION, PRODUCTS, STREAMING, of_kind
from recommender.diagnosis.rank.view import KernelView
from recommender.diagnosis.thresholds import Thresholds

SLOWER = 1.05
"""Factor by which kernels take longer from which it is a loss that matters."""
ALIKE, LEAST_KINDS, LEAST_STREAMS = 0.8, 4, 2
"""Share of time and of kinds, and number of kinds, that take longer by one factor: nearly all, and of those
that only move data. Assumed."""
MOSTLY, ALONE = 0.9, 0.5
"""Part of a kernel's time from which it runs beside collectives, and most growth of those that run apart, or
that compute, over that of those beside them, or that move data. Assumed."""
_FAMILIES = (
    ("attention-kernel", ATTENTION),
    ("moe-kernel-efficiency", ("groupedmatmul", "fusedmoe", "moe")),
    ("normalisation-traffic", ("rmsnorm", "layernorm", "batchnorm")),
    ("optimizer-traffic", ("multitensor", "apply", "foreach")),
    ("embedding-random-access", ("embedding",)),
    ("compute", PRODUCTS),
)


def find(view: KernelView, _: Thresholds) -> Iterator[SoftEvidence]:
    """Evidence of the first reason that fits, and of a low clock only where nothing recorded clocks."""
    compared = view.compared
    if compared is None or view.total_us <= 0 or not (lost := np.nan_to_num(compared.grown_us)).any():
        return
    factor = _factors(view)
    if (beside := _beside_collectives(view)) is not None:
        yield _told(view, "bandwidth-contention", np.where(beside, lost, 0.0),
                    "kernels take longer while collectives run beside them")  # fmt: skip
        return
    if np.isfinite(view.kernels.pipe("aic_total_cycles")).any() or view.rank.frequency_mhz:
        return  # counters and clocks tell more
    everything = np.ones(len(lost), np.bool_)
    streams = of_kind(view.kernels, STREAMING)
    if (times := _one_factor(view, factor, everything, LEAST_KINDS)) > 0:
        says = (
            f"kernels of all kinds, as many as before, take {times:.2f} times as long, as at a slower clock"
        )
        yield _told(view, "frequency-drop", np.maximum(0.0, lost), says, times)
        return
    if (times := _one_factor(view, factor, streams, LEAST_STREAMS)) > 0 and _mean(
        view, factor, ~streams
    ) - 1 <= ALONE * (times - 1):
        says = f"kernels that move data and compute little, as many as before, take {times:.2f} times as long"
        yield _told(view, "memory-bandwidth", lost, says, times)
        return
    for node, kinds in _FAMILIES:
        mine = of_kind(view.kernels, kinds) & (factor > SLOWER)
        if mine.any():
            says = f"as many kernels of the same shapes take {_mean(view, factor, mine):.2f} times as long"
            yield _told(view, node, np.where(mine, lost, 0.0), says)


def _told(view: KernelView, node: str, lost: Floats, says: str, times: float | None = None) -> SoftEvidence:
    reading = (
        MetricReading(metric="time beyond the earlier run", value=float(lost.sum()) * 1e-6, unit="s")
        if times is None
        else MetricReading(metric="factor of the time of all kernels", value=times, unit="1")
    )
    return kernel_evidence(view, node, lost, f"{says}: {view.costliest(lost)}", reading)


def _factors(view: KernelView) -> Floats:
    """Times as long as before that the kernels like each take, shape (n,); nan where their number grew."""
    compared = view.compared
    assert compared is not None  # noqa: S101  as in find
    time = view.kernels.duration_us
    count = int(max(compared.group.max(), compared.group_before.max())) + 1
    mean = group_means(time, compared.group, count)[compared.group]
    return np.where(compared.is_usual, mean / compared.mean_before(compared.before.duration_us), np.nan)


def _one_factor(view: KernelView, factor: Floats, mine: Mask, least: int) -> float:
    """The factor by which nearly all kernels of several kinds take longer; 0 where there is none."""
    time = np.nan_to_num(view.kernels.duration_us)
    known = np.isfinite(factor) & (time > 0) & mine
    group = view.compared.group if view.compared is not None else np.zeros(0)
    kinds = len(np.unique(group[known]))
    if kinds < least:
        return 0.0
    order = np.argsort(factor[known])
    weight = time[known][order]
    middle = float(factor[known][order][np.searchsorted(np.cumsum(weight), weight.sum() / 2)])
    near = np.abs(factor[known] - middle) <= (middle - 1) / 2
    is_one = float(time[known][near].sum()) >= ALIKE * float(time[mine].sum())
    # one kind may have nearly all the time
    is_one &= len(np.unique(group[known][near])) >= ALIKE * kinds
    return middle if middle >= SLOWER and is_one else 0.0


def _mean(view: KernelView, factor: Floats, mine: Mask) -> float:
    """Times as long as before that some kernels take together; 1 without any."""
    known = np.isfinite(factor) & (factor > 0) & mine
    now = np.nan_to_num(view.kernels.duration_us)[known]
    return float(now.sum() / (now / factor[known]).sum()) if now.sum() > 0 else 1.0


def _beside_collectives(view: KernelView) -> Mask | None:
    """Kernels that run beside collectives, if they grew and what runs apart did not; None otherwise."""
    kernels, every, compared = view.kernels, view.rank.kernels, view.compared
    if every is None or compared is None or not every.is_communication.any():
        return None
    talks = every.where(every.is_communication)
    both = overlap_us(kernels.start_ns, kernels.end_ns, *union(talks.start_ns, talks.end_ns))
    time = np.nan_to_num(kernels.duration_us)
    usual = np.nan_to_num(compared.mean_before(compared.before.duration_us))
    more = np.where(usual > 0, time - usual, 0.0)
    beside, apart = both > MOSTLY * time, both == 0
    grew = [float(more[part].sum() / max(1.0, usual[part].sum())) for part in (apart, beside)]
    return beside if beside.any() and grew[1] > 0 and grew[0] < ALONE * grew[1] else None
