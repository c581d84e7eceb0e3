"""Faults of shapes for known profiles: sizes that do not fill a tile, shapes that change, batches of unequal size."""

from collections.abc import Callable

from benchmarks.profiles.communication_faults import collective_wait
from benchmarks.profiles.host_faults import call, gaps
from benchmarks.profiles.kernel_faults import has, slower
from benchmarks.profiles.profile_files import Random, RankFiles

INNER, INNER_TILE = 260, 512
"""Inner axis of a product that its tiles of 256 elements hold in two, the second all but empty."""
LEAST_COMPILE_US = 300.0
"""What compiling an operator takes at least."""
HEAD, HEAD_TILE = 136, 256
"""Head size that tiles of 128 elements hold in two."""


def padded(rank: RankFiles, cost: float, kind: str, change: Callable[[str], str], whole: float) -> bool:
    """The longest kernels of a kind take ``whole`` times as long, in shapes that say why."""
    rows, spent = [], 0.0
    for row in sorted(rank.compute(), key=lambda row: -rank.duration[row]):
        if kind in rank.text(row, "kind").lower() and spent < cost:
            rows.append(row)
            spent += rank.duration[row] * (whole - 1)
    if spent < 0.8 * cost:
        return False
    for row in rows:
        slower(
            rank,
            [row],
            rank.duration[row] * (whole - 1),
            {"Input Shapes": change(rank.rows[row]["Input Shapes"])},
        )
    return True


def inner_axis(ranks: list[RankFiles], cost: float, random: Random) -> bool:
    if not has(ranks[0], "Type", "Input Shapes"):
        return False

    def change(shapes: str) -> str:
        first, *others = shapes.strip('"').split(";")
        outer = first.split(",")[0]
        return '"' + ";".join([f"{outer},{INNER}", *others]) + '"'

    return padded(ranks[0], cost, "matmul", change, INNER_TILE / INNER)


def head_size(ranks: list[RankFiles], cost: float, random: Random) -> bool:
    if not has(ranks[0], "Type", "Input Shapes"):
        return False

    def change(shapes: str) -> str:
        _, *others = shapes.strip('"').split(";")
        return '"' + ";".join([f"1,16,4096,{HEAD}", *others]) + '"'

    return padded(ranks[0], cost, "flashattention", change, HEAD_TILE / HEAD)


def changing(ranks: list[RankFiles], cost: float, random: Random) -> bool:
    """Shapes that change from step to step: tiling and compiling, again and again, before kernels."""
    rank = ranks[0]
    if not has(rank, "OP State") or any(row["OP State"] == "dynamic" for row in rank.rows):
        return False
    for row in rank.compute():
        rank.rows[row]["OP State"] = "dynamic"
    gaps(int(min(40, max(3, cost / LEAST_COMPILE_US))))(rank, cost, random)
    return call(rank, "acl", "MatMulV3_Tiling", 0.6 * cost, 400) and call(
        rank, "acl", "aclopCompileAndExecute", 0.45 * cost, 20
    )


def uneven_batch(ranks: list[RankFiles], cost: float, random: Random) -> bool:
    """One rank is given more samples; the others wait for it in their next collective."""
    if len(ranks) < 2 or not all(has(rank, "Input Shapes") for rank in ranks):
        return False
    struck = ranks[int(random.integers(len(ranks)))]
    rows = struck.compute()
    factor = 1 + cost / sum(struck.duration[row] for row in rows)
    slower(struck, rows, cost, {})
    for row in rows:
        shapes = struck.rows[row]["Input Shapes"].strip('"').split(";")
        struck.rows[row]["Input Shapes"] = '"' + ";".join(larger(shape, factor) for shape in shapes) + '"'
    for rank in ranks:
        if rank is not struck:
            collective_wait([rank], cost, random)
    return True


def larger(shape: str, factor: float) -> str:
    """A shape with more of its first axis."""
    first, *others = shape.split(",")
    return ",".join([str(round(int(first) * factor)), *others]) if first.isdigit() else shape
