"""Kinds of kernels, from the names that profilers give their types."""

import math
import re
from collections import Counter
from collections.abc import Iterable
from itertools import pairwise

import numpy as np

from ingest.profiles.facts.kernels import Floats, Kernels, Mask, TextColumn

REARRANGING = ("transdata", "transpose", "npu_format_cast", "confusiontranspose", "im2col", "layouttransform")
CASTS, PADDING = ("cast", "dequantizeweights"), "pad"
COPIES = ("concat", "tensormove", "slice", "split", "pack", "unpack", "copy", "viewcopy", "asstrided", "pad")
PRODUCTS = ("matmul", "batchmatmul", "gemm", "conv2d", "conv3d", "groupedmatmul", "linear")
ATTENTION = (
    *("flashattention", "promptflash", "increflash", "pagedattention", "fusedinferattention"),
    *(
        "unpadflashattention",
        "unpadpagedattention",
        "multilatentattention",
        "ringmla",
        "sparseflashattention",
    ),
)
INDEXING = ("nonzero", "index", "indexput", "argmin", "argmax", "scatter", "gather", "maskedselect", "unique",
            "where", "topk", "sort")  # fmt: skip
ELEMENTWISE = frozenset({
    "add", "adds", "axpy", "mul", "muls", "sub", "subs", "div", "realdiv", "divs", "rsqrt", "sqrt", "square",
    "pow", "pows", "neg", "exp", "log", "sigmoid", "tanh", "erf", "gelu", "swish", "silu", "relu",
    "reducemean", "reducesum", "maximum", "minimum",
    "reciprocal", "addcmul", "addcdiv", "maskedfill", "select", "softmax",
    "biasadd", "abs", "cast", "elementwise", "lerp",
})  # fmt: skip
STREAMING = (
    *(*CASTS, *COPIES, *REARRANGING, "add", "mul", "sub", "div", "zeros", "ones", "fill", "memset"),
    *("batchnorm", "nllloss", "rotary", "embedding", "maxpool", "dropout"),
    *("rmsnorm", "layernorm", "softmax", "logsoftmax", "swiglu", "gelu", "silu", "swish", "sigmoid", "relu"),
    *("elementwise", "apply", "foreach", "multitensor", "adam", "reduce", "lpnorm", "bias", "dropoutdomask"),
)
"""Kinds of kernels that read and write once and compute little: what they move is what they need."""
LONGEST = 10
"""Operators of a chain at most, as in msprof-analyze's search for fusible operators; 2 at least."""


_SIZE = re.compile("[0-9]{1,18}")
"""One axis of a tensor, as a 64-bit number holds it."""


def of_kind(kernels: Kernels, kinds: tuple[str, ...]) -> Mask:
    """Kernels whose type begins with, or whose name ends like, one of ``kinds``; versions are ignored."""
    label = kernels.label

    def fits(text: str) -> bool:
        low = text.lower().rstrip("0123456789").removesuffix("v").removeprefix("aclnn")
        return low.startswith(kinds) or low.rpartition("_")[2].startswith(kinds)

    return label.where(fits(text) for text in label.labels)


def kernel_kind(text: str) -> str:
    """The kind of a kernel from its type, without version and prefix: ``MulV2`` is ``mul``.

    So is ``aclnnMul_MulAiCore_Mul``.
    """
    low = text.rpartition("_")[2].lower().rstrip("0123456789").removesuffix("v")
    return low if low in ELEMENTWISE else low.removesuffix("d")


def is_data_movement(kernels: Kernels) -> Mask:
    """Kernels that compute nothing: they rearrange, convert or copy."""
    return of_kind(kernels, (*REARRANGING, *CASTS, *COPIES))


def chains(kernels: Kernels) -> list[tuple[list[int], tuple[str, ...]]]:
    """Runs of small operators on one stream, as rows and kinds."""
    label = kernels.label
    names = [kernel_kind(text) for text in label.labels]
    stream = kernels.texts["stream"].codes
    runs: list[tuple[list[int], tuple[str, ...]]] = []
    run: list[int] = []

    def close() -> None:
        for start in range(0, len(run), LONGEST):
            rows = run[start : start + LONGEST]
            kinds = tuple(names[label.codes[row]] for row in rows)
            if len(rows) >= 2 and set(kinds) != {"cast"}:
                runs.append((rows, kinds))
        run.clear()

    before = -1
    for place in np.lexsort((kernels.start_ns, stream)):
        row = int(place)
        kind = names[label.codes[row]]
        if int(stream[row]) != before:
            close()
            before = int(stream[row])
        if kind in ELEMENTWISE:
            run.append(row)
            continue
        close()
    close()
    return runs


def pair_counts(runs: list[tuple[list[int], tuple[str, ...]]], n: int) -> Floats:
    """Number of times that the pair of kinds around a kernel occurs in all chains, shape (n,); 0 outside."""
    counts = Counter(pair for _, kinds in runs for pair in pairwise(kinds))
    often = np.zeros(n)
    for rows, kinds in runs:
        for place, pair in enumerate(pairwise(kinds)):
            for row in rows[place : place + 2]:
                often[row] = max(often[row], counts[pair])
    return often


def longest_of_chains(runs: list[tuple[list[int], tuple[str, ...]]], spent: Floats) -> Mask:
    """Kernels that are the longest of their chain, shape (n,): a fused kernel takes about as long."""
    mask = np.zeros(len(spent), np.bool_)
    for rows, _ in runs:
        mask[rows[int(np.argmax(spent[rows]))]] = True
    return mask


def volumes(shapes: TextColumn) -> Floats:
    """Number of elements of all tensors of each row, shape (n,); a size that is no number counts as none."""
    return np.array([sum(map(volume, filter(None, shapes_of(text)))) for text in shapes.labels], np.float64)[
        shapes.codes
    ]


def volume(sizes: Iterable[int]) -> float:
    """Number of elements of a tensor."""
    return math.prod(map(float, sizes))


def shapes_of(text: str) -> list[tuple[int, ...]]:
    """Sizes of each tensor of a kernel; empty where they are no numbers."""
    parts = ([piece.strip(' "') for piece in part.split(",")] for part in text.split(";"))
    return [tuple(map(int, part)) if all(map(_SIZE.fullmatch, part)) else () for part in parts]
