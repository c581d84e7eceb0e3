"""The spaces of the shipped C kernels that a sweep measures: parameters, rule, sizes."""

from collections.abc import Callable
from dataclasses import dataclass
from itertools import product

BUILDS: dict[str, tuple[str | int, ...]] = {
    "compiler": ("gcc", "clang"),
    "flags": ("-O2", "-O3", "-O3 -march=native"),
}
"""How every kernel is built."""

THREADS = (1, 2)


def anything(config: dict[str, str | int]) -> bool:
    """True: a kernel without a rule builds with any configuration."""
    return bool(config)


@dataclass(frozen=True, slots=True, kw_only=True)
class SweptSpace:
    """The configurations and sizes of one kernel.

    Attributes:
        operator: What the cases call it.
        source: File of ``data/kernels``.
        sizes: Names of its arguments, in order.
        shapes: Values of them, a few problems unlike each other.
        defines: Values by parameter; upper case names them to the compiler.
        repeats: Runs that a time is the mean of; more where a run is short and its spread large.
        rule: True where the kernel builds.
        estimate: Roughly the cycles of a step of the innermost work, over ``threads``, from the loops of the
            source; for a search (``docs/search.md``). Constants: floats a vector holds (x86-64 has 4,
            AVX2 8; ``-O2`` counts as none), half a cycle a load and one a store, 12 cycles to begin a loop,
            bytes a cycle from the first cache of 32 kB, the second of 1 MB, and beyond (64, 32, 12; those of
            current server cores, rounded), 4 cycles until an addition is there. None was fitted.
    """

    operator: str
    source: str
    sizes: tuple[str, ...]
    shapes: tuple[tuple[int, ...], ...]
    defines: dict[str, tuple[int, ...]]
    repeats: int = 5
    rule: Callable[[dict[str, str | int]], bool] = anything
    estimate: str = ""

    def builds(self) -> list[dict[str, str | int]]:
        """Every configuration but for threads, which need no build of their own."""
        values = {**BUILDS, **self.defines}
        every = [dict(zip(values, point, strict=True)) for point in product(*values.values())]
        return [config for config in every if self.rule(config)]


def whole_rows(config: dict[str, str | int]) -> bool:
    """The rule of the matrix product: groups of rows divide a block."""
    return int(config["tile_m"]) % int(config["rows"]) == 0


_VECTOR = "(1 if flags == '-O2' else 4 if flags == '-O3' else 8)"


def _bytes_a_cycle(held: str) -> str:
    """Speed of the cache that so many bytes fit into, as text of an expression."""
    return f"(64 if {held} <= 32e3 else 32 if {held} <= 1e6 else 12)"


_WIDE, _X, _KEYS = "min(tile_n, N)", "min(tile_x, W)", "min(tile_keys, S)"
_TOGETHER = "(3 if unroll == 3 and R >= 3 else 1)"
_LANES = f"min({_VECTOR}, lanes)"

SPACES = {
    "matmul": SweptSpace(
        operator="blocked_matmul",
        source="matmul.c",
        sizes=("M", "N", "K"),
        shapes=((512, 512, 512), (2048, 64, 512), (256, 1024, 256)),
        defines={
            "tile_m": (4, 64),
            "rows": (1, 4, 8),
            "tile_n": (32, 128, 512),
            "tile_k": (32, 128, 512),
            "pack": (0, 1),
        },
        rule=whole_rows,
        estimate=(
            f"(12 + ceil({_WIDE} / {_VECTOR}) + {_WIDE} * 12 / 2 / 64"
            f" + {_WIDE} * 4 / rows / {_bytes_a_cycle(f'4 * {_WIDE} * min(tile_k, K)')}) / {_WIDE} / threads"
        ),
    ),
    "convolution": SweptSpace(
        operator="direct_convolution",
        source="convolution.c",
        sizes=("C", "K", "H", "W", "R"),
        shapes=((16, 32, 64, 64, 3), (3, 16, 112, 112, 7), (64, 64, 14, 14, 3)),
        defines={"tile_x": (16, 64, 256), "channels": (1, 2, 4, 8), "unroll": (1, 3), "rows": (1, 4, 16)},
        estimate=(
            f"ceil(R / {_TOGETHER}) * (12 + ceil({_X} / {_VECTOR}) * max((1 + {_TOGETHER}) / 2, 1)"
            f" + {_X} * 4 * (2 + {_TOGETHER}) / 2 / {_bytes_a_cycle(f'4 * {_X} * (channels * rows + R)')})"
            f" / {_X} / threads"
        ),
    ),
    "attention": SweptSpace(
        operator="tiled_attention",
        source="attention.c",
        sizes=("H", "S", "D"),
        shapes=((2, 256, 64), (1, 512, 32), (8, 96, 128)),
        defines={"tile_q": (1, 4, 16), "tile_keys": (16, 64, 256), "turn": (0, 1), "late": (0, 1)},
        repeats=10,
        estimate=(
            f"((D * (12 / {_KEYS} + 1 / {_VECTOR}) + 2 * D / tile_q if turn == 1 else 12 + 4 * D)"
            f" + 12 + D / {_VECTOR} + 20 + 8 * D / tile_q / {_bytes_a_cycle(f'8 * D * {_KEYS}')}) / threads"
        ),
    ),
    "reduction": SweptSpace(
        operator="row_reduction",
        source="reduction.c",
        sizes=("M", "N"),
        shapes=((1024, 512), (16, 32768), (16384, 48)),
        defines={"lanes": (1, 4, 8, 16, 32), "rows": (1, 4), "block": (64, 512, 4096), "wide": (0, 1)},
        repeats=40,
        estimate=(
            f"((10 + lanes) / min(block, N) + max(4 * {_LANES} / lanes, 1) / {_LANES}"
            f" + 4 / {_bytes_a_cycle('4 * M * N')}) / threads"
        ),
    ),
}
"""By name of the kernel."""
