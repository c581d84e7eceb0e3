"""Tiles of Ascend C kernels, from the buffers of a core.

Matrix products keep base blocks in L1, L0A, L0B and, in 32 bits, L0C; vector work splits the unified
buffer (UB) between queues in, queues out and what is reckoned with. All rules are lower bounds for tiles that
are held whole, as the parameters here are meant.
"""

from recommender.space.made.generated import ExcludedValue, SpaceDraft, rule
from recommender.space.made.needs import FRACTAL, KernelRequest, Need
from recommender.space.made.shapes import power_above, powers

TILING = (
    "https://www.hiascend.com/document/detail/en/canncommercial/800/apiref/ascendcopapi"
    "/atlasascendc_api_07_0673.html"
)
"""The TCubeTiling structure of the Ascend C API reference."""
DOUBLE = "Ascend C developer guide: DoubleBuffer scenario"
RESTRICTIONS = "Ascend C API reference, general restrictions: the unified buffer is 32-byte aligned"
ADVISOR = "msprof-analyze advisor: byte alignment"
LARGEST_BASE = 256
"""Largest side of a base block; a choice."""
MOST_ROWS = 64
"""Most rows of a vector kernel's tile that are proposed; a choice."""
ACCUMULATOR_BYTES = 4
ALIGNED_BYTES = 32
ADVISED_BYTES = 512


def product(request: KernelRequest) -> SpaceDraft:
    """Tiling of a matrix product of M, N and, if known, K, by the names of Ascend C's ``TCubeTiling``.

    Base blocks lie in L0A and L0B, twice with double buffering; the sums in L0C; so many blocks as the depths
    say wait in L1. A core that is used has a block of its own.
    """
    draft = SpaceDraft()
    for side in "MNK":
        size = request.sizes.get(side)
        most = LARGEST_BASE if size is None else min(power_above(size, FRACTAL), LARGEST_BASE)
        draft.parameters[f"base{side}"] = powers(FRACTAL, most)
        draft.constraints.append(
            rule(f"base{side} % {FRACTAL} == 0", f"the cube multiplies blocks of {FRACTAL} a side", TILING)
        )
        draft.excluded += [
            ExcludedValue(what=f"base{side}={value}", why=f"larger than {side}={size}", source="the problem")
            for value in powers(most + 1, LARGEST_BASE)
        ]
    draft.parameters |= {"dbL0A": [1, 2], "dbL0B": [1, 2], "dbL0C": [1, 2]}
    draft.parameters |= {"depthA1": [1, 2, 4, 8], "depthB1": [1, 2, 4, 8]}
    element = f"{request.element_bytes:g}"
    a, b = f"baseM * baseK * {element}", f"baseK * baseN * {element}"
    request.ask(
        draft,
        Need("l0a_bytes", f"dbL0A * {a}", "the left base blocks fit L0A", TILING),
        Need("l0b_bytes", f"dbL0B * {b}", "the right base blocks fit L0B", TILING),
        Need("l0c_bytes", f"dbL0C * baseM * baseN * {ACCUMULATOR_BYTES}", "the sums fit L0C", TILING),
        Need("l1_bytes", f"depthA1 * {a} + depthB1 * {b}", "the blocks that wait fit L1", TILING),
    )
    cores = request.device.get("cube_cores", "compute_units")
    if cores is None:
        draft.skipped.append(f"values of usedCoreNum: cube_cores of {request.device.id} is not known")
        return draft
    draft.parameters["usedCoreNum"] = sorted({*_shares(int(cores)), *_few_blocks(request, draft, int(cores))})
    draft.constraints.append(
        rule(f"usedCoreNum <= {cores:.0f}", f"the device has {cores:.0f} cube cores", TILING)
    )
    if request.grouped:
        return draft
    batch = request.sizes.get("B", 1)
    blocks = f"{batch} * ceil({request.sizes['M']} / baseM) * ceil({request.sizes['N']} / baseN)"
    draft.constraints.append(rule(f"usedCoreNum <= {blocks}", "a core that is used has a block", TILING))
    return draft


def row(request: KernelRequest) -> SpaceDraft:
    """Space of an operator along rows of N, such as a softmax or a norm: tiles in the unified buffer.

    A tile comes in through one queue and leaves through another, each twice with double buffering, and is
    reckoned with once in 32 bits.
    """
    element = request.element_bytes
    step = ALIGNED_BYTES // max(int(element), 1)
    whole = -(-request.sizes["N"] // step) * step  # a row, padded to the alignment
    rows = power_above(request.sizes.get("M", MOST_ROWS), 1)
    draft = SpaceDraft()
    draft.parameters |= {
        "tileRows": powers(1, min(rows, MOST_ROWS)),
        "tileColumns": [*powers(power_above(step, 64), whole - 1), whole],
        "bufferNum": [1, 2],
    }
    cores = request.device.get("vector_cores", "compute_units")
    if cores is None:
        draft.skipped.append(f"values of blockDim: vector_cores of {request.device.id} is not known")
    else:
        most = min(int(cores), request.sizes.get("M", int(cores)))
        draft.parameters["blockDim"] = _shares(most)
        draft.notes.append(f"blockDim up to {most}: the vector cores, or the rows; more would run in turns")
    used = f"tileRows * tileColumns * (2 * bufferNum * {element:g} + {ACCUMULATOR_BYTES})"
    request.ask(draft, Need("ub_bytes", used, "queues and sums fit the UB", DOUBLE))
    remainder = f"tileColumns * {element:g} % {ALIGNED_BYTES}"
    draft.constraints.append(rule(f"{remainder} == 0", "a tile's row is a multiple of 32 B", RESTRICTIONS))
    if request.sizes["N"] * element % ADVISED_BYTES:
        length = f"a row of {request.sizes['N'] * element:g} B"
        draft.notes.append(f"{length} is no multiple of {ADVISED_BYTES} B: moving it is slow ({ADVISOR})")
    return draft


def elementwise(request: KernelRequest) -> SpaceDraft:
    """Space of an operator on each of N elements: tiles in the unified buffer, as for rows."""
    element = request.element_bytes
    least = max(ALIGNED_BYTES // max(int(element), 1), 64)
    draft = SpaceDraft()
    draft.parameters |= {
        "tileLength": powers(least, min(power_above(request.sizes["N"], least), 65536)),
        "bufferNum": [1, 2],
    }
    cores = request.device.get("vector_cores", "compute_units")
    if cores is None:
        draft.skipped.append(f"values of blockDim: vector_cores of {request.device.id} is not known")
    else:
        draft.parameters["blockDim"] = _shares(int(cores))
    used = f"tileLength * (2 * bufferNum * {element:g} + {ACCUMULATOR_BYTES})"
    request.ask(draft, Need("ub_bytes", used, "queues and sums fit the UB", DOUBLE))
    return draft


def attention(request: KernelRequest) -> SpaceDraft:
    """Attention by blocks whose scores are held whole: S keys, heads of width D, Q queries if others."""
    keys = request.sizes["S"]
    queries = request.sizes.get("Q", keys)
    draft = SpaceDraft()
    draft.parameters |= {
        "baseM": powers(FRACTAL, min(power_above(queries, FRACTAL), 512)),
        "baseN": powers(FRACTAL, min(power_above(keys, FRACTAL), 1024)),
        "bufferNum": [1, 2],
    }
    scores = f"baseM * baseN * {ACCUMULATOR_BYTES}"
    held = f"{scores} * bufferNum"
    if not request.device.joint:  # two vector cores take half the rows each
        held += " / 2"
    request.ask(
        draft,
        Need("l0c_bytes", scores, "the scores of a block fit L0C", TILING),
        Need("ub_bytes", held, "their softmax fits the UB", DOUBLE),
    )
    if request.sizes["D"] % 128:
        width = request.sizes["D"]
        draft.notes.append(
            f"D={width} is no multiple of 128: pad it (msprof-analyze advisor, FlashAttention)"
        )
    return draft


def _shares(cores: int) -> list[int]:
    """A quarter, half and all of the cores."""
    return sorted({max(1, cores // part) for part in (4, 2, 1)})


def _few_blocks(request: KernelRequest, draft: SpaceDraft, cores: int) -> set[int]:
    """Numbers of base blocks below that of the cores: so many are used where there are no more blocks."""
    if request.grouped:
        return set()
    sides = [
        {-(-request.sizes[side] // int(str(base))) for base in draft.parameters[f"base{side}"]}
        for side in "MN"
    ]
    counts = {request.sizes.get("B", 1) * rows * columns for rows in sides[0] for columns in sides[1]}
    return {count for count in counts if count < cores}
