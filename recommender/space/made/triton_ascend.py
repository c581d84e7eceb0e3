"""Configurations of Triton kernels on Ascend: blocks that fit the buffers of a core, and one program a core.

There are no warps and no stages to set; the compiler overlaps transfers with computing where ``multibuffer``
is on, for which each block takes its room twice. A grid above the cores runs in turns.
"""

from recommender.space.made.generated import ExcludedValue, SpaceDraft, rule
from recommender.space.made.needs import FRACTAL, KernelRequest, Need
from recommender.space.made.shapes import power_above, powers

_DOCUMENTS = (
    "https://github.com/triton-lang/triton-ascend/blob/2bccea814a5f29df5d0cdb1ba97c58f659f66bef/docs/en"
)
CORES = f"{_DOCUMENTS}/migration_guide/architecture_difference.md"
AUTOTUNE = f"{_DOCUMENTS}/examples/06_autotune_example.md"
VECTOR = f"{_DOCUMENTS}/programming_guide/vector_operator.md"
CUBE = f"{_DOCUMENTS}/programming_guide/cube_operator.md"
MMAD = "https://gitcode.com/cann/catlass/blob/master/docs/zh/1_Practice/11_matmul_optimization.md"
TUTORIAL = (
    "https://github.com/sigerror/triton-ascend/blob/efe09cf7e9f8cba4d1a2de65e465503c59e1ff25"
    "/third_party/ascend/tutorials/13-matrix-multiplication-optimized.py"
)
LARGEST_BLOCK = 256
"""Largest side of a block; a choice: the largest of the tutorials."""
LEAST_ROW = 64
LONGEST_ROW = 32768
"""Longest part of a row that is proposed; a choice: in 32 bits it takes two thirds of the UB of a 910B."""
MOST_ROWS = 32
"""Most rows of a block; a choice."""
ACCUMULATOR_BYTES = 4
UNUSED = ("num_warps", "num_stages")


def product(request: KernelRequest) -> SpaceDraft:
    """A matrix product of M, N and, if known, K, by the names of Triton-Ascend's tutorials."""
    draft = SpaceDraft()
    for side in "MNK":
        size = request.sizes.get(side)
        most = LARGEST_BLOCK if size is None else min(power_above(size, FRACTAL), LARGEST_BLOCK)
        draft.parameters[f"BLOCK_{side}"] = powers(FRACTAL, most)
        draft.constraints.append(
            rule(f"BLOCK_{side} % {FRACTAL} == 0", f"the cube multiplies blocks of {FRACTAL} a side", MMAD)
        )
    blocks = f"(BLOCK_M * BLOCK_K + BLOCK_K * BLOCK_N) * {request.element_bytes:g}"
    request.ask(
        draft,
        Need("l0c_bytes", f"BLOCK_M * BLOCK_N * {ACCUMULATOR_BYTES}", "the sums in 32 bits fit L0C", CUBE),
        Need("l1_bytes", f"{_copies(draft)} * {blocks}", "the blocks of both operands fit L1", CUBE),
    )
    draft.parameters["BLOCK_TRESHHOLD"] = [4, 5, 6, 7, 8]
    _grid(request, draft, "cube_cores")
    return draft


def row(request: KernelRequest) -> SpaceDraft:
    """Space of an operator along rows of N, such as a softmax or a norm, in the unified buffer."""
    whole = power_above(request.sizes["N"], LEAST_ROW)
    rows = power_above(request.sizes.get("M", MOST_ROWS), 1)
    draft = SpaceDraft()
    draft.parameters |= {
        "BLOCK_SIZE": powers(LEAST_ROW, min(whole, LONGEST_ROW)),
        "ROWS": powers(1, min(rows, MOST_ROWS)),
    }
    _in_unified_buffer(request, draft, "BLOCK_SIZE * ROWS")
    return draft


def elementwise(request: KernelRequest) -> SpaceDraft:
    """Space of an operator on each element, in blocks of the unified buffer."""
    draft = SpaceDraft()
    draft.parameters["BLOCK_SIZE"] = powers(
        LEAST_ROW, min(power_above(request.sizes["N"], LEAST_ROW), LONGEST_ROW)
    )
    _in_unified_buffer(request, draft, "BLOCK_SIZE")
    return draft


def transposition(request: KernelRequest) -> SpaceDraft:
    """A matrix turned block by block in the unified buffer."""
    draft = SpaceDraft()
    for side in "MN":
        most = min(power_above(request.sizes[side], FRACTAL), LARGEST_BLOCK)
        draft.parameters[f"BLOCK_{side}"] = powers(FRACTAL, most)
    _in_unified_buffer(request, draft, "BLOCK_M * BLOCK_N")
    return draft


def attention(request: KernelRequest) -> SpaceDraft:
    """Attention by blocks: S keys, heads of width D, Q queries where they are others."""
    keys, width = request.sizes["S"], power_above(request.sizes["D"], FRACTAL)
    draft = SpaceDraft()
    for name, length in (("BLOCK_M", request.sizes.get("Q", keys)), ("BLOCK_N", keys)):
        draft.parameters[name] = powers(FRACTAL, min(power_above(length, FRACTAL), 2 * LARGEST_BLOCK))
    element = f"{request.element_bytes:g}"
    halves = "" if request.device.joint else " / 2"  # two vector cores take half the rows each
    request.ask(
        draft,
        Need("l0c_bytes", f"BLOCK_M * BLOCK_N * {ACCUMULATOR_BYTES}", "the scores of a block fit L0C", CUBE),
        Need("l0c_bytes", f"BLOCK_M * {width} * {ACCUMULATOR_BYTES}", "the result of a block fits L0C", CUBE),
        Need(
            "l1_bytes",
            f"(BLOCK_M * {width} + {_copies(draft)} * 2 * BLOCK_N * {width} + BLOCK_M * BLOCK_N) * {element}",
            "queries, keys, values and shares fit L1",
            CUBE,
        ),
        Need(
            "ub_bytes",
            f"BLOCK_M * (BLOCK_N + {width}) * {ACCUMULATOR_BYTES}{halves}",
            "scores and result fit the UB",
            VECTOR,
        ),
    )
    _grid(request, draft, "cube_cores")
    return draft


def _copies(draft: SpaceDraft) -> str:
    """The copies of a moved block in memory, as a formula: two with ``multibuffer``."""
    draft.parameters["multibuffer"] = [False, True]
    return "(1 + multibuffer)"


def _in_unified_buffer(request: KernelRequest, draft: SpaceDraft, elements: str) -> None:
    """Require room in the unified buffer for blocks in and out, and for sums in 32 bits."""
    used = f"{elements} * (2 * {_copies(draft)} * {request.element_bytes:g} + {ACCUMULATOR_BYTES})"
    request.ask(draft, Need("ub_bytes", used, "blocks in and out and the sums fit the UB", VECTOR))
    _grid(request, draft, "vector_cores")


def _grid(request: KernelRequest, draft: SpaceDraft, cores: str) -> None:
    """Programs: at most one a core; and what is not set on these devices."""
    most = request.device.get(cores, "compute_units")
    if most is None:
        draft.skipped.append(f"values of grid: {cores} of {request.device.id} is not known")
    else:
        draft.parameters["grid"] = sorted({max(1, int(most) // part) for part in (4, 2, 1)})
        draft.constraints.append(
            rule(f"grid <= {most:.0f}", f"a program a core, {most:.0f}: more run in turns", CORES)
        )
    draft.excluded += [
        ExcludedValue(what=name, why="not supported on Ascend, which has no warps", source=AUTOTUNE)
        for name in UNUSED
    ]
