"""Phases of a server's steps: prompts that make the steps that only decode wait, and the choice of tokens."""

from collections.abc import Iterator

import numpy as np

from recommender.diagnosis.evidence import MetricReading, SoftEvidence, kernel_evidence
from recommender.diagnosis.rank.kinds import ATTENTION, PRODUCTS, of_kind
from recommender.diagnosis.rank.program_signs import trains
from recommender.diagnosis.rank.view import KernelView
from recommender.diagnosis.thresholds import Thresholds

LEAST_STEPS, MOST_PART = 8, 0.25
"""Steps of a run, and part of them that read prompts, if the others can be said to wait. Assumed."""
MOSTLY = 0.5
"""Part of the time of attention, or of products, in kernels that no short step runs. Assumed."""
LONGER = 2.0
"""Times of the median that such a step computes: less would not be felt between two tokens. Assumed."""


def find(view: KernelView, _thresholds: Thresholds) -> Iterator[SoftEvidence]:
    """Evidence of both."""
    yield from _prompts(view)
    yield from _sampling(view)


def _sampling(view: KernelView) -> Iterator[SoftEvidence]:
    """Evidence of steps that sort behind their last product: the vocabulary, to choose a token.

    A sampler that keeps the likely tokens by rejection, or takes the best, needs no order of all.
    """
    kernels = view.kernels
    if not view.infers or not of_kind(kernels, ATTENTION).any():
        return
    step, products = kernels.texts["step"].codes, of_kind(kernels, PRODUCTS)
    last = np.full(int(step.max()) + 1, np.iinfo(np.int64).max)
    last[step[products]] = -1
    np.maximum.at(last, step[products], kernels.start_ns[products])
    behind = kernels.start_ns > last[step]
    sorts = behind & of_kind(kernels, ("sort",))
    if not sorts.any():
        return
    lost = np.where(behind & np.isin(step, step[sorts]), kernels.duration_us * view.exclusive, 0.0)
    yield kernel_evidence(
        view,
        "sampler-high-latency",
        lost,
        f"behind the last product of a step, where tokens are chosen, all are sorted: {view.costliest(lost)}",
        MetricReading(metric="share of the step", value=float(lost.sum()) / view.total_us, unit="1"),
    )


def _prompts(view: KernelView) -> Iterator[SoftEvidence]:
    """Evidence of a few long steps with attention or products of a form that the many short ones do not run.

    A decoding step reads a cache and multiplies a few rows, by kernels made for one token of each request; a
    prompt has others.
    """
    kernels = view.kernels
    column = kernels.texts["step"]
    present, step = np.unique(column.codes, return_inverse=True)
    attention = of_kind(kernels, ATTENTION)
    if len(present) < LEAST_STEPS or not attention.any() or trains(view.rank):
        return
    own = kernels.duration_us * view.exclusive
    computing = np.bincount(step, weights=own)
    middle = float(np.median(computing))
    long = computing > LONGER * middle
    name = kernels.texts["name"].codes
    of_short = np.unique(name[~long[step]])
    products = of_kind(kernels, PRODUCTS)
    others = np.zeros(len(present), np.bool_)
    for kind in (attention, products):
        new = np.bincount(step, weights=own * (kind & ~np.isin(name, of_short)), minlength=len(present))
        others |= (new > 0) & (new >= MOSTLY * np.bincount(step, weights=own * kind, minlength=len(present)))
    reads = long & others
    if not 0 < reads.sum() <= MOST_PART * len(present) or not len(of_short):
        return
    part = np.where(reads, 1 - middle / np.maximum(computing, middle), 0.0)
    yield kernel_evidence(
        view,
        "prefill-decode-interference",
        own * part[step],
        f"{int(reads.sum())} of {len(present)} steps compute {float(computing[reads].mean()) / 1e3:.1f} ms, "
        f"the others {middle / 1e3:.1f} ms: with kernels that these do not run, as over a prompt",
        MetricReading(metric="steps that read prompts", value=float(reads.sum()), unit="1"),
    )
