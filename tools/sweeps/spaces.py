"""The spaces of the shipped C kernels that a sweep measures: parameters, rule, sizes."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

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
    """

    operator: str
    source: str
    sizes: tuple[str, ...]
    shapes: tuple[tuple[int, ...], ...]
    defines: dict[str, tuple[int, ...]]
    repeats: int = 5
    rule: Callable[[dict[str, str | int]], bool] = anything

    def builds(self) -> list[dict[str, str | int]]:
        """Every configuration but for threads, which need no build of their own."""
        values = {**BUILDS, **self.defines}
        every = [dict(zip(values, point, strict=True)) for point in product(*values.values())]
        return [config for config in every if self.rule(config)]


def whole_rows(config: dict[str, str | int]) -> bool:
    """The rule of the matrix product: groups of rows divide a block."""
    return int(config["tile_m"]) % int(config["rows"]) == 0


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
    ),
    "convolution": SweptSpace(
        operator="direct_convolution",
        source="convolution.c",
        sizes=("C", "K", "H", "W", "R"),
        shapes=((16, 32, 64, 64, 3), (3, 16, 112, 112, 7), (64, 64, 14, 14, 3)),
        defines={"tile_x": (16, 64, 256), "channels": (1, 2, 4, 8), "unroll": (1, 3), "rows": (1, 4, 16)},
    ),
    "attention": SweptSpace(
        operator="tiled_attention",
        source="attention.c",
        sizes=("H", "S", "D"),
        shapes=((2, 256, 64), (1, 512, 32), (8, 96, 128)),
        defines={"tile_q": (1, 4, 16), "tile_keys": (16, 64, 256), "turn": (0, 1), "late": (0, 1)},
        repeats=10,
    ),
    "reduction": SweptSpace(
        operator="row_reduction",
        source="reduction.c",
        sizes=("M", "N"),
        shapes=((1024, 512), (16, 32768), (16384, 48)),
        defines={"lanes": (1, 4, 8, 16, 32), "rows": (1, 4), "block": (64, 512, 4096), "wide": (0, 1)},
        repeats=40,
    ),
}
"""By name of the kernel."""
