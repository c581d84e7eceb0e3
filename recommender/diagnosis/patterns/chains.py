"""Runs of small operators that one fused kernel would replace."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ingest.profiles.facts.kernels import UNKNOWN_NS
from recommender.diagnosis.evidence import MetricReading, of_kernels, of_setting
from recommender.diagnosis.rank.kinds import longest, repeats
from recommender.diagnosis.thresholds import soft

if TYPE_CHECKING:
    from collections.abc import Iterator

    from recommender.diagnosis.evidence import SoftEvidence
    from recommender.diagnosis.rank.view import Floats, View
    from recommender.diagnosis.thresholds import Thresholds

_SIGNATURES = (
    ("optimizer-traffic", ("addcdiv", "addcmul", "sqrt")),
    ("normalisation-traffic", ("rsqrt",)),
    ("attention-memory-traffic", ("softmax",)),
    ("activation-function-traffic", ("sigmoid", "swish", "silu", "gelu", "erf", "tanh")),
    ("rotary-embedding-traffic", ("neg",)),
)
"""What in a chain tells which fused operator it stands for; the first that fits."""


def find(view: View, thresholds: Thresholds) -> Iterator[SoftEvidence]:
    """Chains that repeat, the layers they belong to, and what broke them."""
    kernels = view.kernels
    if kernels is None or view.total_us <= 0 or not (kernels.start_ns != UNKNOWN_NS).any():
        return
    found, broken = view.chains
    often = thresholds.shows("unfused-operators", "fusible_chain_count", repeats(found, len(kernels)))
    own = np.where(view.is_new, kernels.duration_us * view.alone, 0.0)
    stays = longest(found, own)
    lost = np.zeros(len(kernels))
    of_layer: dict[str, Floats] = {}
    for rows, kinds in found:
        saved = np.where(stays[rows], 0.0, own[rows] * often[rows])
        lost[rows] += saved
        layer = next((node for node, marks in _SIGNATURES if any(mark in kinds for mark in marks)), "")
        if layer:
            of_layer.setdefault(layer, np.zeros(len(kernels)))[rows] += saved
    share = float(lost.sum()) / view.total_us
    yield of_kernels(
        view,
        "unfused-operators",
        lost,
        f"{len(found)} runs of small operators that a fused kernel would replace: {view.named(lost)}",
        MetricReading(metric="fusible_chain_duration_share", value=share, unit="1"),
    )
    for node, cost in of_layer.items():
        yield of_kernels(
            view,
            node,
            cost,
            f"small operators of one layer: {view.named(cost)}",
            MetricReading(metric="share of the step", value=float(cost.sum()) / view.total_us, unit="1"),
        )
    for node, count in broken.items():
        yield of_setting(
            view,
            node,
            f"{count} such runs are broken by it",
            (),
            shown=float(soft(np.asarray(float(count)), 5, 2)),
            readings=(MetricReading(metric="broken chains", value=count, unit="1"),),
            share=share,
        )
