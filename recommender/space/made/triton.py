"""Configurations of Triton kernels: blocks, warps and stages that can be launched.

The rules are lower bounds: what they leave out cannot run. Registers are no rule unless asked: what needs
more than a thread may have is spilled to memory and runs, slowly.
"""

from collections.abc import Iterator

from recommender.space.made import triton_ascend
from recommender.space.made.generated import ExcludedValue, SpaceDraft, rule
from recommender.space.made.needs import (
    CUDA_GUIDE,
    MOST_REGISTERS,
    MOST_THREADS,
    KernelRequest,
    Need,
    is_amd,
    is_nvidia,
)
from recommender.space.made.shapes import power_above, powers

DOCUMENTED = "Triton documentation: tl.dot, tl.arange, triton.Config"
SMALLEST_DOT = 16
"""Side of a block below which ``tl.dot`` long refused; a few tables of newer versions have M of 8."""
LARGEST_BLOCK = 256
"""Largest side of a block of a product; a choice: the largest of the frameworks' own lists."""
MOST_ELEMENTS = 2**20
"""Elements of a tensor of a program (``TRITON_MAX_TENSOR_NUMEL``)."""
LONGEST_PART = 16384
"""Most elements that a program of an elementwise kernel takes at once; a choice."""
LEAST_ROW = 64
"""Smallest block of a row that is proposed; a choice."""
MOST_ROWS = 32
"""Most rows of a program that are proposed; a choice."""
GROUPS = (1, 2, 4, 8, 16, 32, 64)
"""Rows of blocks that follow each other in L2; what published tables have."""
STAGES = (1, 2, 3, 4, 5, 6)
"""Stages of the pipeline; a choice: up to the deepest of published tables."""
WARPS = (1, 2, 4, 8, 16, 32)


def product(request: KernelRequest) -> SpaceDraft:
    """A matrix product of M, N and, if known, K, also one of groups: the GEMM of a mixture of experts."""
    if request.device.ascend:
        return triton_ascend.product(request)
    draft = SpaceDraft()
    for side in "MNK":
        name = f"BLOCK_SIZE_{side}"
        size = request.sizes.get(side)
        most = LARGEST_BLOCK if size is None else min(power_above(size, SMALLEST_DOT), LARGEST_BLOCK)
        why = f"larger than {side}={size}"
        if side == "K" and request.block is not None and request.block < most:
            most, why = request.block, f"longer than the {request.block} that share a scale"
        draft.parameters[name] = powers(SMALLEST_DOT, most)
        draft.excluded += [
            ExcludedValue(what=f"{name}={value}", why=why, source="the problem")
            for value in powers(most + 1, LARGEST_BLOCK)
        ]
    draft.parameters |= {"GROUP_SIZE_M": list(GROUPS), "num_stages": list(STAGES)}
    if is_amd(request.device):
        draft.parameters |= {"waves_per_eu": [0, 1, 2, 4], "matrix_instr_nonkdim": [16, 32], "kpack": [1, 2]}
    block = f"(BLOCK_SIZE_M + BLOCK_SIZE_N) * BLOCK_SIZE_K * {request.element_bytes:g}"
    used = f"{_kept(request)} * {block}{_reserved(request)}"
    request.ask(draft, Need("shared_memory_bytes", used, "staged blocks fit the shared memory", DOCUMENTED))
    _warps(request, draft, "BLOCK_SIZE_M * BLOCK_SIZE_N")
    draft.notes.extend(_waves(request, draft))
    return draft


def row(request: KernelRequest) -> SpaceDraft:
    """Space of an operator along rows of N, such as a softmax or a norm: columns and rows of a program."""
    if request.device.ascend:
        return triton_ascend.row(request)
    whole = power_above(request.sizes["N"], LEAST_ROW)
    rows = power_above(request.sizes.get("M", MOST_ROWS), 1)
    draft = SpaceDraft()
    draft.parameters |= {
        "BLOCK_SIZE": powers(LEAST_ROW, min(whole, MOST_ELEMENTS)),
        "ROWS": powers(1, min(rows, MOST_ROWS)),
        "num_stages": [1, 2, 3, 4, 5],
    }
    reason = "a tensor of a program has at most 2^20 elements"
    draft.constraints.append(rule(f"BLOCK_SIZE * ROWS <= {MOST_ELEMENTS}", reason, DOCUMENTED))
    _warps(request, draft, "BLOCK_SIZE * ROWS")
    draft.notes.append(
        f"a program of one pass holds a row whole: BLOCK_SIZE={whole}; shorter ones need a loop"
    )
    return draft


def attention(request: KernelRequest) -> SpaceDraft:
    """Attention by blocks: S keys, heads of width D, Q queries where they are others (flash attention)."""
    if request.device.ascend:
        return triton_ascend.attention(request)
    keys, width = request.sizes["S"], power_above(request.sizes["D"], SMALLEST_DOT)
    draft = SpaceDraft()
    for name, length in (("BLOCK_M", request.sizes.get("Q", keys)), ("BLOCK_N", keys)):
        most = min(power_above(length, SMALLEST_DOT), LARGEST_BLOCK)
        draft.parameters[name] = powers(SMALLEST_DOT, most)
    draft.parameters["num_stages"] = list(STAGES)
    used = f"{_kept(request)} * BLOCK_N * {width} * {request.element_bytes:g}{_reserved(request)}"
    request.ask(draft, Need("shared_memory_bytes", used, "staged keys fit the shared memory", DOCUMENTED))
    _warps(request, draft, f"BLOCK_M * ({width} + BLOCK_N)")
    return draft


def elementwise(request: KernelRequest) -> SpaceDraft:
    """Space of an operator on each of N elements: the number that a program takes at once."""
    if request.device.ascend:
        return triton_ascend.elementwise(request)
    draft = SpaceDraft()
    draft.parameters["BLOCK_SIZE"] = powers(
        LEAST_ROW, min(power_above(request.sizes["N"], LEAST_ROW), LONGEST_PART)
    )
    _warps(request, draft, "BLOCK_SIZE")
    return draft


def transposition(request: KernelRequest) -> SpaceDraft:
    """A matrix of M by N turned block by block through the shared memory."""
    if request.device.ascend:
        return triton_ascend.transposition(request)
    draft = SpaceDraft()
    for side in "MN":
        most = min(power_above(request.sizes[side], SMALLEST_DOT), LARGEST_BLOCK)
        draft.parameters[f"BLOCK_{side}"] = powers(SMALLEST_DOT, most)
    used = f"BLOCK_M * BLOCK_N * {request.element_bytes:g}{_reserved(request)}"
    request.ask(draft, Need("shared_memory_bytes", used, "the block fits the shared memory", DOCUMENTED))
    _warps(request, draft, "BLOCK_M * BLOCK_N")
    return draft


def _reserved(request: KernelRequest) -> str:
    """Shared memory that the system takes for each block: 1 KB from compute capability 8.0 on."""
    capability = str(request.device.facts.get("compute_capability", ""))
    return " + 1024" if is_nvidia(request.device) and float(capability) >= 8 else ""


def _kept(request: KernelRequest) -> str:
    """Stages that are in shared memory: all but the one in use; AMD's pipelines have kept one at least."""
    return "1" if is_amd(request.device) else "max(num_stages - 1, 1)"


def _warps(request: KernelRequest, draft: SpaceDraft, sums: str) -> None:
    """Warps that a block may have, and what is kept in registers: so many numbers of 32 bits a block."""
    warp = request.device.get("warp_size")
    draft.parameters["num_warps"] = list(WARPS)
    if warp is None:
        draft.skipped.append(f"threads of a block: warp_size of {request.device.id} is not known")
        return
    why = f"more than {MOST_THREADS} threads with {warp:.0f} a warp"
    most = MOST_THREADS // warp
    draft.parameters["num_warps"] = [count for count in WARPS if count <= most]
    draft.excluded += [
        ExcludedValue(what=f"num_warps={count}", why=why, source=CUDA_GUIDE)
        for count in WARPS
        if count > most
    ]
    if not is_nvidia(request.device):
        return
    registers = f"{sums} <= {MOST_REGISTERS * warp:.0f} * num_warps"
    if request.spills:
        draft.notes.append(f"no rule: unless {registers}, sums spill, and run; --no-spills makes it one")
    else:
        reason = f"sums in 32 bits fit the {MOST_REGISTERS} registers of a thread"
        draft.constraints.append(rule(registers, reason, CUDA_GUIDE))


def _waves(request: KernelRequest, draft: SpaceDraft) -> Iterator[str]:
    """A note on the number of blocks for the processors, from the largest blocks to the smallest."""
    cores = request.device.get("compute_units")
    if cores is None or request.grouped:
        return
    waves = []
    for at in (-1, 0):
        m, n = (int(str(draft.parameters[f"BLOCK_SIZE_{side}"][at])) for side in "MN")
        blocks = -(-request.sizes["M"] // m) * -(-request.sizes["N"] // n)
        waves.append(f"{blocks} of {m} x {n} ({blocks / cores:.3g} waves)")
    yield f"no rule: blocks for {cores:.0f} processors: {' to '.join(waves)}; below one wave some idle"
