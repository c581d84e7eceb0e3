"""Configurations of the kernels without a matrix unit that tuners are compared on.

Source:
    CLBlast's Xgemm: Nugteren, CLBlast: a tuned OpenCL BLAS library, IWOCL 2018, and
    https://github.com/CNugteren/CLBlast/blob/master/doc/details_gemm.md. The convolution: van Werkhoven
    et al., Optimizing convolution operations on GPUs using adaptive tiling, FGCS 2014.
"""

from __future__ import annotations

from recommender.space.made.generated import SpaceDraft, rule
from recommender.space.made.needs import (
    CUDA_GUIDE,
    MOST_THREADS,
    STATIC_SHARED_BYTES,
    KernelRequest,
    is_nvidia,
)

KERNEL = "https://github.com/CNugteren/CLBlast/blob/master/src/tuning/kernels/xgemm.hpp"
STEP = 32
"""Length of a step along K (KWG), unrolled by two (KWI): the values that public tables hold fixed."""


def product(wanted: KernelRequest) -> SpaceDraft:
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
    used = f"(SA * MWG + SB * NWG) * KWG * {wanted.element_bytes:g}"
    reason = f"the tiles fit {STATIC_SHARED_BYTES} B of local memory"
    draft.constraints.append(rule(f"{used} <= {STATIC_SHARED_BYTES}", reason, CUDA_GUIDE))
    return draft


def convolution(wanted: KernelRequest) -> SpaceDraft:
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
    if is_nvidia(wanted.device):
        width = f"(block_size_x * tile_size_x + {wanted.sizes['FW'] - 1})"
        height = f"(block_size_y * tile_size_y + {wanted.sizes['FH'] - 1})"
        reason = f"the tile with its halo fits {STATIC_SHARED_BYTES} B of static shared memory"
        used = f"{width} * {height} * {wanted.element_bytes:g}"
        draft.constraints.append(rule(f"{used} <= {STATIC_SHARED_BYTES}", reason, CUDA_GUIDE))
    else:
        draft.skipped.append(
            f"static shared memory of a block: {wanted.device.id} has no compute capability of CUDA"
        )
    return draft
