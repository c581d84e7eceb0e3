"""Spaces of kernels: which kernels can be made one for, and in which of the ways to write them.

Rules leave out what cannot run; one whose fact is unknown is skipped, and that is said. Names of facts:
``docs/knowledge-format.md``.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from typing import TypeAlias

from kg.errors import InputError
from recommender.cost_model.facts.device import ELEMENT_BYTES, Device, precision
from recommender.space.made import ascendc, triton
from recommender.space.made.generated import GeneratedSpace, SpaceDraft, rule
from recommender.space.made.needs import (
    CUDA_GUIDE,
    MOST_THREADS,
    STATIC_SHARED_BYTES,
    KernelRequest,
    is_nvidia,
)
from recommender.space.made.shapes import sizes

KERNEL = "https://github.com/CNugteren/CLBlast/blob/master/src/tuning/kernels/xgemm.hpp"
STEP = 32
"""Length of a step along K (KWG), unrolled by two (KWI): the values that public tables hold fixed."""


def product(request: KernelRequest) -> SpaceDraft:
    """A product of M, N and K: tiles of a group, threads in two directions, vectors, shared memory."""
    draft = SpaceDraft()
    draft.parameters |= {
        "MWG": [16, 32, 64, 128],
        "NWG": [16, 32, 64, 128],
        "KWG": [STEP],
        "MDIMC": [8, 16, 32],
        "NDIMC": [8, 16, 32],
        "MDIMA": [8, 16, 32],
        "NDIMB": [8, 16, 32],
        "KWI": [2],
        "VWM": [1, 2, 4, 8],
        "VWN": [1, 2, 4, 8],
        "STRM": [0],
        "STRN": [0],
        "SA": [0, 1],
        "SB": [0, 1],
    }
    threads = "MDIMC * NDIMC"
    for expression, reason in (
        ("MWG % (MDIMC * VWM) == 0", "the threads share the rows of a tile evenly, by vectors"),
        ("NWG % (NDIMC * VWN) == 0", "the threads share the columns of a tile evenly, by vectors"),
        ("MWG % (MDIMA * VWM) == 0", "they load the rows of A evenly"),
        ("NWG % (NDIMB * VWN) == 0", "they load the columns of B evenly"),
        (f"KWG % ({threads} / MDIMA) == 0", "they load A along K evenly"),
        (f"KWG % ({threads} / NDIMB) == 0", "they load B along K evenly"),
    ):
        draft.constraints.append(rule(expression, reason, KERNEL))
    most = f"a group has at most {MOST_THREADS} threads"
    draft.constraints.append(rule(f"{threads} <= {MOST_THREADS}", most, CUDA_GUIDE))
    used = f"(SA * MWG + SB * NWG) * KWG * {request.element_bytes:g}"
    reason = f"the tiles fit {STATIC_SHARED_BYTES} B of local memory"
    draft.constraints.append(rule(f"{used} <= {STATIC_SHARED_BYTES}", reason, CUDA_GUIDE))
    return draft


def convolution(request: KernelRequest) -> SpaceDraft:
    """A direct convolution with a filter of FW by FH: threads and tiles in two directions."""
    draft = SpaceDraft()
    draft.parameters |= {
        "block_size_x": [1, 2, 4, 8, *range(16, 257, 16)],
        "block_size_y": [1, 2, 4, 8, 16, 32],
        "tile_size_x": [*range(1, 9)],
        "tile_size_y": [*range(1, 9)],
        "use_padding": [0, 1],
        "read_only": [0, 1],
    }
    threads = "block_size_x * block_size_y"
    draft.constraints.append(
        rule(f"{threads} <= {MOST_THREADS}", f"a block has at most {MOST_THREADS} threads", CUDA_GUIDE)
    )
    if is_nvidia(request.device):
        width = f"(block_size_x * tile_size_x + {request.sizes['FW'] - 1})"
        height = f"(block_size_y * tile_size_y + {request.sizes['FH'] - 1})"
        reason = f"the tile with its halo fits {STATIC_SHARED_BYTES} B of static shared memory"
        used = f"{width} * {height} * {request.element_bytes:g}"
        draft.constraints.append(rule(f"{used} <= {STATIC_SHARED_BYTES}", reason, CUDA_GUIDE))
    else:
        draft.skipped.append(
            f"static shared memory of a block: {request.device.id} has no compute capability of CUDA"
        )
    return draft


_Family: TypeAlias = "Callable[[KernelRequest], SpaceDraft]"
MOST = 1_000_000
"""Configurations up to which a space is counted; a choice."""


@dataclass(frozen=True, slots=True, kw_only=True)
class KernelKind:
    """A kind of kernel.

    Attributes:
        names: What it is called.
        needs: Sizes that must be told.
        may: Sizes that may be told.
        grouped: Whether it is many products at once.
        has_products: Whether it multiplies matrices; what does not needs no peak of a device.
        forms: How it is written, and what makes its space.
    """

    names: tuple[str, ...]
    needs: tuple[str, ...]
    may: tuple[str, ...] = ()
    grouped: bool = False
    has_products: bool = True
    forms: Mapping[str, _Family]


_PRODUCTS: Mapping[str, _Family] = {"triton": triton.product, "ascendc": ascendc.product}
_PLAIN_PRODUCTS: Mapping[str, _Family] = {**_PRODUCTS, "opencl": product}
_ROWS: Mapping[str, _Family] = {"triton": triton.row, "ascendc": ascendc.row}
KERNELS = (
    KernelKind(
        names=(
            "gemm",
            "matmul",
            "mm",
            "linear",
            "fully_connected",
            "w8a8_block_fp8_gemm",
            "scaled_mm",
            "addmm",
            "batched_matmul",
            "batch_matmul",
            "bmm",
            "quant_matmul",
            "quant_batch_matmul",
            "weight_quant_batch_matmul",
        ),
        needs=("M", "N", "K"),
        may=("B",),
        forms=_PLAIN_PRODUCTS,
    ),
    KernelKind(
        names=("fused_moe", "grouped_gemm", "moe", "grouped_matmul", "gmm"),
        needs=("M", "N"),
        may=("K", "E", "TOPK"),
        grouped=True,
        forms=_PRODUCTS,
    ),
    KernelKind(
        names=(
            "softmax",
            "layernorm",
            "layer_norm",
            "rmsnorm",
            "rms_norm",
            "add_rms_norm",
            "log_softmax",
            "reduction",
            "reduce",
            "reduce_sum",
        ),
        needs=("N",),
        may=("M",),
        has_products=False,
        forms=_ROWS,
    ),
    KernelKind(
        names=(
            "attention",
            "flash_attention",
            "flash",
            "flash_attn",
            "sdpa",
            "scaled_dot_product_attention",
            "decode_attention",
            "flash_decoding",
            "fusion_attention",
            "flash_attention_score",
            "fused_infer_attention_score",
            "prompt_flash_attention",
            "incre_flash_attention",
        ),
        needs=("S", "D"),
        may=("Q", "B", "H"),
        forms={"triton": triton.attention, "ascendc": ascendc.attention},
    ),
    KernelKind(
        names=(
            "elementwise",
            "add",
            "vector_add",
            "mul",
            "relu",
            "gelu",
            "silu",
            "sigmoid",
            "swiglu",
            "cast",
        ),
        needs=("N",),
        has_products=False,
        forms={"triton": triton.elementwise, "ascendc": ascendc.elementwise},
    ),
    KernelKind(
        names=("transpose",),
        needs=("M", "N"),
        has_products=False,
        forms={"triton": triton.transposition},
    ),
    KernelKind(
        names=("convolution", "conv2d"),
        needs=("FW", "FH"),
        may=("W", "H"),
        forms={"cuda": convolution},
    ),
)


NAMES = frozenset(name for kernel in KERNELS for name in kernel.names)
"""Names of kernels; those of CANN by its lists (cann/ops-transformer, docs/zh/op_api_list.md)."""
_SPELT = {name.replace("_", ""): name for name in NAMES}
_AROUND = re.compile(r"^(aclnn|npu_?|triton_|cutlass_)|(_fwd|_forward|_func)?(_kernel)?(_?v\d+)?$")
"""Parts that CANN, torch_npu and sources of kernels put around the name of an operator."""
PRODUCT = "gemm"
CHANNELS = frozenset({"C", "K"})
"""Sizes of a convolution over channels, which runs as a product: every output pixel is a row of it."""


def kernel_space(
    operator: str,
    shape: Mapping[str, object],
    number_format: str,
    device: Device,
    *,
    form: str = "",
    block: int | None = None,
    spills: bool = True,
    most: int = MOST,
) -> GeneratedSpace:
    """Configurations of a kernel that can run.

    Args:
        operator: What it does, one of the names of ``KERNELS``.
        shape: Its sizes.
        number_format: Of the operands.
        device: Whose buffers count.
        form: ``"triton"``, ``"ascendc"``, ``"opencl"`` or ``"cuda"``; by kernel and device if empty.
        block: Side of the blocks that share a scale, where the operands are quantised by blocks.
        spills: Whether sums may outgrow the registers of a thread.
        most: Configurations up to which they are counted; 0 asks only whether there is one.

    Raises:
        InputError: Another kernel or form, or a size that is missing or none.
        InfeasibleError: Nothing fits; the message names the rules.
    """
    kernel = kernel_kind(operator)
    if not form:
        preferred = "ascendc" if device.ascend else "triton"
        form = preferred if preferred in kernel.forms else next(iter(kernel.forms))
    if form not in kernel.forms:
        raise InputError(
            f"no form {form!r} of {operator} is known", hint=f"one of: {', '.join(kernel.forms)}"
        )
    if form == "cuda" and device.ascend:
        raise InputError(
            f"no way to write {operator} for {device.id} is known",
            hint="as an implicit product: --kernel gemm, M pixels, N filters, K channels times window",
        )
    if block is not None and block < 1:
        raise InputError(f"a block of {block} that shares a scale", hint="such as 128")
    wanted = KernelRequest(
        sizes=sizes(shape, kernel.needs, may_lack=kernel.may),
        element_bytes=ELEMENT_BYTES[precision(number_format)],
        device=device,
        block=block,
        grouped=kernel.grouped,
        spills=spills,
    )
    return kernel.forms[form](wanted).finish(most=most)


def plain_name(operator: str) -> str:
    """The name of an operator as ``NAMES`` has it: ``aclnnMatmulV2`` is ``matmul``."""
    name = operator.strip().lower().replace("-", "_").rpartition(".")[2]
    return name if name in NAMES else _SPELT.get(_AROUND.sub("", name).replace("_", ""), name)


def as_product(shape: Mapping[str, object]) -> dict[str, int] | None:
    """The sizes of a convolution over channels as those of the product that it runs as; None if it has none.

    Pixels are M, filters N, and what one output pixel reads K. ``P`` and ``Q`` are the sides of the output;
    without them its borders are padded.
    """
    whole = {
        name: size for name, size in shape.items() if isinstance(size, int) and not isinstance(size, bool)
    }
    if not whole.keys() & CHANNELS or not whole.keys() >= {"C", "K", "H", "W"}:
        return None
    pixels = whole.get("B", whole.get("N", 1)) * whole.get("P", whole["H"]) * whole.get("Q", whole["W"])
    return {"M": pixels, "N": whole["K"], "K": whole["C"] * whole.get("FH", 1) * whole.get("FW", 1)}


def kernel_kind(operator: str) -> KernelKind:
    """The kind that a name belongs to.

    Raises:
        InputError: None does; the hint has the nearest names.
    """
    name = plain_name(operator)
    by_name = {known: kernel for kernel in KERNELS for known in kernel.names}
    if name not in by_name:
        near = get_close_matches(name, by_name, n=3, cutoff=0.5)
        every = ", ".join(kernel.names[0] for kernel in KERNELS)
        hint = f"did you mean {' or '.join(near)}?" if near else f"of {every}; or declare it"
        raise InputError(f"no space of {operator!r} can be made", hint=hint)
    return by_name[name]
