"""Attention that is written out as products around a softmax, where one fused kernel would do."""

import numpy as np

from ingest.profiles.facts.kernels import Kernels, Mask
from recommender.diagnosis.rank.kinds import ELEMENTWISE, PRODUCTS, kernel_kind, of_kind
from recommender.diagnosis.rank.view import KernelView

_WIDE_TYPES = ("FLOAT", "DT_FLOAT", "FLOAT32", "FP32", "TF32")
"""Types whose tensors are 32 bits wide; TF32 is how a GPU may multiply them."""

HALF = 0.5
"""Least share of bytes and of cube cycles that a format of half the width leaves."""

_BETWEEN = frozenset(
    {
        *(*ELEMENTWISE, "dropout", "dropoutdomask", "softmaxgrad", "viewcopy"),
        *("fill", "zeros", "ones", "memset", "triu", "tril"),  # a mask that is made anew
    }
)
"""Kinds of kernels that attention may have between its products besides softmax."""
_MOST_BETWEEN = 8
"""Such kernels on either side of the softmax: scale, bias, mask, casts, dropout, a copy."""


def is_wide(kernels: Kernels) -> Mask:
    """Kernels whose first two tensors have 32 bits, shape (n,)."""
    types = kernels.texts["input_types"]
    return types.where(
        bool(label) and all(t.strip().upper() in _WIDE_TYPES for t in label.split(";")[:2])
        for label in types.labels
    )


def widened(view: KernelView, products: Mask) -> Mask:
    """Products of written out attention in 32 bit in a program whose other products have less, shape (n,).

    Fused attention takes them in the width of the program.

    Args:
        view: The rank.
        products: All products of its written out attention, shape (n,).
    """
    wide, spent = is_wide(view.kernels), view.kernels.duration_us
    others = of_kind(view.kernels, PRODUCTS) & ~products
    is_narrow = float(spent[others & wide].sum()) < HALF * float(spent[others].sum())
    return products & wide & is_narrow


def written_out(view: KernelView) -> tuple[Mask, Mask]:
    """Kernels between two products, a softmax among them, and the products, each shape (n,).

    Backward, the softmax lies between two of four products: those beside them are of the attention too.
    """
    kernels = view.kernels
    label = kernels.label
    kinds = [kernel_kind(text) for text in label.labels]
    softmax = np.array([kind.startswith("softmax") for kind in kinds], np.bool_)
    between = np.array([kind in _BETWEEN or kind.startswith("softmax") for kind in kinds], np.bool_)
    product = np.array([kind.startswith(PRODUCTS) for kind in kinds], np.bool_)
    found, ends_of = np.zeros(len(kernels), np.bool_), np.zeros(len(kernels), np.bool_)
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
            beside = [] if kinds[codes[place]] == "softmax" else [ends[0] - 1, ends[1] + 1]
            beside = [at for at in beside if 0 <= at < len(order) and product[codes[at]]]
            ends_of[order[[*ends, *beside]]] = True
    return found, ends_of
