"""Rough costs of the shipped C kernels from the loops of their sources, as a search file states them."""

_VECTOR = "(1 if flags == '-O2' else 4 if flags == '-O3' else 8)"


def _bytes_a_cycle(held: str) -> str:
    """Speed of the cache that so many bytes fit into, as text of an expression."""
    return f"(64 if {held} <= 32e3 else 32 if {held} <= 1e6 else 12)"


_WIDE, _X, _KEYS = "min(tile_n, N)", "min(tile_x, W)", "min(tile_keys, S)"
_TOGETHER = "(3 if unroll == 3 and R >= 3 else 1)"
_LANES = f"min({_VECTOR}, lanes)"

ESTIMATES = {
    "blocked_matmul": (
        f"(12 + ceil({_WIDE} / {_VECTOR}) + {_WIDE} * 12 / 2 / 64"
        f" + {_WIDE} * 4 / rows / {_bytes_a_cycle(f'4 * {_WIDE} * min(tile_k, K)')}) / {_WIDE} / threads"
    ),
    "direct_convolution": (
        f"ceil(R / {_TOGETHER}) * (12 + ceil({_X} / {_VECTOR}) * max((1 + {_TOGETHER}) / 2, 1)"
        f" + {_X} * 4 * (2 + {_TOGETHER}) / 2 / {_bytes_a_cycle(f'4 * {_X} * (channels * rows + R)')})"
        f" / {_X} / threads"
    ),
    "tiled_attention": (
        f"((D * (12 / {_KEYS} + 1 / {_VECTOR}) + 2 * D / tile_q if turn == 1 else 12 + 4 * D)"
        f" + 12 + D / {_VECTOR} + 20 + 8 * D / tile_q / {_bytes_a_cycle(f'8 * D * {_KEYS}')}) / threads"
    ),
    "row_reduction": (
        f"((10 + lanes) / min(block, N) + max(4 * {_LANES} / lanes, 1) / {_LANES}"
        f" + 4 / {_bytes_a_cycle('4 * M * N')}) / threads"
    ),
}
"""By operator, roughly the cycles of a step of the innermost work, over ``threads``. Constants: floats a vector holds
(x86-64 has 4, AVX2 8; ``-O2`` counts as none), half a cycle a load and one a store, 12 cycles to begin a loop, bytes a
cycle from the first cache of 32 kB, the second of 1 MB, and beyond (64, 32, 12; those of current server cores,
rounded), 4 cycles until an addition is there. None was fitted."""
