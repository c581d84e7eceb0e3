"""Mechanisms that make kernels slower, or add some."""

import numpy as np

from benchmarks.profiles.mechanisms.edits import kernels, on_cores
from benchmarks.profiles.mechanisms.rows import has, number, slower
from benchmarks.profiles.profile_files import Random, RankFiles


def throttled(ranks: list[RankFiles], cost: float, random: Random) -> bool:
    """One device gets hot: its clock falls, what its cores compute takes longer in the same cycles."""
    rank = ranks[int(random.integers(len(ranks)))]
    rows = on_cores(rank)
    busy = sum(rank.duration[row] for row in rows)
    if not has(rank, "aicore_time(us)", "aic_total_cycles") or cost > 2.0 * busy:
        return False
    slower(rank, rows, cost, {}, cycles=False)
    return True


def autocast_off(ranks: list[RankFiles], cost: float, random: Random) -> bool:
    """Products run in 32 bit: the same shapes, the wider type, more time by the same factor."""
    for rank in ranks:
        rows = kernels(rank, "matmul", "mm_", "conv2d")
        if not rows or not has(rank, "Input Data Types"):
            return False
        slower(rank, rows, cost, {"Input Data Types": "FLOAT;FLOAT", "Output Data Types": "FLOAT"})
    return True


def aicpu(ranks: list[RankFiles], cost: float, random: Random) -> bool:
    """A kind of operator has no kernel for its type: all of it runs on the control processor."""
    of = [
        {rank.text(row, "kind") for row in kernels(rank) if rank.text(row, "core") == "AI_VECTOR_CORE"}
        for rank in ranks
    ]
    kinds = sorted(set.intersection(*of) - {"N/A", ""})
    if not kinds:
        return False
    kind = kinds[int(random.integers(len(kinds)))]
    for rank in ranks:
        rows = [row for row in kernels(rank) if rank.text(row, "core") == "AI_VECTOR_CORE"]
        mine = [row for row in rows if kind in {rank.text(row, "kind"), rank.text(row, "kernel")}]
        blank = {name: "N/A" for name in rank.columns if name.startswith(("aic", "aiv", "cube_"))}
        slower(rank, mine, cost, {rank.column("core"): "AI_CPU", "Block Dim": "1", **blank})
    return True


def recomputed(ranks: list[RankFiles], cost: float, random: Random) -> bool:
    """Activations are dropped: the forward part of the step runs again before the backward one."""
    for rank in ranks:
        order = kernels(rank)
        kinds = {rank.text(row, "kind") for row in order}
        backward = next((at for at, row in enumerate(order) if rank.text(row, "kind").endswith("Grad")), 0)
        forward = order[:backward]
        if not has(rank, "Type") or not any(f"{rank.text(row, 'kind')}Grad" in kinds for row in forward):
            return False
        bare = set(rank.uncovered())
        place = next((row for row in order[backward:] if row in bare), order[backward])
        for row in forward:  # it costs what the forward part costs, whatever is asked for
            rank.insert(place, dict(rank.rows[row]), float(rank.duration[row]), gap=0.3)
    return True


def half_the_cores(ranks: list[RankFiles], cost: float, random: Random) -> bool:
    """A small batch gives kernels half the blocks that there are cores: they take as much longer."""
    for rank in ranks:
        rows = [row for row in on_cores(rank) if number(rank.rows[row].get("Block Dim", "")) >= 8]
        rows = sorted(rows, key=lambda row: -rank.duration[row])
        kept, spent = [], 0.0
        for row in rows:
            if spent < cost:
                kept.append(row)
                spent += rank.duration[row]
        if spent < 0.7 * cost:
            return False
        for row in kept:
            blocks = number(rank.rows[row]["Block Dim"])
            slower(
                rank,
                [row],
                rank.duration[row] * cost / spent,
                {"Block Dim": f"{max(1, blocks / 2):.0f}"},
                cycles=False,
            )
    return True


def contended_memory(ranks: list[RankFiles], cost: float, random: Random) -> bool:
    """Another process reads the same memory: kernels wait for their loads, the longer the more they load."""
    for rank in ranks:
        names = [name for name in ("aic_mte2_ratio", "aiv_mte2_ratio") if name in rank.columns]
        rows = [row for row in on_cores(rank) if any(number(rank.rows[row][name]) > 0.3 for name in names)]
        if not rows:
            return False
        weights = np.array(
            [max(number(rank.rows[row][n]) for n in names) * rank.duration[row] for row in rows]
        )
        for row, part in zip(rows, weights / weights.sum(), strict=True):
            factor = 1 + cost * part / rank.duration[row]
            cells = {}
            for name in rank.columns:
                if name.endswith("_ratio") and number(rank.rows[row].get(name, "")) > 0:
                    share = number(rank.rows[row][name])
                    grown = (share + factor - 1) / factor if name in names else share / factor
                    cells[name] = f"{min(0.99, grown):.3f}"
            slower(rank, [row], cost * part, cells)
    return True


def odd_width(ranks: list[RankFiles], cost: float, random: Random) -> bool:
    """The inner axis of products is a little over a multiple of the tile: the last tile is all but empty."""
    for rank in ranks:
        rows = [row for row in kernels(rank, "matmul") if has(rank, "Input Shapes")]
        if not rows:
            return False

        def over(shapes: str) -> str:
            tensors = shapes.strip('"').split(";")
            return '"' + ";".join(",".join([*tensor.split(",")[:-1], "264"]) for tensor in tensors) + '"'

        for row in rows:
            rank.rows[row]["Input Shapes"] = over(rank.rows[row]["Input Shapes"])
        slower(rank, rows, min(cost, sum(rank.duration[row] for row in rows)), {})
    return True
