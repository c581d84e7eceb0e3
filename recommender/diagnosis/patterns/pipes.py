"""The unit of the core that sets the pace of a kernel, and the time that relieving it would win.

A kernel whose busiest pipe is busy for the share r1 of its time and whose next is for r2 falls to r2/r1 of
its time if the busiest is relieved: then the next sets the pace.
"""

from collections.abc import Iterator

import numpy as np

from ingest.profiles.facts.kernels import Floats, Integers, Kernels, Mask
from recommender.diagnosis.evidence import MetricReading, SoftEvidence, kernel_evidence
from recommender.diagnosis.rank.compared import Compared
from recommender.diagnosis.rank.kinds import (
    STREAMING,
    is_data_movement,
    longest_of_chains,
    of_kind,
    pair_counts,
)
from recommender.diagnosis.rank.units import BUSY, CUBE, pipe_use
from recommender.diagnosis.rank.view import KernelView
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
_MOVING = ("memory-bandwidth", "move-out-bound")
"""Reading and writing is what kernels are for that do it once: they count as far as all others are held up,
too. Headroom tells if they are slow."""
_SAYS = {
    "memory-bandwidth": "wait for device memory (MTE2)",
    "move-out-bound": "wait for writing out (MTE3)",
    "fixpipe-bound": "wait for the cube's result path (fixpipe)",
    "scalar-bound": "are held up by the scalar unit",
    "vector-bound": "are held up by the vector unit",
}


def _first_and_spare(use: Floats) -> tuple[Floats, Floats]:
    """Use of the busiest pipe of each kernel, and the part of that by which it leads the next."""
    ordered = np.sort(use, axis=0)
    first, second = ordered[-1], ordered[-2]
    return first, np.where(first > 0, 1 - second / np.maximum(first, 1e-9), 0.0)


CHANGED = 0.01
"""Change of a share of a kernel's time that is no noise: the profiler rounds it, averaged over repeats."""
NOISE = 0.1
"""Change of one kernel's cycles from run to run beyond which something changed. Assumed: repeats of one shape
lie within a few per cent of each other."""


def _growing_unit(kernels: Kernels, compared: Compared, use: Floats) -> Integers:
    """The unit whose work makes most of what each kernel takes longer than before; -1 where none does.

    Work is counted in cycles, so that a lower clock is none of it; in time where cycles were not collected.
    """
    _, theirs, counted = pipe_use(compared.before)
    amount, amount_before = _cycles(kernels), _cycles(compared.before)
    if np.isnan(amount).all() or np.isnan(amount_before).all():
        amount, amount_before = kernels.duration_us, compared.before.duration_us
    was = compared.mean_before(np.where(counted, amount_before, np.nan))
    more = np.nan_to_num(amount - was)
    by_unit = np.array(
        [
            np.nan_to_num(
                row * amount - compared.mean_before(np.where(counted, before * amount_before, np.nan))
            )
            for row, before in zip(use, theirs, strict=True)
        ]
    )
    unit = by_unit.argmax(axis=0)
    most = by_unit.max(axis=0)
    grown = np.divide(amount, was, out=np.ones(len(kernels)), where=np.nan_to_num(was) > 0)
    usual = grown[compared.is_usual & np.isfinite(grown)]
    longer = grown > (float(np.median(usual)) if len(usual) else 1.0) * (1 + NOISE)
    alike = grown > 1 + NOISE  # all kernels may be held up by the same unit
    held = (most >= MOST_OF * more) & (more > 0) & (longer | alike)
    return np.where(held, unit, -1)


MOST_OF = 0.5
"""Part of what a kernel takes longer that one unit's work must make: most of it."""


def _cycles(kernels: Kernels) -> Floats:
    """Cycles of the cores that work on each kernel; nan where not collected."""
    return np.fmax(kernels.pipe("aic_total_cycles"), kernels.pipe("aiv_total_cycles"))


def _miss_rate(kernels: Kernels) -> Floats:
    """Share of instructions that each kernel's cores missed in their cache; nan where not collected."""
    return np.fmax(kernels.pipe("aic_icache_miss_rate"), kernels.pipe("aiv_icache_miss_rate"))


def find(view: KernelView, thresholds: Thresholds) -> Iterator[SoftEvidence]:
    """Evidence of kernels held up by one unit, by none, and by misses of the instruction cache.

    Beside an earlier run, a kernel that is usual there loses what it takes longer now and more misses of its
    cache do not explain, if its busiest pipe holds it up more than it did.
    """
    kernels = view.kernels
    if view.total_us <= 0:
        return
    names, use, counted = pipe_use(kernels)
    judged = counted & ~_is_needless(view, thresholds)
    if not judged.any():
        return
    busiest = use.argmax(axis=0)
    first, spare = _first_and_spare(use)
    own = kernels.duration_us * view.exclusive
    won = own * spare
    if (compared := view.compared) is not None:
        missed = np.nan_to_num(_miss_rate(kernels))
        missed -= np.nan_to_num(compared.mean_before(_miss_rate(compared.before)))
        grown = np.maximum(0.0, compared.grown_us - own * np.maximum(0.0, missed))
        unit = _growing_unit(kernels, compared, use)
        won = np.where(compared.is_usual, np.where(unit >= 0, grown, 0.0), won)
        busiest = np.where(compared.is_usual & (unit >= 0), unit, busiest)
    label = kernels.label
    flash = label.where("flashattention" in text.lower() for text in label.labels)
    streams = of_kind(kernels, STREAMING)
    cost: dict[str, Floats] = {}
    for place, name in enumerate(names):
        pattern = _PATTERNS.get(name)
        if pattern is None:
            continue
        shown = np.zeros(len(kernels))
        mine = judged & (busiest == place)
        if mine.any():
            shown[mine] = _shows(thresholds, pattern, name, first[mine], flash[mine])
            if compared is not None:
                shown[mine & compared.is_usual] = 1.0  # not by its use: its work is what grew
        cost[pattern] = cost.get(pattern, np.zeros(len(kernels))) + shown * won
    alone = streams & view.is_new  # where they took less before, that is not what they are for
    for pattern, lost in cost.items():
        if pattern in _MOVING:
            held = judged & ~streams & (lost > 0)
            lost[alone] *= own[held].sum() / max(1e-9, own[judged & ~streams].sum())
        which = lost > 0
        yield kernel_evidence(
            view,
            pattern,
            lost,
            f"kernels that {_SAYS[pattern]}: {view.costliest(lost)} of it could go",
            MetricReading(
                metric="busiest pipe",
                value=float(np.average(first[which], weights=lost[which])) if which.any() else 0.0,
                unit="1",
            ),
        )
    yield from _unbound(view, thresholds, first, judged, own)
    yield from _cache(view, thresholds, own)


def _is_needless(view: KernelView, thresholds: Thresholds) -> Mask:
    """Kernels that should not run at all, so that the unit that holds them up is beside the point.

    Of operators that could be fused, the longest stays, as the fused one.
    """
    kernels = view.kernels
    often = pair_counts(view.chains, len(kernels))
    fusible = thresholds.shows("unfused-operators", "fusible_chain_count", often) >= 0.5
    gone = fusible & ~longest_of_chains(view.chains, np.nan_to_num(kernels.duration_us))
    needless = (is_data_movement(kernels) | gone) & view.is_new
    return np.asarray(needless | kernels.is_aicpu, dtype=np.bool_)


def _shows(thresholds: Thresholds, pattern: str, metric: str, value: Floats, flash: Floats) -> Floats:
    published = {"aic_scalar_ratio": "aiv_scalar_ratio"}.get(metric, metric)  # only the vector's is published
    shown = thresholds.shows(pattern, published, value)
    special = {"memory-bandwidth": "flash_attention_mte2_ratio", "vector-bound": "flash_attention_vec_ratio"}
    if flash.any() and pattern in special:
        shown = np.where(flash, thresholds.shows(pattern, special[pattern], value), shown)
    return shown


def _unbound(
    view: KernelView, thresholds: Thresholds, first: Floats, judged: Mask, own: Floats
) -> Iterator[SoftEvidence]:
    kernels = view.kernels
    pattern = "no-bound-operator"
    # Cores that work on one kernel hand each other their results: while one is busy the other may wait.
    use = pipe_use(kernels)[1]
    both = np.minimum(1.0, use[: len(CUBE)].max(axis=0) + use[len(CUBE) :].max(axis=0))
    busiest = both if view.compared is None else first
    shown = thresholds.shows(
        pattern, "operator_max_pipe_ratio", np.where(judged & (first > 0), busiest, np.nan)
    )
    shown = shown * thresholds.shows(pattern, "operator_time", kernels.duration_us * 1e-6)
    won = own * np.clip(1 - busiest / BUSY, 0, 1)
    if (compared := view.compared) is not None:
        was, counted = pipe_use(compared.before)[1:]
        idler = first < compared.mean_before(np.where(counted, was.max(axis=0), np.nan)) - CHANGED
        idler &= _growing_unit(kernels, compared, pipe_use(kernels)[1]) < 0
        won = np.where(compared.is_usual, np.where(idler, compared.grown_us, 0.0), won)
    lost = shown * won
    yield kernel_evidence(
        view,
        pattern,
        lost,
        f"no pipe of long kernels is busy: {view.costliest(lost)} of it could go",
        MetricReading(
            metric="operator_max_pipe_ratio",
            value=float(np.average(first, weights=lost)) if lost.any() else 0.0,
            unit="1",
        ),
    )


def _cache(view: KernelView, thresholds: Thresholds, own: Floats) -> Iterator[SoftEvidence]:
    missed = _miss_rate(view.kernels)
    if np.isnan(missed).all():
        return
    shown = thresholds.shows("instruction-cache-miss", "aic_icache_miss_rate", missed)
    lost = shown * own * np.clip(np.nan_to_num(missed), 0, 1)
    yield kernel_evidence(
        view,
        "instruction-cache-miss",
        lost,
        f"instructions miss their cache in {view.costliest(lost)}",
        MetricReading(
            metric="icache_miss_rate",
            value=float(np.average(np.nan_to_num(missed), weights=lost)) if lost.any() else 0.0,
            unit="1",
        ),
    )
