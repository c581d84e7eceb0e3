"""Configurations of a CUDA kernel whose source is public: the convolution that tuners are compared on."""

from __future__ import annotations

from recommender.space.made.generated import SpaceDraft, rule
from recommender.space.made.needs import (
    CUDA_GUIDE,
    MOST_THREADS,
    STATIC_SHARED_BYTES,
    KernelRequest,
    is_nvidia,
)

SOURCE = "https://doi.org/10.1016/j.future.2013.09.003"
"""Van Werkhoven et al., Optimizing convolution operations on GPUs using adaptive tiling, FGCS 2014."""


def convolution(wanted: KernelRequest) -> SpaceDraft:
    """A direct convolution with a filter of FW by FH: threads and tiles in two directions.

    Source:
        Van Werkhoven et al., Optimizing convolution operations on GPUs using adaptive tiling, FGCS 2014.
    """
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
