"""Which unit of the core sets the pace of a kernel, and what freeing it would win.

A kernel whose busiest pipe is busy for the share r1 of its time and whose next is for r2 falls to r2/r1 of
its time if the busiest is relieved: then the next sets the pace.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from recommender.diagnosis.evidence import MetricReading, of_kernels
from recommender.diagnosis.rank.kinds import longest, repeats, unwanted
from recommender.diagnosis.rank.repairs import shortened
from recommender.diagnosis.rank.units import BUSY, CUBE, VECTOR

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ingest.profiles.facts.kernels import Mask
    from recommender.diagnosis.evidence import SoftEvidence
    from recommender.diagnosis.rank.comparison import Alike
    from recommender.diagnosis.rank.view import Floats, View
    from recommender.diagnosis.thresholds import Thresholds

_PATTERNS = {
    "aic_mte2_ratio": "memory-bandwidth",
    "aiv_mte2_ratio": "memory-bandwidth",
    "aiv_mte3_ratio": "move-out-bound",
    "aic_fixpipe_ratio": "fixpipe-bound",
    "aiv_scalar_ratio": "scalar-bound",
    "aic_scalar_ratio": "scalar-bound",
    "aiv_vec_ratio": "vector-bound",
}
"""A busy mac is what a cube is for: it is a loss only where a cheaper format would do (precision-excess)."""
_SAYS = {
    "memory-bandwidth": "wait for device memory (MTE2)",
    "move-out-bound": "wait for writing out (MTE3)",
    "fixpipe-bound": "wait for the cube's result path (fixpipe)",
    "scalar-bound": "are held up by the scalar unit",
    "vector-bound": "are held up by the vector unit",
}


def ratios(view: View) -> tuple[tuple[str, ...], Floats, Mask]:
    """Names, how busy each pipe is in each kernel, shape (pipes, n), and which kernels have counters.

    Where cube and vector cores work on one kernel, the pipes of the core that is done earlier count less, by
    the share of the other's time in which it works.
    """
    kernels = view.kernels
    if kernels is None:
        return (), np.zeros((0, 0)), np.zeros(0, np.bool_)
    names = (*CUBE, *VECTOR)
    table = np.array([kernels.pipe(name) for name in names])
    known = np.asarray(~np.isnan(table).all(axis=0), dtype=np.bool_)
    cube_us = np.nan_to_num(kernels.pipe("aicore_time(us)"))
    vector_us = np.nan_to_num(kernels.pipe("aiv_time(us)"))
    longer = np.maximum(cube_us, vector_us)
    timed = longer > 0
    for rows, spent in ((slice(0, len(CUBE)), cube_us), (slice(len(CUBE), len(names)), vector_us)):
        table[rows] *= np.where(timed, spent / np.where(timed, longer, 1.0), 1.0)
    return names, np.clip(np.nan_to_num(table), 0, 1), known


def _first_and_spare(filled: Floats) -> tuple[Floats, Floats]:
    """How busy the busiest pipe of each kernel is, and by which part of that it leads the next."""
    ordered = np.sort(filled, axis=0)
    first, second = ordered[-1], ordered[-2]
    return first, np.where(first > 0, 1 - second / np.maximum(first, 1e-9), 0.0)


CHANGED = 0.01
"""Change of a share of a kernel's time from which it is told from noise: as the profiler rounds it, averaged
over repeats."""
NOISE = 0.1
"""Change of one kernel's cycles from run to run beyond which something changed. Assumed: repeats of one shape
lie within a few per cent of each other."""


def _held_up_more(view: View, alike: Alike, filled: Floats) -> Mask:
    """Kernels that their busiest pipe holds up more than before.

    It takes a larger part of the kernel than it did, or leads the others further; or the kernel takes more
    cycles, by more than those of the rank in general do. A lower clock is none of these.
    """
    _, theirs, known = ratios(alike.before)

    def was(values: Floats) -> Floats:
        return alike.mean_before(np.where(known, values, np.nan))

    busiest = filled.argmax(axis=0)
    table = np.array([was(row) for row in theirs])
    more = filled.max(axis=0) > np.take_along_axis(table, busiest[None], axis=0)[0] + CHANGED
    ahead = _first_and_spare(filled)[1] > was(_first_and_spare(theirs)[1]) + CHANGED
    cycles = _cycles(view)
    before = alike.mean_before(_cycles(alike.before))
    grown = np.divide(cycles, before, out=np.full(len(cycles), np.nan), where=before > 0)
    usual = grown[alike.is_usual & np.isfinite(grown)]
    longer = grown > (float(np.median(usual)) if len(usual) else np.inf) * (1 + NOISE)
    return np.asarray(more | ahead | longer, np.bool_)


def _cycles(view: View) -> Floats:
    """Cycles of the cores that work on each kernel; nan where not collected."""
    kernels = view.kernels
    assert kernels is not None  # noqa: S101  the caller has looked
    return np.fmax(kernels.pipe("aic_total_cycles"), kernels.pipe("aiv_total_cycles"))


def _missed(view: View) -> Floats:
    """Share of instructions that each kernel's cores missed in their cache; nan where not collected."""
    kernels = view.kernels
    assert kernels is not None  # noqa: S101  the caller has looked
    return np.fmax(kernels.pipe("aic_icache_miss_rate"), kernels.pipe("aiv_icache_miss_rate"))


def find(view: View, thresholds: Thresholds) -> Iterator[SoftEvidence]:
    """Kernels held up by one unit, kernels held up by none, and instruction cache misses.

    Beside an earlier run, a kernel that is usual there loses what it takes longer now and more misses of its
    cache do not explain, if its busiest pipe holds it up more than it did.
    """
    kernels = view.kernels
    if kernels is None or not len(kernels) or view.total_us <= 0:
        return
    names, filled, counted = ratios(view)
    known = counted & ~_told_elsewhere(view, thresholds)
    if not known.any():
        return
    busiest = filled.argmax(axis=0)
    first, spare = _first_and_spare(filled)
    own = kernels.duration_us * view.alone
    won = own * spare
    if (alike := view.alike) is not None:
        missed = np.nan_to_num(_missed(view)) - np.nan_to_num(alike.mean_before(_missed(alike.before)))
        grown = np.maximum(0.0, alike.grown_us - own * np.maximum(0.0, missed))
        won = np.where(alike.is_usual, np.where(_held_up_more(view, alike, filled), grown, 0.0), won)
    label = kernels.label
    flash = label.where("flashattention" in text.lower() for text in label.labels)
    cost: dict[str, Floats] = {}
    for place, name in enumerate(names):
        pattern = _PATTERNS.get(name)
        if pattern is None:
            continue
        shown = np.zeros(len(kernels))
        mine = known & (busiest == place)
        if mine.any():
            shown[mine] = _shows(thresholds, pattern, name, first[mine], flash[mine])
        cost[pattern] = cost.get(pattern, np.zeros(len(kernels))) + shown * won
    for pattern, lost in cost.items():
        which = lost > 0
        yield of_kernels(
            view,
            pattern,
            lost,
            f"kernels that {_SAYS[pattern]}: {view.named(lost)} of it could go",
            MetricReading(
                metric="busiest pipe",
                value=float(np.average(first[which], weights=lost[which])) if which.any() else 0.0,
                unit="1",
            ),
            fixed=partial(shortened, lost_us=lost, relieved=True),
        )
    yield from _unbound(view, thresholds, first, known, own)
    yield from _cache(view, thresholds, own)


def _told_elsewhere(view: View, thresholds: Thresholds) -> Mask:
    """Kernels that should not be there at all: what holds them up is beside the point.

    Of operators that could be fused, the longest stays, as the fused one.
    """
    kernels = view.kernels
    assert kernels is not None  # noqa: S101  the caller has looked
    often = repeats(view.chains[0], len(kernels))
    fusible = thresholds.shows("unfused-operators", "fusible_chain_count", often) >= 0.5
    gone = fusible & ~longest(view.chains[0], np.nan_to_num(kernels.duration_us))
    needless = (unwanted(kernels) | gone) & view.is_new
    return np.asarray(needless | kernels.is_aicpu, dtype=np.bool_)


def _shows(thresholds: Thresholds, pattern: str, metric: str, value: Floats, flash: Floats) -> Floats:
    asked = {"aic_scalar_ratio": "aiv_scalar_ratio"}.get(metric, metric)  # only the vector's is published
    shown = thresholds.shows(pattern, asked, value)
    special = {"memory-bandwidth": "flash_attention_mte2_ratio", "vector-bound": "flash_attention_vec_ratio"}
    if flash.any() and pattern in special:
        shown = np.where(flash, thresholds.shows(pattern, special[pattern], value), shown)
    return shown


def _unbound(
    view: View, thresholds: Thresholds, first: Floats, known: Mask, own: Floats
) -> Iterator[SoftEvidence]:
    kernels = view.kernels
    assert kernels is not None  # noqa: S101  the caller has looked
    pattern = "no-bound-operator"
    shown = thresholds.shows(pattern, "operator_max_pipe_ratio", np.where(known & (first > 0), first, np.nan))
    shown = shown * thresholds.shows(pattern, "operator_time", kernels.duration_us * 1e-6)
    won = own * np.clip(1 - first / BUSY, 0, 1)
    if (alike := view.alike) is not None:
        was, counted = ratios(alike.before)[1:]
        idler = first < alike.mean_before(np.where(counted, was.max(axis=0), np.nan)) - CHANGED
        won = np.where(alike.is_usual, np.where(idler, alike.grown_us, 0.0), won)
    lost = shown * won
    yield of_kernels(
        view,
        pattern,
        lost,
        f"no pipe of long kernels is busy: {view.named(lost)} of it could go",
        MetricReading(
            metric="operator_max_pipe_ratio",
            value=float(np.average(first, weights=lost)) if lost.any() else 0.0,
            unit="1",
        ),
        fixed=partial(shortened, lost_us=lost, relieved=True),
    )


def _cache(view: View, thresholds: Thresholds, own: Floats) -> Iterator[SoftEvidence]:
    kernels = view.kernels
    assert kernels is not None  # noqa: S101  the caller has looked
    missed = _missed(view)
    if np.isnan(missed).all():
        return
    shown = thresholds.shows("instruction-cache-miss", "aic_icache_miss_rate", missed)
    lost = shown * own * np.clip(np.nan_to_num(missed), 0, 1)
    yield of_kernels(
        view,
        "instruction-cache-miss",
        lost,
        f"instructions miss their cache in {view.named(lost)}",
        MetricReading(
            metric="icache_miss_rate",
            value=float(np.average(np.nan_to_num(missed), weights=lost)) if lost.any() else 0.0,
            unit="1",
        ),
        fixed=partial(shortened, lost_us=lost, relieved=True),
    )
