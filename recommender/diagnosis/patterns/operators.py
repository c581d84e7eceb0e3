"""Operators that a better program would not run: on the AI CPU, rearranging, too precise, repeated."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from recommender.diagnosis.evidence import MetricReading, kernel_evidence
from recommender.diagnosis.rank.kinds import CASTS, COPIES, INDEXING, PRODUCTS, REARRANGING, of_kind

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ingest.profiles.facts.kernels import Floats, Mask
    from recommender.diagnosis.evidence import SoftEvidence
    from recommender.diagnosis.rank.view import KernelView
    from recommender.diagnosis.thresholds import Thresholds


_NO_AICORE_TYPES = ("INT64", "DOUBLE", "FLOAT64", "UINT64", "COMPLEX64", "COMPLEX128")
"""Types for which many operators have no AI Core kernel: msprof-analyze, tables of types by CANN version."""


_WIDE_TYPES = ("FLOAT", "DT_FLOAT", "FLOAT32", "FP32", "TF32")
"""Types whose tensors are 32 bits wide; TF32 is how a GPU may multiply them."""


HALF = 0.5
"""Least share of bytes and of cube cycles that a format of half the width leaves."""


def find(view: KernelView, thresholds: Thresholds) -> Iterator[SoftEvidence]:
    """Evidence of each such kind of operator."""
    kernels = view.kernels
    if view.total_us <= 0:
        return
    own = kernels.duration_us * view.exclusive
    yield from _aicpu(view, thresholds, own)
    yield from _data_movement(view, own)
    yield from _precision(view)
    yield from _recompute(view, own)


def _aicpu(view: KernelView, thresholds: Thresholds, own: Floats) -> Iterator[SoftEvidence]:
    kernels = view.kernels
    there = kernels.is_aicpu
    shown = thresholds.shows("aicpu-operator", "aicpu_operator_time", kernels.duration_us * 1e-6)
    lost = np.where(there, shown * own, 0.0)
    total = float(np.nansum(kernels.duration_us[there]))
    masked = 1 - float(lost.sum()) / total if total > 0 else math.nan
    yield kernel_evidence(
        view,
        "aicpu-operator",
        lost,
        f"operators on the AI CPU: {view.costliest(lost)}",
        MetricReading(metric="aicpu_masked_share", value=masked, unit="1"),
    )
    types = kernels.texts["input_types"]
    odd = types.where(any(t in label.upper().split(";") for t in _off_core_types()) for label in types.labels)
    if there.any():
        of_types = np.where(odd & ~_runs_on_cores(view), lost, 0.0)
        yield kernel_evidence(
            view,
            "unsupported-dtype",
            of_types,
            f"types without an AI Core kernel (64 bit) in {view.costliest(of_types)}",
            MetricReading(metric="share of AI CPU time", value=_part(of_types, lost), unit="1"),
        )
        of_indexing = np.where(of_kind(kernels, INDEXING) & ~_runs_on_cores(view), lost, 0.0)
        yield kernel_evidence(
            view,
            "index-operators",
            of_indexing,
            f"indexing on the AI CPU: {view.costliest(of_indexing)}",
            MetricReading(metric="share of AI CPU time", value=_part(of_indexing, lost), unit="1"),
        )


def _runs_on_cores(view: KernelView) -> Mask:
    """Kernels whose kind ran with the same types on an AI Core too: neither can be why they ran elsewhere."""
    kernels = view.kernels
    label, types = kernels.label, kernels.texts["input_types"]
    pairs = label.codes.astype(np.int64) * len(types.labels) + types.codes
    return np.isin(pairs, pairs[~kernels.is_aicpu])


def _off_core_types() -> tuple[str, ...]:
    return (*_NO_AICORE_TYPES, *(f"DT_{name}" for name in _NO_AICORE_TYPES))


def _data_movement(view: KernelView, own: Floats) -> Iterator[SoftEvidence]:
    """Kernels that only rearrange, convert or copy: whatever they take is lost."""
    kernels = view.kernels
    for node, kinds, says in (
        ("layout-transform", REARRANGING, "tensors rearranged between operators"),
        ("cast-traffic", CASTS, "conversions between number formats"),
        ("memory-copies", COPIES, "copies and concatenations"),
    ):
        lost = np.where(of_kind(kernels, kinds) & ~kernels.is_aicpu & view.is_new, own, 0.0)
        count = int((lost > 0).sum())
        yield kernel_evidence(
            view,
            node,
            lost,
            f"{says}: {count} kernels, {view.costliest(lost)}",
            MetricReading(metric="kernels", value=count, unit="1"),
        )


def _precision(view: KernelView) -> Iterator[SoftEvidence]:
    """Matrix products in 32 bit. Losses, norms and softmax are left alone: they need it."""
    kernels = view.kernels
    types = kernels.texts["input_types"]
    wide = types.where(
        bool(label) and all(t.strip().upper() in _WIDE_TYPES for t in label.split(";")[:2])
        for label in types.labels
    )
    there = of_kind(kernels, PRODUCTS) & wide
    lost = np.where(there, kernels.duration_us * view.exclusive * HALF, 0.0)
    share = float(np.nansum(kernels.duration_us[there])) / view.total_us
    yield kernel_evidence(
        view,
        "precision-excess",
        lost,
        f"matrix products in 32 bit, {share:.0%} of the step: "
        f"{view.costliest(lost)} could go at half the width",
        MetricReading(metric="high_precision_share", value=share, unit="1"),
        level=float(there.mean()),
    )


def _recompute(view: KernelView, own: Floats) -> Iterator[SoftEvidence]:
    """Forward operators that run more often than their backward ones: activations are computed again."""
    kernels = view.kernels
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
    yield kernel_evidence(
        view,
        "recompute-overhead",
        lost,
        f"forward operators run again in the backward pass: {view.costliest(lost)}",
        MetricReading(
            metric="share of forward runs that are repeats", value=max(again, default=0.0), unit="1"
        ),
    )


def _part(some: Floats, everything: Floats) -> float:
    total = float(everything.sum())
    return float(some.sum()) / total if total > 0 else 0.0
