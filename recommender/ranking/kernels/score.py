"""Expected times of all configurations of a kernel, by the tile model for its kind and language."""

import numpy as np
from numpy.typing import NDArray

from kg.errors import NoEvidenceError
from recommender.ranking.kernels import tile_work
from recommender.ranking.kernels.domain import Columns
from recommender.ranking.kernels.question import KernelQuestion
from recommender.ranking.kernels.tile_core import TileCore
from recommender.ranking.kernels.tile_times import TileTimes, times_of
from recommender.ranking.kernels.tile_work import ProductShape

Floats = NDArray[np.float64]

HIDDEN = 4096
"""Width of the tokens of experts where the question does not say: Mixtral's and Qwen's middle sizes."""
FEW_EXPERTS, FEW_CHOICES, CHOICES = 16, 2, 8
"""Experts of a token unless stated: 2 of up to 16 (Mixtral), 8 of more (DeepSeek-V3, Qwen3)."""


def tile_times(question: KernelQuestion, columns: Columns) -> TileTimes:
    """Times of configurations.

    Args:
        question: Sizes, precision, device and language.
        columns: Values by parameter.

    Raises:
        NoEvidenceError: No model of this kernel in this form, or the columns lack one of its parameters.
        MissingFactError: A fact of the device is not known.
    """
    model = _MODELS.get((question.kernel.names[0], question.form))
    if model is None or (model is _experts and question.device.ascend):
        raise _unknown(question, "no tile model of it is known")
    try:
        core = TileCore.of(question.device, question.number, has_products=question.kernel.has_products)
        return model(question, core, columns)
    except KeyError as missing:
        raise _unknown(question, f"the tile model needs {missing.args[0]}") from None


def assumptions(question: KernelQuestion) -> tuple[str, ...]:
    """Sizes that the model took because the question does not say them."""
    sizes, found = question.sizes, []
    if question.kernel.grouped:
        if "K" not in sizes:
            found.append(f"K (width of a token): taken as {HIDDEN}")
        if "TOPK" not in sizes and "E" in sizes:
            found.append(f"TOPK (experts of a token): taken as {_choices(sizes['E'])}")
    if "S" in sizes and ("B" not in sizes or "H" not in sizes):
        found.append("B and H (batch and heads): taken as 1 and 32 where not stated")
    return tuple(found)


def _unknown(question: KernelQuestion, why: str) -> NoEvidenceError:
    language, device = question.language, question.device.id
    return NoEvidenceError(
        f"nothing says how fast a configuration of {question.operator} in {language} on {device} is: {why}",
        hint="measure the smallest and the largest tile that fit, and ingest them: these two tell most",
    )


def _product(question: KernelQuestion, core: TileCore, columns: Columns) -> TileTimes:
    sizes = question.sizes
    shape = ProductShape(m=sizes["M"], n=sizes["N"], k=sizes["K"], batch=sizes.get("B", 1))
    return times_of(core, tile_work.product(core, shape, columns, question.element_bytes))


def _experts(question: KernelQuestion, core: TileCore, columns: Columns) -> TileTimes:
    """Both products of a mixture of experts: to twice N, and back from N to the width of a token."""
    sizes = question.sizes
    experts, width = sizes.get("E", 1), sizes.get("K", HIDDEN)
    choices = min(sizes.get("TOPK", _choices(experts)), experts)
    blocks = _expert_blocks(columns["BLOCK_SIZE_M"], sizes["M"], choices, experts)
    active = experts * (1 - (1 - choices / experts) ** sizes["M"])
    first, second = (
        ProductShape(m=sizes["M"] * choices, n=n, k=k, row_blocks=blocks, weight_copies=active)
        for n, k in ((2 * sizes["N"], width), (width, sizes["N"]))
    )
    element = question.element_bytes
    return times_of(core, tile_work.product(core, first, columns, element)).followed_by(
        times_of(core, tile_work.product(core, second, columns, element))
    )


def _choices(experts: float) -> int:
    return FEW_CHOICES if experts <= FEW_EXPERTS else CHOICES


def _expert_blocks(height: Floats, tokens: int, choices: int, experts: int) -> Floats:
    """Blocks of rows expected over all experts where each token takes some at random.

    A quantile grid of the normal approximation to the tokens of an expert, at least those of the mean.
    """
    mean = tokens * choices / experts
    spread = np.sqrt(mean * (1 - choices / experts))
    steps = np.linspace(-2, 2, 9)
    shares = np.exp(-(steps**2) / 2)
    tokens_of = np.clip(mean + np.outer(steps, spread), 0, None)
    blocks = np.ceil(tokens_of / height[None, :])
    active = 1 - (1 - choices / experts) ** tokens
    each = np.maximum((shares[:, None] * blocks).sum(axis=0) / shares.sum(), active)
    return np.asarray(experts * each, dtype=np.float64)


def _attention(question: KernelQuestion, core: TileCore, columns: Columns) -> TileTimes:
    sizes = {"B": 1.0, "H": 32.0, "Q": float(question.sizes["S"]), **question.sizes}
    return times_of(core, tile_work.attention(core, sizes, columns, question.element_bytes))


def _rows(question: KernelQuestion, core: TileCore, columns: Columns) -> TileTimes:
    name, sizes = question.kernel.names[0], question.sizes
    work = tile_work.rows_of_elements(
        core,
        columns,
        elements=float(sizes["N"]) * sizes.get("M", 1),
        row=float(sizes["N"]) if name == "softmax" else 0.0,
        element=question.element_bytes,
        turned=name == "transpose",
    )
    return times_of(core, work)


_MODELS = {
    ("gemm", "triton"): _product,
    ("gemm", "ascendc"): _product,
    ("fused_moe", "triton"): _experts,
    ("softmax", "triton"): _rows,
    ("softmax", "ascendc"): _rows,
    ("elementwise", "triton"): _rows,
    ("elementwise", "ascendc"): _rows,
    ("transpose", "triton"): _rows,
    ("attention", "triton"): _attention,
    ("attention", "ascendc"): _attention,
}
"""The model of each kind of kernel, by form."""
