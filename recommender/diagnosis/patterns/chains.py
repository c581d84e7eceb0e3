"""Runs of small operators that one fused kernel would replace."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ingest.profiles.facts.kernels import UNKNOWN_NS
from recommender.diagnosis.evidence import MetricReading, kernel_evidence
from recommender.diagnosis.rank.kinds import (
    ELEMENTWISE,
    PRODUCTS,
    kernel_kind,
    longest_of_chains,
    pair_counts,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ingest.profiles.facts.kernels import Floats, Mask
    from recommender.diagnosis.evidence import SoftEvidence
    from recommender.diagnosis.rank.view import KernelView
    from recommender.diagnosis.thresholds import Thresholds

_SIGNATURES = (
    ("optimizer-traffic", ("addcdiv", "addcmul", "sqrt")),
    ("normalisation-traffic", ("rsqrt",)),
    ("activation-function-traffic", ("sigmoid", "swish", "silu", "gelu", "erf", "tanh")),
    ("rotary-embedding-traffic", ("neg",)),
)
"""Operators by which a chain is known to stand for a fused one; the first that fits counts."""


def find(view: KernelView, thresholds: Thresholds) -> Iterator[SoftEvidence]:
    """Evidence of chains that repeat, by the layers they belong to."""
    kernels = view.kernels
    if view.total_us <= 0 or not (kernels.start_ns != UNKNOWN_NS).any():
        return
    attention = _written_out(view)
    runs = view.chains
    often = thresholds.shows("unfused-operators", "fusible_chain_count", pair_counts(runs, len(kernels)))
    own = np.where(view.is_new, kernels.duration_us * view.exclusive, 0.0)
    of_attention = np.where(attention, own, 0.0)
    yield kernel_evidence(
        view,
        "attention-memory-traffic",
        of_attention,
        "attention is written out as product, scale, softmax, product; between its products: "
        f"{view.costliest(of_attention)}",
        MetricReading(metric="share of the step", value=float(of_attention.sum()) / view.total_us, unit="1"),
    )
    own = np.where(attention, 0.0, own)
    stays = longest_of_chains(runs, own)
    lost = np.zeros(len(kernels))
    of_layer: dict[str, Floats] = {}
    for rows, kinds in runs:
        saved = np.where(stays[rows], 0.0, own[rows] * often[rows])
        lost[rows] += saved
        layer = next((node for node, marks in _SIGNATURES if any(mark in kinds for mark in marks)), "")
        if layer:
            of_layer.setdefault(layer, np.zeros(len(kernels)))[rows] += saved
    share = float(lost.sum()) / view.total_us
    yield kernel_evidence(
        view,
        "unfused-operators",
        lost,
        f"{len(runs)} runs of small operators that a fused kernel would replace: {view.costliest(lost)}",
        MetricReading(metric="fusible_chain_duration_share", value=share, unit="1"),
    )
    for node, cost in of_layer.items():
        yield kernel_evidence(
            view,
            node,
            cost,
            f"small operators of one layer: {view.costliest(cost)}",
            MetricReading(metric="share of the step", value=float(cost.sum()) / view.total_us, unit="1"),
        )


_BETWEEN = frozenset({*ELEMENTWISE, "dropout", "dropoutdomask", "softmaxgrad", "viewcopy", "elementwise"})
"""Kinds of kernels that attention may have between its products besides softmax."""
_MOST_BETWEEN = 8
"""Such kernels on either side of the softmax: scale, bias, mask, casts, dropout, a copy."""


def _written_out(view: KernelView) -> Mask:
    """Kernels between two products, a softmax among them, shape (n,): fused attention does not write them."""
    kernels = view.kernels
    label = kernels.label
    kinds = [kernel_kind(text) for text in label.labels]
    softmax = np.array([kind.startswith("softmax") for kind in kinds], np.bool_)
    between = np.array([kind in _BETWEEN or kind.startswith("softmax") for kind in kinds], np.bool_)
    product = np.array([kind.startswith(PRODUCTS) for kind in kinds], np.bool_)
    found = np.zeros(len(kernels), np.bool_)
    order = np.lexsort((kernels.start_ns, kernels.texts["stream"].codes))
    codes, stream = label.codes[order], kernels.texts["stream"].codes[order]
    for place in np.flatnonzero(softmax[codes]):
        ends = []
        for way in (-1, 1):
            at = int(place) + way
            while abs(at - place) <= _MOST_BETWEEN and 0 <= at < len(order) and between[codes[at]]:
                at += way
            if 0 <= at < len(order) and product[codes[at]] and stream[at] == stream[place]:
                ends.append(at)
        if len(ends) == 2:
            found[order[ends[0] + 1 : ends[1]]] = True
    return found
