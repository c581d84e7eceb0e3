"""Expected times of all configurations of a kernel, by the tile model for its kind and language."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from kg.errors import NoEvidenceError
from recommender.ranking.kernels import cube_tiles, gpu_tiles, thread_tiles, vector_tiles
from recommender.ranking.kernels.gpu_tiles import Gpu, ProductShape
from recommender.ranking.kernels.tile_times import TileTimes
from recommender.space.made.needs import is_nvidia

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from recommender.ranking.kernels.domain import Columns
    from recommender.ranking.kernels.question import KernelQuestion

    Floats = NDArray[np.float64]

HIDDEN = 4096
"""Width of the tokens of experts where the question does not say: Mixtral's and Qwen's middle sizes."""
FEW_EXPERTS, FEW_CHOICES, CHOICES = 16, 2, 8
"""Experts of a token where the question does not say: 2 of up to 16 (Mixtral), 8 of more (DeepSeek-V3,
Qwen3)."""
IMAGE = 4096
"""Side of an image where the question does not say: what tuners are compared on."""


def tile_times(question: KernelQuestion, columns: Columns) -> TileTimes:
    """Times of configurations.

    Args:
        question: Sizes, precision, device and language.
        columns: Values by parameter.

    Raises:
        NoEvidenceError: No model of this kernel in this form, or the columns lack one of its parameters.
        MissingFactError: A fact of the device is not known.
    """
    model = _MODELS.get((question.kernel.names[0], question.form, question.device.ascend))
    if model is None:
        raise _unknown(question, "no tile model of it is known")
    try:
        return model(question, columns)
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
    if "FW" in sizes and "W" not in sizes:
        found.append(f"W and H of the image: taken as {IMAGE}")
    if "S" in sizes and ("B" not in sizes or "H" not in sizes):
        found.append("B and H (batch and heads): taken as 1 and 32 where not stated")
    return tuple(found)


def _unknown(question: KernelQuestion, why: str) -> NoEvidenceError:
    language, device = question.language, question.device.id
    return NoEvidenceError(
        f"nothing says how fast a configuration of {question.operator} in {language} on {device} is: {why}",
        hint="measure the smallest and the largest tile that fit, and ingest them: these two tell most",
    )


def _gpu_product(question: KernelQuestion, columns: Columns) -> TileTimes:
    gpu = Gpu.of(question.device, question.number)
    sizes = question.sizes
    shape = ProductShape(m=sizes["M"], n=sizes["N"], k=sizes["K"], batch=sizes.get("B", 1))
    return gpu_tiles.product_times(gpu, shape, columns, question.element_bytes)


def _gpu_experts(question: KernelQuestion, columns: Columns) -> TileTimes:
    """Both products of a mixture of experts: to twice N, and back from N to the width of a token."""
    gpu = Gpu.of(question.device, question.number)
    sizes = question.sizes
    experts, width = sizes.get("E", 1), sizes.get("K", HIDDEN)
    choices = min(sizes.get("TOPK", _choices(experts)), experts)
    rows = sizes["M"] * choices
    blocks = _expert_blocks(columns["BLOCK_SIZE_M"], sizes["M"], choices, experts)
    active = experts * (1 - (1 - choices / experts) ** sizes["M"])
    parts = [
        gpu_tiles.product_times(
            gpu,
            ProductShape(m=rows, n=n, k=k, row_blocks=blocks, weight_copies=active),
            columns,
            question.element_bytes,
        )
        for n, k in ((2 * sizes["N"], width), (width, sizes["N"]))
    ]
    first, second = parts
    return TileTimes(
        total_s=first.total_s + second.total_s,
        on_chip_s=first.on_chip_s + second.on_chip_s,
        memory_s=first.memory_s + second.memory_s,
        ideal_s=first.ideal_s + second.ideal_s,
        parts=first.parts,
        lanes=first.lanes,
        rounds=first.rounds,
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


def _cube_product(question: KernelQuestion, columns: Columns) -> TileTimes:
    sizes = {"B": 1.0, **question.sizes}
    model = cube_tiles.ascendc_times if question.form == "ascendc" else cube_tiles.triton_times
    return model(question.device, sizes, columns, question.number, question.element_bytes)


def _clblast(question: KernelQuestion, columns: Columns) -> TileTimes:
    _check_threads(question)
    gpu = Gpu.of(question.device, question.number)
    return thread_tiles.clblast_times(gpu, {"B": 1.0, **question.sizes}, columns, question.element_bytes)


def _check_threads(question: KernelQuestion) -> None:
    """Refuse what the model of threads was measured to be wrong for: the textbook's tile beats it on AMD's.

    Raises:
        NoEvidenceError: Not a device of NVIDIA.
    """
    if not is_nvidia(question.device):
        raise _unknown(question, "the model of threads holds for NVIDIA's devices alone")


def _convolution(question: KernelQuestion, columns: Columns) -> TileTimes:
    _check_threads(question)
    sizes = {"W": float(IMAGE), "H": float(IMAGE), **question.sizes}
    gpu = Gpu.of(question.device, question.number)
    return thread_tiles.convolution_times(gpu, sizes, columns, question.element_bytes)


def _attention(question: KernelQuestion, columns: Columns) -> TileTimes:
    sizes = {"B": 1.0, "H": 32.0, "Q": float(question.sizes["S"]), **question.sizes}
    gpu = Gpu.of(question.device, question.number)
    return gpu_tiles.attention_times(gpu, sizes, columns, question.element_bytes)


def _cube_attention(question: KernelQuestion, columns: Columns) -> TileTimes:
    sizes = {"B": 1.0, "H": 32.0, "Q": float(question.sizes["S"]), **question.sizes}
    return cube_tiles.attention_times(
        question.device, sizes, columns, question.number, question.element_bytes
    )


def _vector(question: KernelQuestion, columns: Columns) -> TileTimes:
    name, sizes = question.kernel.names[0], question.sizes
    row = float(sizes["N"]) if name == "softmax" else 0.0
    elements = float(sizes["N"]) * sizes.get("M", 1)
    if question.device.ascend:
        return vector_tiles.npu_times(
            question.device,
            columns,
            elements=elements,
            row=row,
            element=question.element_bytes,
            turned=name == "transpose",
        )
    gpu = Gpu.of(question.device, question.number)
    return vector_tiles.gpu_times(
        gpu,
        columns,
        elements=elements,
        row=row,
        element=question.element_bytes,
        turned=name == "transpose",
    )


_MODELS = {
    ("gemm", "triton", False): _gpu_product,
    ("gemm", "triton", True): _cube_product,
    ("gemm", "ascendc", True): _cube_product,
    ("gemm", "opencl", False): _clblast,
    ("fused_moe", "triton", False): _gpu_experts,
    ("softmax", "triton", False): _vector,
    ("softmax", "triton", True): _vector,
    ("softmax", "ascendc", True): _vector,
    ("elementwise", "triton", False): _vector,
    ("elementwise", "triton", True): _vector,
    ("elementwise", "ascendc", True): _vector,
    ("transpose", "triton", False): _vector,
    ("transpose", "triton", True): _vector,
    ("attention", "triton", False): _attention,
    ("attention", "triton", True): _cube_attention,
    ("attention", "ascendc", True): _cube_attention,
    ("convolution", "cuda", False): _convolution,
}
"""The model of each kind of kernel, by form and whether the device is of Ascend."""
