"""Runs of small operators that one fused kernel would replace."""

from collections.abc import Iterator

import numpy as np

from ingest.profiles.facts.kernels import UNKNOWN_NS, Floats
from recommender.diagnosis.evidence import MetricReading, SoftEvidence, kernel_evidence
from recommender.diagnosis.patterns.attention import HALF, widened, written_out
from recommender.diagnosis.rank.kinds import longest_of_chains, pair_counts
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
    attention, products = written_out(view)
    runs = view.chains
    often = thresholds.shows("unfused-operators", "fusible_chain_count", pair_counts(runs, len(kernels)))
    own = np.where(view.is_new, kernels.duration_us * view.exclusive, 0.0)
    of_attention = np.where(attention, own, 0.0) + np.where(widened(view, products), HALF * own, 0.0)
    yield kernel_evidence(
        view,
        "attention-memory-traffic",
        of_attention,
        "attention is written out as product, scale, softmax, product; that costs: "
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
