"""Operators that a better program would not run: on the AI CPU, rearranging, too precise, repeated."""

import math
import re
from collections.abc import Iterator

import numpy as np

from ingest.profiles.facts.kernels import Floats, Kernels, Mask
from recommender.diagnosis.evidence import MetricReading, SoftEvidence, kernel_evidence
from recommender.diagnosis.patterns.attention import HALF, is_wide, widened, written_out
from recommender.diagnosis.rank.kinds import CASTS, COPIES, INDEXING, PADDING, PRODUCTS, REARRANGING, of_kind
from recommender.diagnosis.rank.view import KernelView
from recommender.diagnosis.thresholds import Thresholds

_NO_AICORE_TYPES = ("INT64", "DOUBLE", "FLOAT64", "UINT64", "COMPLEX64", "COMPLEX128")
"""Types for which many operators have no AI Core kernel: msprof-analyze, tables of types by CANN version."""


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
    yield from _search(view, own)
    yield from _lookups(view, own)


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
        ("memory-copies", tuple(kind for kind in COPIES if kind != PADDING), "copies and concatenations"),
        ("data-padding", (PADDING,), "tensors padded while the step runs"),
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
    """Matrix products in 32 bit, and what is in 64. Losses, norms and softmax need no more than 32."""
    kernels = view.kernels
    types = kernels.texts["input_types"]
    double = types.where("DOUBLE" in label.upper().split(";")[:2] for label in types.labels)
    there = (of_kind(kernels, PRODUCTS) & is_wide(kernels)) | (double & ~kernels.is_aicpu)
    if there.any():
        there &= ~widened(view, written_out(view)[1])
    lost = np.where(there, kernels.duration_us * view.exclusive * HALF, 0.0)
    share = float(np.nansum(kernels.duration_us[there])) / view.total_us
    which = "operators in 64 bit" if (double & there).any() else "matrix products in 32 bit"
    yield kernel_evidence(
        view,
        "precision-excess",
        lost,
        f"{which}, {share:.0%} of the step: {view.costliest(lost)} could go at half the width",
        MetricReading(metric="high_precision_share", value=share, unit="1"),
        level=float(there.mean()),
    )


_BACKWARD = re.compile(r"grad|bwd|backward|_wrw", re.IGNORECASE)
"""In the name of what runs backward: operators of CANN and PyTorch, cuDNN, MIOpen, FlashAttention."""

_OPTIMISER = re.compile(r"adam|lamb|sgd|multitensor", re.IGNORECASE)


def _recompute(view: KernelView, own: Floats) -> Iterator[SoftEvidence]:
    """Forward work that runs again behind the first backward kernel of its step.

    One run of an operator may be several kernels, forward or backward, so that kernels of one name are
    counted; what runs more often forward, but before all that is backward, is another model's forward.
    """
    kernels = view.kernels
    name, label = kernels.texts["name"], kernels.label
    back = name.where(bool(_BACKWARD.search(text)) for text in name.labels)
    back |= label.where(bool(_BACKWARD.search(text)) for text in label.labels)
    lost = np.zeros(len(kernels))
    behind = _behind_the_first(back, kernels)
    keys = [text.lower().removesuffix("grad") for text in label.labels]
    numbers = {key: place for place, key in enumerate(dict.fromkeys(keys))}
    operator = np.array([numbers[key] for key in keys], np.int64)[label.codes]
    pairs = operator * (len(name.labels) + 1) + name.codes
    runs = {}
    for way in (False, True):
        present, count = np.unique(pairs[back == way], return_counts=True)
        runs[way] = dict(zip(present.tolist(), count.tolist(), strict=True))
    most_back: dict[int, int] = {}
    for pair, count in runs[True].items():
        place = pair // (len(name.labels) + 1)
        most_back[place] = max(most_back.get(place, 0), count)
    again = []
    for pair, count in runs[False].items():
        needed = most_back.get(pair // (len(name.labels) + 1))
        mine = (pairs == pair) & ~back & behind
        more = 0 if needed is None else min(count - needed, int(mine.sum()))
        if more > 0 and count > 1:
            again.append(more / count)
            lost[mine] = own[mine] * more / mine.sum()
    if again:
        # A product has two backward ones of its size: of f forward runs, f * more are again.
        product = of_kind(kernels, PRODUCTS) & (lost == 0)
        ratio = 1 / (1 - max(again)) if max(again) < 1 else 1.0
        lost[product] = own[product] * (ratio - 1) / (ratio + 2)
    yield kernel_evidence(
        view,
        "recompute-overhead",
        lost,
        f"forward operators run again in the backward pass: {view.costliest(lost)}",
        MetricReading(
            metric="share of forward runs that are repeats", value=max(again, default=0.0), unit="1"
        ),
    )


def _behind_the_first(back: Mask, kernels: Kernels) -> Mask:
    """Kernels that begin behind the first backward one of their step and before its last, shape (n,).

    Where no step is marked, one ends with its optimiser.
    """
    step, start = kernels.texts["step"].codes.astype(np.int64), kernels.start_ns
    if not step.any() and not any(kernels.texts["step"].labels):
        label = kernels.label
        updates = label.where(bool(_OPTIMISER.search(text)) for text in label.labels)
        order = np.argsort(start, kind="stable")
        begins = updates[order] & ~np.append(updates[order][1:], False)
        step[order] = np.cumsum(np.append(0, begins[:-1]))
    count = int(step.max(initial=0)) + 1
    first, last = np.full(count, np.iinfo(np.int64).max), np.full(count, np.iinfo(np.int64).min)
    np.minimum.at(first, step[back], start[back])
    np.maximum.at(last, step[back], start[back])
    return np.asarray((start > first[step]) & (start < last[step]), np.bool_)


OF_A_CALL = 3
"""Different convolution kernels of one call at most: two gradients, and one that adds up parts."""


def _search(view: KernelView, own: Floats) -> Iterator[SoftEvidence]:
    """Convolution kernels that are tried one after another on the same tensors: one of them is needed.

    Libraries time all they have at the first call of each shape (cuDNN's benchmark mode, MIOpen's find mode).
    """
    kernels = view.kernels
    shapes, names = kernels.texts["input_shapes"], kernels.texts["name"].codes
    known = shapes.where(bool(text) for text in shapes.labels)
    tried = of_kind(kernels, ("conv",)) & known
    order = np.lexsort((kernels.start_ns, kernels.texts["stream"].codes))
    key = np.where(known, shapes.codes, -1)[order]  # with what prepares and ends each try
    lost, searches = np.zeros(len(kernels)), 0
    for rows in np.split(order, np.flatnonzero(np.diff(key)) + 1):
        of_tries = rows[tried[rows]]
        if len(np.unique(names[of_tries])) > OF_A_CALL:
            at = np.flatnonzero(tried[rows])
            within = rows[at[0] : at[-1] + 1]
            if 2 * len(of_tries) <= len(within):
                continue
            lost[within] = own[within]
            lost[[of_tries[np.argmin(own[of_tries])], of_tries[-1]]] = 0.0
            searches += 1
    if searches:
        yield kernel_evidence(
            view,
            "operator-compilation-latency",
            lost,
            f"{searches} calls try many convolution kernels on the same tensors: {view.costliest(lost)}",
            MetricReading(metric="calls that search", value=searches, unit="1"),
        )


def _lookups(view: KernelView, own: Floats) -> Iterator[SoftEvidence]:
    """Rows of tables read one by one, and their gradients, for which indices are sorted and scattered."""
    kernels = view.kernels
    there = of_kind(kernels, ("embedding",))
    order = np.lexsort((kernels.start_ns, kernels.texts["stream"].codes))
    of_run = (there | of_kind(kernels, ("sort", "index", "unique")))[order]
    run = np.cumsum(np.diff(of_run, prepend=False))
    counts = np.bincount(run, weights=of_kind(kernels, ("embeddinggrad",))[order])
    there[order[of_run & (counts[run] > 0)]] = True
    lost = np.where(there & view.is_new, own, 0.0)
    yield kernel_evidence(
        view,
        "embedding-random-access",
        lost,
        f"rows of tables are read and their gradients put together: {view.costliest(lost)}",
        MetricReading(metric="kernels", value=int(there.sum()), unit="1"),
    )


def _part(some: Floats, everything: Floats) -> float:
    total = float(everything.sum())
    return float(some.sum()) / total if total > 0 else 0.0
