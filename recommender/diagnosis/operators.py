"""Operators that should not be there, or not like this: AI CPU, rearranging, casts, shapes, types, clock."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from recommender.diagnosis.evidence import LEAST_US, Evidence, Reading
from recommender.diagnosis.kinds import ATTENTION, CASTS, COPIES, INDEXING, PRODUCTS, REARRANGING, of_kind
from recommender.diagnosis.pipes import shortened

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from ingest.profiles.facts import Rank
    from ingest.profiles.kernels import Mask
    from recommender.diagnosis.evidence import Floats, View
    from recommender.diagnosis.thresholds import Thresholds

_NO_AICORE_TYPES = ("INT64", "DOUBLE", "FLOAT64", "UINT64", "COMPLEX64", "COMPLEX128")
"""Types for which many operators have no AI Core kernel: msprof-analyze, tables of types by CANN version."""
_WIDE_TYPES = ("FLOAT", "DT_FLOAT", "FLOAT32", "FP32")
_INNER, _ATTENTION = 256, 128
"""Elements of which a matrix's inner axis, and head size and length of attention, should be multiples."""
HALF = 0.5
"""What a format of half the width leaves of bytes and of cube cycles at least."""


def find(view: View, thresholds: Thresholds) -> Iterator[Evidence]:
    """All of them."""
    kernels = view.kernels
    if kernels is None or not len(kernels) or view.total_us <= 0:
        return
    own = kernels.duration_us * view.alone
    yield from _aicpu(view, thresholds, own)
    yield from _unwanted(view, own)
    yield from _shapes(view, thresholds, own)
    yield from _precision(view)
    yield from _clock(view, thresholds, own)
    yield from _recompute(view, own)


def _aicpu(view: View, thresholds: Thresholds, own: Floats) -> Iterator[Evidence]:
    kernels = view.kernels
    assert kernels is not None  # noqa: S101  the caller has looked
    there = kernels.is_aicpu
    shown = thresholds.shows("aicpu-operator", "aicpu_operator_time", kernels.duration_us * 1e-6)
    lost = np.where(there, shown * own, 0.0)
    total = float(np.nansum(kernels.duration_us[there]))
    hidden = 1 - float(lost.sum()) / total if total > 0 else math.nan
    yield costly(
        view,
        "aicpu-operator",
        lost,
        f"operators on the AI CPU: {view.named(lost)}",
        Reading(metric="aicpu_masked_share", value=hidden, unit="1"),
    )
    types = kernels.texts["input_types"]
    odd = types.where(any(t in label.upper().split(";") for t in _odd()) for label in types.labels)
    if there.any():
        by_type = np.where(odd & ~_runs_on_cores(view), lost, 0.0)
        yield costly(
            view,
            "unsupported-dtype",
            by_type,
            f"types without an AI Core kernel (64 bit) in {view.named(by_type)}",
            Reading(metric="share of AI CPU time", value=_part(by_type, lost), unit="1"),
        )
        by_kind = np.where(of_kind(kernels, INDEXING) & ~_runs_on_cores(view), lost, 0.0)
        yield costly(
            view,
            "index-operators",
            by_kind,
            f"indexing on the AI CPU: {view.named(by_kind)}",
            Reading(metric="share of AI CPU time", value=_part(by_kind, lost), unit="1"),
        )


def _runs_on_cores(view: View) -> Mask:
    """Kernels whose kind ran with the same types on an AI Core too: neither can be why they ran elsewhere."""
    kernels = view.kernels
    assert kernels is not None  # noqa: S101  the caller has looked
    label, types = kernels.label, kernels.texts["input_types"]
    pairs = label.codes.astype(np.int64) * len(types.labels) + types.codes
    return np.isin(pairs, pairs[~kernels.is_aicpu])


def _odd() -> tuple[str, ...]:
    return (*_NO_AICORE_TYPES, *(f"DT_{name}" for name in _NO_AICORE_TYPES))


def _unwanted(view: View, own: Floats) -> Iterator[Evidence]:
    """Kernels that only rearrange, convert or copy: whatever they take is lost."""
    kernels = view.kernels
    assert kernels is not None  # noqa: S101  the caller has looked
    for node, kinds, says in (
        ("layout-transform", REARRANGING, "tensors rearranged between operators"),
        ("cast-traffic", CASTS, "conversions between number formats"),
        ("memory-copies", COPIES, "copies and concatenations"),
    ):
        lost = np.where(of_kind(kernels, kinds) & ~kernels.is_aicpu & view.is_new, own, 0.0)
        count = int((lost > 0).sum())
        yield costly(
            view,
            node,
            lost,
            f"{says}: {count} kernels, {view.named(lost)}",
            Reading(metric="kernels", value=count, unit="1"),
        )


def _shapes(view: View, thresholds: Thresholds, own: Floats) -> Iterator[Evidence]:
    kernels = view.kernels
    assert kernels is not None  # noqa: S101  the caller has looked
    shapes = kernels.texts["input_shapes"]
    product, flash = (
        of_kind(kernels, PRODUCTS),
        of_kind(kernels, ATTENTION),
    )
    products = set(np.unique(shapes.codes[product]))
    wasted = np.array([_inner_waste(t) if i in products else 0.0 for i, t in enumerate(shapes.labels)])
    waste = wasted[shapes.codes]
    shown = thresholds.shows("inner-axis-misalignment", "inner_axis_remainder_256", (waste > 0).astype(float))
    lost = np.where(product, shown * own * waste, 0.0)
    part = float((waste[product] > 0).mean()) if product.any() else 0.0
    yield costly(
        view,
        "inner-axis-misalignment",
        lost,
        f"inner axes that are no multiple of {_INNER}: {view.named(lost)} is padding",
        Reading(metric="inner_axis_remainder_256", value=part, unit="1"),
        level=part,
    )
    flashes = set(np.unique(shapes.codes[flash]))
    wasted = np.array([_attention_waste(t) if i in flashes else 0.0 for i, t in enumerate(shapes.labels)])
    waste = wasted[shapes.codes]
    shown = thresholds.shows(
        "attention-dimension-misalignment", "attention_dimension_remainder_128", (waste > 0).astype(float)
    )
    lost = np.where(flash, shown * own * waste, 0.0)
    part = float((waste[flash] > 0).mean()) if flash.any() else 0.0
    yield costly(
        view,
        "attention-dimension-misalignment",
        lost,
        f"attention whose head size or length is no multiple of {_ATTENTION}: {view.named(lost)} is padding",
        Reading(metric="attention_dimension_remainder_128", value=part, unit="1"),
        level=part,
    )
    yield from _blocks(view, thresholds, own)


def _blocks(view: View, thresholds: Thresholds, own: Floats) -> Iterator[Evidence]:
    """Cores that idle in the last round of blocks, or altogether."""
    kernels = view.kernels
    assert kernels is not None  # noqa: S101  the caller has looked
    if not view.cores:
        return
    core = kernels.texts["core"]
    vector = core.where(label in {"AI_VECTOR_CORE", "AIV", "MIX_AIV"} for label in core.labels)
    cores = np.where(vector, 2 * view.cores, view.cores)
    blocks = kernels.numbers["blocks"]
    known = np.nan_to_num(blocks) > 0
    rounds = np.ceil(np.where(known, blocks, 1) / cores)
    idle = np.where(known, 1 - np.where(known, blocks, 1) / (rounds * cores), 0.0)
    partly = known & (blocks > cores) & (idle > 0)
    shown = thresholds.shows("block-dim-imbalance", "block_dim_remainder", partly.astype(float))
    lost = np.where(partly, shown * own * idle, 0.0)
    yield costly(
        view,
        "block-dim-imbalance",
        lost,
        f"blocks that do not divide over {view.cores:g} cube cores: {view.named(lost)} is idle cores",
        Reading(metric="block_dim_remainder", value=float(partly.mean()), unit="1"),
        level=float(partly.mean()),
    )


def _precision(view: View) -> Iterator[Evidence]:
    """Matrix products in 32 bit. Losses, norms and softmax are left alone: they need it."""
    kernels = view.kernels
    assert kernels is not None  # noqa: S101  the caller has looked
    types = kernels.texts["input_types"]
    wide = types.where(
        bool(label) and all(t.strip().upper() in _WIDE_TYPES for t in label.split(";")[:2])
        for label in types.labels
    )
    there = of_kind(kernels, PRODUCTS) & wide
    lost = np.where(there, kernels.duration_us * view.alone * HALF, 0.0)
    share = float(np.nansum(kernels.duration_us[there])) / view.total_us
    yield costly(
        view,
        "precision-excess",
        lost,
        f"matrix products in 32 bit, {share:.0%} of the step: {view.named(lost)} could go at half the width",
        Reading(metric="high_precision_share", value=share, unit="1"),
        level=float(there.mean()),
    )


def clocks(view: View) -> Floats:
    """Clock of each compute kernel, MHz: cycles by time and cores; nan where blocks go in several rounds."""
    kernels = view.kernels
    if kernels is None:
        return np.zeros(0)
    blocks = kernels.numbers["blocks"]
    found = np.full(len(kernels), np.nan)
    for cycles, time, width in (
        ("aic_total_cycles", "aicore_time(us)", 1),
        ("aiv_total_cycles", "aiv_time(us)", 2),
    ):
        spent = kernels.pipe(time)
        cores = width * view.cores if view.cores else np.inf
        usable = np.isnan(found) & (np.nan_to_num(spent) > LEAST_US) & (blocks > 0) & (blocks <= cores)
        with np.errstate(divide="ignore", invalid="ignore"):
            clock = kernels.pipe(cycles) / spent / blocks
        found[usable] = clock[usable]
    core = kernels.texts["core"]
    mixed = core.where(label == "MIX_AIV" for label in core.labels)
    found[mixed] = np.nan  # its vector cores are twice its blocks, or not: the tool does not say
    return found


def highest_mhz(view: View) -> float:
    """The highest clock that counters or samples of a rank show, but for outliers; 0 if nothing tells."""
    clock = clocks(view)
    sampled = max((mhz for _, mhz in view.rank.frequency_mhz), default=0.0)
    return max(sampled, float(np.nanpercentile(clock, 95)) if np.isfinite(clock).any() else 0.0)


def _clock(view: View, thresholds: Thresholds, own: Floats) -> Iterator[Evidence]:
    kernels = view.kernels
    assert kernels is not None  # noqa: S101  the caller has looked
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
    yield costly(
        view,
        "frequency-drop",
        lost,
        f"the clock of the cores is {mean:.0%} below its highest ({top:.0f} MHz) on average",
        Reading(metric="aicore_frequency_drop_share", value=mean, unit="1"),
        fixed=lambda rank: _steady(rank, lost),
    )


def _steady(rank: Rank, lost: Floats) -> Rank:
    """The facts at a steady clock: kernels shorter, and cycles by time the same for all."""
    fixed = shortened(rank, lost)
    kernels = fixed.kernels
    if kernels is None:
        return fixed
    pipes = {name: column for name, column in kernels.pipes.items() if not name.endswith("total_cycles")}
    return replace(fixed, kernels=replace(kernels, pipes=pipes), frequency_mhz=())


def _recompute(view: View, own: Floats) -> Iterator[Evidence]:
    """Forward operators that run more often than their backward ones: activations are computed again."""
    kernels = view.kernels
    assert kernels is not None  # noqa: S101  the caller has looked
    label = kernels.label
    counts = np.bincount(label.codes, minlength=len(label.labels))
    by_name = {name.lower(): i for i, name in enumerate(label.labels) if counts[i]}
    lost = np.zeros(len(kernels))
    again = []
    for name, place in by_name.items():
        backward = by_name.get(f"{name}grad")
        if backward is None or counts[place] < 2:
            continue
        more = 1 - counts[backward] / counts[place]
        if more > 0:
            again.append(more)
            lost[label.codes == place] = own[label.codes == place] * more
    if again:
        most = max(again)
        # A product has two backward ones of its size: of f forward runs, f * more are again.
        product = of_kind(kernels, PRODUCTS)
        runs = 1 / (1 - most) if most < 1 else 1.0
        lost[product] = own[product] * (runs - 1) / (runs + 2)
    yield costly(
        view,
        "recompute-overhead",
        lost,
        f"forward operators run again in the backward pass: {view.named(lost)}",
        Reading(metric="share of forward runs that are repeats", value=max(again, default=0.0), unit="1"),
    )


def costly(
    view: View,
    node: str,
    lost: Floats,
    says: str,
    reading: Reading,
    *,
    fixed: Callable[[Rank], Rank] | None = None,
    level: float | None = None,
) -> Evidence:
    """Evidence of what compute kernels lose, in microseconds, shape (n,)."""
    total = float(np.nan_to_num(lost).sum())
    return Evidence(
        node=node,
        shown=1.0,
        lost_us=total,
        share=total / view.total_us,
        says=says,
        readings=(reading,),
        places=view.places(lost),
        rank=view.rank.rank,
        fixed=fixed or (lambda rank: without(rank, lost)),
        lost_by_kernel_us=lost,
        level=level,
    )


def without(rank: Rank, lost: Floats) -> Rank:
    """The facts with compute kernels shorter by what they lose; those that lose all are gone."""
    fixed = shortened(rank, lost)
    if fixed.kernels is None:
        return fixed
    kept = np.ones(len(fixed.kernels), np.bool_)
    gone = (
        lost >= 0.5 * np.nan_to_num(rank.kernels.duration_us[rank.kernels.is_compute])
        if rank.kernels
        else lost > 0
    )
    kept[fixed.kernels.is_compute] = ~gone
    return replace(fixed, kernels=fixed.kernels.where(kept))


def _part(some: Floats, whole: Floats) -> float:
    total = float(whole.sum())
    return float(some.sum()) / total if total > 0 else 0.0


def _sizes(text: str) -> list[list[int]]:
    shapes = []
    for part in text.split(";"):
        sizes = [piece.strip() for piece in part.split(",")]
        shapes.append([int(size) for size in sizes] if all(size.isdigit() for size in sizes) else [])
    return shapes


def _padding(size: int, multiple: int) -> float:
    """Share of a tile row that is padding."""
    return 1 - size / (math.ceil(size / multiple) * multiple) if size > 0 else 0.0


def _inner_waste(text: str) -> float:
    return max((_padding(shape[-1], _INNER) for shape in _sizes(text)[:2] if len(shape) > 1), default=0.0)


def _attention_waste(text: str) -> float:
    first = next((shape for shape in _sizes(text) if len(shape) >= 3), [])
    if not first:
        return 0.0
    size = first[-1] if len(first) == 4 else 0  # BSH and SBH hide the head size in the width
    length = max(first[:-1])
    return max(_padding(size, _ATTENTION) if size else 0.0, _padding(length, _ATTENTION))
