"""Runs of small operators that one fused kernel would replace."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ingest.profiles.kernels import UNKNOWN_NS
from recommender.diagnosis.evidence import Evidence, Reading
from recommender.diagnosis.operators import costly
from recommender.diagnosis.thresholds import soft

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ingest.profiles.kernels import Kernels
    from recommender.diagnosis.evidence import Floats, View
    from recommender.diagnosis.thresholds import Thresholds

LONGEST = 10
"""Operators of a chain at most, as in msprof-analyze's search for fusible operators; 2 at least."""

_ELEMENTWISE = (
    "add", "adds", "axpy", "mul", "muls", "sub", "subs", "div", "realdiv", "divs", "rsqrt", "sqrt", "square",
    "pow", "pows", "neg", "exp", "log", "sigmoid", "tanh", "erf", "gelu", "swish", "silu", "relu", "reducemean",
    "reducesum", "maximum", "minimum", "reciprocal", "addcmul", "addcdiv", "maskedfill", "select", "softmax",
    "biasadd", "abs", "cast",
)  # fmt: skip
_BREAKERS = {
    "reshape": "fusion-broken-by-reshape", "transpose": "fusion-broken-by-reshape",
    "dropout": "fusion-broken-by-dropout", "dropoutdomask": "fusion-broken-by-dropout",
}  # fmt: skip
_SIGNATURES = (
    ("optimizer-traffic", ("addcdiv", "addcmul", "sqrt")),
    ("normalisation-traffic", ("rsqrt",)),
    ("attention-memory-traffic", ("softmax",)),
    ("activation-function-traffic", ("sigmoid", "swish", "silu", "gelu", "erf", "tanh")),
    ("rotary-embedding-traffic", ("neg",)),
)
"""What in a chain tells which fused operator it stands for; the first that fits."""


def find(view: View, thresholds: Thresholds) -> Iterator[Evidence]:
    """Chains that repeat, the layers they belong to, and what broke them."""
    kernels = view.kernels
    if kernels is None or view.total_us <= 0 or not (kernels.start_ns != UNKNOWN_NS).any():
        return
    chains, broken = _chains(kernels)
    counts: dict[tuple[str, ...], int] = {}
    for _, kinds in chains:
        counts[kinds] = counts.get(kinds, 0) + 1
    own = kernels.duration_us * view.alone
    lost = np.zeros(len(kernels))
    of_layer: dict[str, Floats] = {}
    for rows, kinds in chains:
        how_often = float(thresholds.shows("unfused-operators", "fusible_chain_count", counts[kinds]))
        spent = own[rows]
        longest = int(np.argmax(spent))
        saved = spent * how_often
        saved[longest] = 0.0  # the fused kernel reads and writes about what the largest of them does
        lost[rows] += saved
        layer = next((node for node, marks in _SIGNATURES if any(mark in kinds for mark in marks)), "")
        if layer:
            of_layer.setdefault(layer, np.zeros(len(kernels)))[rows] += saved
    share = float(lost.sum()) / view.total_us
    found = costly(
        view, "unfused-operators", lost,
        f"{len(chains)} runs of small operators that a fused kernel would replace: {view.named(lost)}",
        Reading(metric="fusible_chain_duration_share", value=share, unit="1"),
    )  # fmt: skip
    yield found
    for node, cost in of_layer.items():
        yield costly(
            view, node, cost, f"small operators of one layer: {view.named(cost)}",
            Reading(metric="share of the step", value=float(cost.sum()) / view.total_us, unit="1"),
        )  # fmt: skip
    for node, count in broken.items():
        yield Evidence(
            node=node, shown=float(soft(np.asarray(float(count)), 5, 2)), lost_us=0.0, share=share,
            says=f"{count} such runs are broken by it", rank=view.rank.rank, is_setting=True,
            readings=(Reading(metric="broken chains", value=count, unit="1"),),
        )  # fmt: skip


def _chains(kernels: Kernels) -> tuple[list[tuple[list[int], tuple[str, ...]]], dict[str, int]]:
    """Rows and kinds of each run, by stream in order of time; and how often what broke one."""
    label = kernels.label
    plain = [_plain(text) for text in label.labels]
    stream = kernels.texts["stream"].codes
    order = np.lexsort((kernels.start_ns, stream))
    chains: list[tuple[list[int], tuple[str, ...]]] = []
    broken: dict[str, int] = {}
    run: list[int] = []

    def close() -> None:
        kinds = tuple(plain[label.codes[row]] for row in run)
        if len(run) >= 2 and len({*kinds} - {"cast"}) >= 1:
            for start in range(0, len(run), LONGEST):
                part = run[start : start + LONGEST]
                if len(part) >= 2:
                    chains.append((part, kinds[start : start + LONGEST]))
        run.clear()

    before = -1
    for place in order:
        row = int(place)
        kind = plain[label.codes[row]]
        if int(stream[row]) != before:
            close()
            before = int(stream[row])
        if kind in _ELEMENTWISE:
            run.append(row)
            continue
        breaker = _BREAKERS.get(kind)
        if breaker and len(run) >= 1:
            broken[breaker] = broken.get(breaker, 0) + 1
        close()
    close()
    return chains, broken


def _plain(text: str) -> str:
    """A kind without version and prefix: ``aclnnMul_MulAiCore_Mul`` and ``MulV2`` are ``mul``."""
    return (
        text.rpartition("_")[2].lower().rstrip("0123456789").removesuffix("v").removesuffix("d")
        or text.lower()
    )
