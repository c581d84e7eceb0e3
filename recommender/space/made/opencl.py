"""Configurations of the OpenCL matrix product that tuners are compared on: the Xgemm kernel of CLBlast.

Source:
    Nugteren, CLBlast: a tuned OpenCL BLAS library, IWOCL 2018 (https://arxiv.org/abs/1705.05249), and
    https://github.com/CNugteren/CLBlast/blob/master/doc/details_gemm.md.
"""

from __future__ import annotations

from recommender.space.made.generated import SpaceDraft, rule
from recommender.space.made.needs import CUDA_GUIDE, MOST_THREADS, STATIC_SHARED_BYTES, KernelRequest

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
