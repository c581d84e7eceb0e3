"""A device that others use: another program holds up whatever runs, collectives what is beside them."""

from collections.abc import Iterator

import numpy as np

from ingest.profiles.facts.kernels import Floats, Integers, Mask
from ingest.profiles.facts.stretches import overlap_us, union
from recommender.diagnosis.evidence import MetricReading, SoftEvidence, kernel_evidence
from recommender.diagnosis.patterns.growth import ALIKE, LEAST_KINDS, MOSTLY, SLOWER
from recommender.diagnosis.rank.kinds import STREAMING, of_kind
from recommender.diagnosis.rank.view import KernelView
from recommender.diagnosis.thresholds import Thresholds

SHARED = "shared-device"
LEAST_SLICE_US = 100.0
"""Time from which a kernel that takes longer was held up. Assumed; NVIDIA's slices are milliseconds."""
LEAST_HELD = 8
"""Kernels that are held up, from which on it is told what they have in common. Assumed."""
SPREAD = 2.0
"""Upper over lower quartile of times that are about the same. Assumed."""
LEAST_DIFFERENCE = 0.1
"""Least spread of the logarithms of kernels' lengths by which it is told whether what they lose grows with
them, as at a slower clock, or not. Assumed."""
ELSEWHERE_BY_KIND = 0.35
"""Share of held kernels that lie in other kinds than as many drawn by time would. Assumed."""

MIDDLE_HALF = 1.3
"""Upper over lower quartile of the times of kernels of one name and shapes that do the same. Assumed: beyond
it something tells them apart that was not recorded."""
LEAST_STEPS = 4
"""Steps of the same kernels from which on the quicker quarter of each tells how long it takes undisturbed."""
NEAR = 8
"""Kernels on either side that take longer where all do. Assumed: those of a layer."""
AFFECTED, ELSEWHERE = 0.05, 0.2
"""Share of a step that is slow if the step counts, and mean share of such steps in which a place is not slow.
Assumed; it is 0 where the same places are slow in each."""


def find(view: KernelView, _: Thresholds) -> Iterator[SoftEvidence]:
    """Evidence of a device that runs another program in turns, or beside this one for a while."""
    if view.total_us > 0 and len(view.kernels) > 1:
        yield from _beside_collectives(view)
        yield from _in_turns(view)
        if not np.isfinite(view.kernels.pipe("aic_total_cycles")).any():
            yield from _in_periods(view)


def _beside_collectives(view: KernelView) -> Iterator[SoftEvidence]:
    """Evidence of kernels that take longer beside collectives than those of their name and shapes apart."""
    kernels, every = view.kernels, view.rank.kernels
    if every is None or not every.is_communication.any() or view.compared is not None:
        return
    talks = every.where(every.is_communication)
    both = overlap_us(kernels.start_ns, kernels.end_ns, *union(talks.start_ns, talks.end_ns))
    time, lost = np.nan_to_num(kernels.duration_us), np.zeros(len(kernels))
    beside, apart = both > MOSTLY * time, both == 0
    shapes = kernels.texts["input_shapes"]
    key = kernels.texts["name"].codes.astype(np.int64) * len(shapes.labels) + shapes.codes
    told = shapes.where(bool(text) for text in shapes.labels)
    for kind in np.unique(key[beside & told]):
        rows, alone = (np.flatnonzero((key == kind) & part) for part in (beside, apart))
        if min(len(rows), len(alone)) < LEAST_HELD:
            continue
        low, usual, high = np.quantile(time[alone], (0.25, 0.5, 0.75))
        above = np.maximum(0.0, time[rows] - usual)
        net = max(0.0, float((time[rows] - usual).sum()))  # what is beyond by chance is below as often
        if high <= MIDDLE_HALF * low and above.any():
            lost[rows] = above * net / above.sum()
    yield kernel_evidence(
        view,
        "bandwidth-contention",
        lost,
        f"kernels take longer while collectives run beside them: {view.costliest(lost)}",
        MetricReading(metric="time beyond those that run apart", value=float(lost.sum()) * 1e-6, unit="s"),
    )


def _in_turns(view: KernelView) -> Iterator[SoftEvidence]:
    """Evidence of kernels of all kinds that take longer by about one time: the slice of another program.

    A slower clock makes a kernel longer in proportion, other work at the same place of each step; a slice
    falls into whatever runs, the more often the longer it runs.
    """
    kernels = view.kernels
    time = np.nan_to_num(kernels.duration_us)
    of_place, of_like = time - _of_its_place(view, time), time - _of_its_like(view, time)
    for more in (of_place, of_like):
        held = (more > LEAST_SLICE_US) & (more > (SPREAD - 1) * (time - more)) & (view.exclusive == 1)
        if (slice_us := _slice_us(view, time - more, more, held)) == 0:
            continue
        # Slices may fall into the same places for some steps: there kernels of the like tell.
        near = np.abs(of_like - slice_us) < slice_us * (1 - 1 / SPREAD) / 2
        lost = np.where(held, more, np.where(near, of_like, 0.0))
        kinds = len(np.unique(kernels.label.codes[lost > 0]))
        yield kernel_evidence(
            view,
            SHARED,
            lost,
            f"{int((lost > 0).sum())} kernels of {kinds} kinds take {slice_us / 1e3:.2f} ms longer than "
            "others like them, whatever they are: the device runs another program in turns",
            MetricReading(metric="time that kernels are held up", value=slice_us * 1e-6, unit="s"),
        )
        return


def _slice_us(view: KernelView, usual: Floats, more: Floats, held: Mask) -> float:
    """Time by which kernels are held up, whatever runs; 0 where it is not one time or not whatever runs."""
    step, label = view.kernels.texts["step"].codes, view.kernels.label
    if held.sum() < LEAST_HELD or (len(np.unique(step)) > 1 and len(np.unique(step[held])) < 2):
        return 0.0
    times, lengths = np.log(more[held]), np.log(usual[held])
    if lengths.std() < LEAST_DIFFERENCE:
        return 0.0
    grows = float(np.cov(times, lengths)[0, 1] / lengths.var())
    is_one = np.subtract(*np.quantile(times, [0.75, 0.25])) <= np.log(SPREAD) and grows < 0.5
    size = len(label.labels)
    hits, exposure = (np.bincount(label.codes, weights=each, minlength=size) for each in (held, usual))
    off = float(np.abs(hits / hits.sum() - exposure / exposure.sum()).sum()) / 2
    is_any = off <= ELSEWHERE_BY_KIND and (hits > 0).sum() >= min(LEAST_KINDS - 1, (exposure > 0).sum())
    return float(np.median(more[held])) if is_any and is_one else 0.0


def _of_its_place(view: KernelView, time: Floats) -> Floats:
    """Time that each kernel takes at its place in steps alike, the lower quartile, shape (n,)."""
    rows = _steps_alike(view)
    usual = time.copy()
    if len(rows) > 1:
        at = np.stack(rows)
        usual[at] = np.minimum(time[at], np.quantile(time[at], 0.25, axis=0, method="lower"))
    return usual


def _of_its_like(view: KernelView, time: Floats) -> Floats:
    """Time that each kernel takes at most, of those of its name and shapes the median, shape (n,)."""
    shape = view.kernels.texts["input_shapes"]
    keys = view.kernels.label.codes.astype(np.int64) * len(shape.labels) + shape.codes
    _, place = np.unique(keys, return_inverse=True)
    order = np.lexsort((time, place))
    begins = np.flatnonzero(np.diff(place[order], prepend=-1))
    last = np.diff(np.append(begins, len(order))) - 1
    low, middle, high = (time[order][begins + last * part // 4] for part in (1, 2, 3))
    usual = np.where(high <= MIDDLE_HALF * low, middle, np.inf)
    return np.asarray(np.minimum(time, usual[place]))


def _steps_alike(view: KernelView) -> list[Integers]:
    """Rows of the kernels of steps that run the same kernels in the same order: the commonest order."""
    kernels = view.kernels
    step, name = kernels.texts["step"].codes, kernels.label.codes
    order = np.lexsort((kernels.start_ns, step))
    alike: dict[bytes, list[Integers]] = {}
    for part in np.split(order, np.flatnonzero(np.diff(step[order])) + 1):
        alike.setdefault(name[part].tobytes(), []).append(part)
    return max(alike.values(), key=len)


def _in_periods(view: KernelView) -> Iterator[SoftEvidence]:
    """Evidence of a device that is slow for a while, whatever runs then: its clock falls, or it is shared.

    A slower clock of the cores leaves memory as fast as it was, another program takes of both.

    A kernel is set beside those of its place in other steps, which do the same. Work that differs from step
    to step is longer at the same places of each; a stretch that lies anyhow in its step is not the program's.
    """
    kernels, name = view.kernels, view.kernels.label.codes
    rows = _steps_alike(view)
    if len(rows) < LEAST_STEPS or len(rows[0]) <= 2 * NEAR:
        return
    at = np.stack(rows)
    time = kernels.duration_us[at]
    usual = np.quantile(time, 0.25, axis=0)
    slow = (time > SLOWER * usual) & (view.exclusive[at] == 1)
    weight = np.ones(2 * NEAR + 1)
    near = np.apply_along_axis(np.convolve, 1, slow.astype(float), weight, "same")
    held = slow & (near >= ALIKE * np.convolve(np.ones(at.shape[1]), weight, "same"))
    beyond = np.where(held, time - usual, 0.0)
    affected = held[(time * held).sum(axis=1) > AFFECTED * time.sum(axis=1)]
    if not affected.any():
        return
    elsewhere = float(((1 - affected.mean(axis=0)) * beyond).sum() / beyond.sum())
    kinds = len(np.unique(name[at[0]]))
    hit = len(np.unique(name[at[held]]))
    if kinds < LEAST_KINDS or hit < ALIKE * kinds or elsewhere < ELSEWHERE:
        return
    lost = np.zeros(len(kernels))
    lost[at] = beyond
    factor = float(time[held].sum() / (time - beyond)[held].sum())
    streams = of_kind(kernels, STREAMING)[at] & held
    others = held & ~streams
    is_shared = _factor(time, beyond, streams) - 1 >= ALIKE * (_factor(time, beyond, others) - 1)
    yield kernel_evidence(
        view,
        SHARED if is_shared else "frequency-drop",
        lost,
        f"for a while kernels of all kinds take {factor:.2f} times as long as at that place of other steps, "
        + (
            "those that wait for memory, too: beside another program on the device"
            if is_shared
            else "those that wait for memory less: at a slower clock"
        ),
        MetricReading(metric="factor of the time of all kernels", value=factor, unit="1"),
    )


def _factor(time: Floats, beyond: Floats, where: Mask) -> float:
    """Times as long as usual that some kernels take; 1 without any."""
    usual = float((time - beyond)[where].sum())
    return float(time[where].sum()) / usual if usual > 0 else 1.0
