"""Faults of kernels for known profiles: longer ones, more of them, on the wrong unit."""

from collections.abc import Callable
from itertools import pairwise

import numpy as np

from benchmarks.profiles.profile_files import Random, RankFiles, Strike


def has(rank: RankFiles, *columns: str) -> bool:
    return all(column in rank.columns for column in columns)


def chosen(rank: RankFiles, random: Random, wanted: Callable[[int], bool], count: int = 4) -> list[int]:
    rows = [row for row in rank.compute() if wanted(row) and rank.duration[row] > 1]
    if not rows:
        return []
    weights = np.array([rank.duration[row] for row in rows])
    picked = random.choice(len(rows), size=min(count, len(rows)), replace=False, p=weights / weights.sum())
    return sorted((rows[i] for i in picked), key=lambda row: rank.start[row])


def slower(
    rank: RankFiles, rows: list[int], cost: float, cells: dict[str, str], *, cycles: bool = True
) -> None:
    """Rows take ``cost`` longer together, and say ``cells``; times of their cores and cycles grow alike."""
    weights = np.array([rank.duration[row] for row in rows])
    for row, part in zip(rows, weights / weights.sum(), strict=True):
        factor = 1 + cost * part / rank.duration[row]
        rank.stretch(row, cost * part)
        cell = rank.rows[row]
        for name in (
            "aicore_time(us)",
            "aiv_time(us)",
            *(("aic_total_cycles", "aiv_total_cycles") if cycles else ()),
        ):
            if name in cell:
                cell[name] = f"{number(cell[name]) * factor:.3f}"
        cell.update({name: value for name, value in cells.items() if name in cell})


def number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return 0.0


def is_vector(rank: RankFiles) -> Callable[[int], bool]:
    return lambda row: rank.text(row, "core") == "AI_VECTOR_CORE"


def is_cube(rank: RankFiles) -> Callable[[int], bool]:
    return lambda row: rank.text(row, "core") in {"AI_CORE", "MIX_AIC"}


# ------------------------------------------------------------------ operators
def aicpu(ranks: list[RankFiles], cost: float, random: Random) -> bool:
    rank = ranks[0]
    rows = chosen(rank, random, is_vector(rank), 3)
    if not rows:
        return False
    blank = {name: "N/A" for name in rank.columns if name.startswith(("aic", "aiv", "cube_"))}
    slower(rank, rows, cost, {rank.column("core"): "AI_CPU", "Block Dim": "1", **blank})
    return True


def aicpu_by_type(ranks: list[RankFiles], cost: float, random: Random) -> bool:
    """On the AI CPU for a type that no core has: 64-bit floats; some kinds do run on 64-bit integers."""
    if not has(ranks[0], "Input Data Types") or not aicpu(ranks, cost, random):
        return False
    for row in ranks[0].rows:
        if row[ranks[0].column("core")] == "AI_CPU":
            row["Input Data Types"] = "DOUBLE;DOUBLE"
    return True


def indexing(ranks: list[RankFiles], cost: float, random: Random) -> bool:
    """Results whose size depends on values: the AI CPU computes them."""
    rank = ranks[0]
    vector = [row for row in rank.compute() if is_vector(rank)(row)]
    if not vector or not has(rank, "Type", "Input Data Types"):
        return False
    blank = {name: "N/A" for name in rank.columns if name.startswith(("aic", "aiv", "cube_"))}
    for place in range(10):
        kind = ("Unique", "MaskedSelect")[place % 2]
        model = {**rank.rows[vector[0]], **blank, "Block Dim": "1", "Input Data Types": "BOOL"}
        model[rank.column("kernel")] = f"aclnn{kind}_{kind}"
        model[rank.column("kind")] = kind
        model[rank.column("core")] = "AI_CPU"
        rows = rank.uncovered()
        rank.insert(rows[int(random.integers(len(rows)))], model, cost / 10)
    return True


def pipe(name: str, other: str, which: Callable[[RankFiles], Callable[[int], bool]]) -> Strike:
    """Kernels that one pipe holds up."""

    def strike(ranks: list[RankFiles], cost: float, random: Random) -> bool:
        rank = ranks[0]
        if not has(rank, name):
            return False
        rows = chosen(rank, random, which(rank), 4)
        if not rows:
            return False
        prefix = name[:3]
        quiet = {
            c: f"{random.uniform(0.02, 0.12):.3f}"
            for c in rank.columns
            if c.startswith(prefix) and c.endswith("_ratio")
        }
        slower(
            rank,
            rows,
            cost,
            {**quiet, other: f"{random.uniform(0.1, 0.3):.3f}", name: f"{random.uniform(0.93, 0.99):.3f}"},
        )
        return True

    return strike


def no_bound(ranks: list[RankFiles], cost: float, random: Random) -> bool:
    rank = ranks[0]
    if not has(rank, "aiv_vec_ratio"):
        return False
    rows = chosen(rank, random, lambda row: is_vector(rank)(row) or is_cube(rank)(row), 4)
    quiet = {
        c: f"{random.uniform(0.02, 0.1):.3f}"
        for c in rank.columns
        if c.startswith(("aic_", "aiv_")) and c.endswith("_ratio")
    }
    slower(rank, rows, cost, quiet)
    return bool(rows)


def icache(ranks: list[RankFiles], cost: float, random: Random) -> bool:
    rank = ranks[0]
    if not has(rank, "aiv_icache_miss_rate"):
        return False
    rows = chosen(rank, random, is_vector(rank), 4)
    if not rows:
        return False
    spent = sum(rank.duration[row] for row in rows)
    missed = cost / (spent + cost)
    slower(rank, rows, cost, {"aiv_icache_miss_rate": f"{min(0.95, missed):.3f}"})
    return bool(missed > 0.2)


def blocks(ranks: list[RankFiles], cost: float, random: Random) -> bool:
    """One block more than cores: a second round for it alone."""
    rank = ranks[0]
    if not has(rank, "Block Dim"):
        return False
    cube = [number(rank.rows[row]["Block Dim"]) for row in rank.compute() if is_cube(rank)(row)]
    cores = max((count for count in cube if count <= 32), default=0)
    if not cores:
        return False
    rows, spent = [], 0.0
    for row in sorted(rank.compute(), key=lambda row: -rank.duration[row]):
        if is_cube(rank)(row) and number(rank.rows[row]["Block Dim"]) <= cores and spent < cost:
            rows.append(row)
            spent += rank.duration[row]
    if spent < 0.8 * cost:
        return False
    for row in rows:
        slower(rank, [row], rank.duration[row], {"Block Dim": f"{cores + 1:.0f}"})
    return True


def frequency(ranks: list[RankFiles], cost: float, random: Random) -> bool:
    """Cycles stay, time grows: the clock fell for the later kernels."""
    rank = ranks[0]
    if not has(rank, "aicore_time(us)", "aic_total_cycles"):
        return False
    rows = sorted(
        (row for row in rank.compute() if rank.text(row, "core") != "AI_CPU"), key=lambda row: rank.start[row]
    )
    rows = rows[len(rows) // 4 :]
    spent = sum(rank.duration[row] for row in rows)
    if cost > 0.8 * spent:  # a clock does not fall below 55 %
        return False
    slower(rank, rows, cost, {}, cycles=False)
    return True


def precision(ranks: list[RankFiles], cost: float, random: Random) -> bool:
    rank = ranks[0]
    if not has(rank, "Input Data Types", "Type"):
        return False
    rows = [
        row
        for row in rank.compute()
        if "matmul" in rank.text(row, "kind").lower() and "BF16" in rank.rows[row]["Input Data Types"].upper()
    ]
    if not rows or sum(rank.duration[row] for row in rows) < 0.3 * cost:
        return False
    slower(rank, rows, cost, {"Input Data Types": "FLOAT;FLOAT", "Output Data Types": "FLOAT"})
    return True


def inserted(kind: str, of: str, count: int = 20) -> Strike:
    """Kernels that only rearrange, convert or copy, between those of the job."""

    def strike(ranks: list[RankFiles], cost: float, random: Random) -> bool:
        rank = ranks[0]
        vector = [row for row in rank.compute() if is_vector(rank)(row)]
        if not vector:
            return False
        model = dict(rank.rows[vector[0]])
        model[rank.column("kernel")] = f"aclnn{of}_{kind}AiCore_{kind}"
        if model.get(rank.column("kind"), "N/A") != "N/A":
            model[rank.column("kind")] = kind
        for name, ratio in (
            ("aiv_mte2_ratio", 0.5),
            ("aiv_mte3_ratio", 0.45),
            ("aiv_vec_ratio", 0.1),
            ("aiv_scalar_ratio", 0.1),
        ):
            if name in model:
                model[name] = f"{ratio}"
        for _ in range(count):
            rows = rank.uncovered()
            rank.insert(rows[int(random.integers(len(rows)))], model, cost / count)
        return True

    return strike


def unfused(*kinds: str) -> Strike:
    """A layer in small operators, thirty times."""
    return lambda ranks, cost, random: in_pieces(ranks[0], cost, random, kinds)


def in_pieces(rank: RankFiles, cost: float, random: Random, kinds: tuple[str, ...]) -> bool:
    if not has(rank, "Type"):
        return False
    vector = [row for row in rank.compute() if is_vector(rank)(row) and rank.text(row, "kind") != "N/A"]
    if not vector:
        return False
    times = 30
    for _ in range(times):
        rows = rank.uncovered()
        row = rows[int(random.integers(len(rows)))]
        for kind in kinds:
            model = dict(rank.rows[vector[0]])
            model[rank.column("kernel")] = f"aclnn{kind}_{kind}AiCore_{kind}"
            model[rank.column("kind")] = kind
            for name, ratio in (
                ("aiv_mte2_ratio", 0.5),
                ("aiv_mte3_ratio", 0.4),
                ("aiv_vec_ratio", 0.4),
                ("aiv_scalar_ratio", 0.1),
            ):
                if name in model:
                    model[name] = f"{ratio}"
            rank.insert(row, model, cost / times / len(kinds), gap=0.5)
    return True


def round_trips(ranks: list[RankFiles], cost: float, random: Random) -> bool:
    """A residual added by an operator of its own right behind forty products."""
    rank = ranks[0]
    if not has(rank, "Type", "Input Shapes", "Output Shapes"):
        return False
    order = sorted(range(len(rank.rows)), key=lambda row: rank.start[row])
    behind = [
        (before, after)
        for before, after in pairwise(order)
        if "matmul" in rank.text(before, "kind").lower()
        and is_vector(rank)(after)
        and rank.text(after, "kind") not in {"Add", "Mul", "N/A"}
        and rank.start[after] >= rank.start[before] + rank.duration[before]
        and rank.rows[before]["Output Shapes"].strip('" ;')
    ]
    if len(behind) < 10:
        return False
    picked = [behind[i] for i in random.permutation(len(behind))[:40]]
    for before, after in picked:
        made = rank.rows[before]["Output Shapes"].strip('" ').split(";")[0].strip('" ')
        model = dict(rank.rows[after])
        model[rank.column("kernel")] = "aclnnAdd_AddAiCore_Add"
        model[rank.column("kind")] = "Add"
        model.update({"Input Shapes": f'"{made};{made}"', "Output Shapes": f'"{made}"'})
        for name, ratio in (
            *(("aiv_mte2_ratio", 0.5), ("aiv_mte3_ratio", 0.45)),
            *(("aiv_vec_ratio", 0.1), ("aiv_scalar_ratio", 0.1)),
        ):
            if name in model:
                model[name] = f"{ratio}"
        rank.insert(after, model, cost / len(picked))
    return True


def recompute(ranks: list[RankFiles], cost: float, random: Random) -> bool:
    """The forward operators of every layer once more, before the backward ones."""
    rank = ranks[0]
    if not has(rank, "Type"):
        return False
    kinds = {rank.text(row, "kind") for row in rank.compute()}
    forward = [row for row in rank.compute() if f"{rank.text(row, 'kind')}Grad" in kinds]
    if sum(rank.duration[row] for row in forward) < 0.6 * cost:
        return False
    total = sum(rank.duration[row] for row in forward)
    targets = [row for row in rank.compute() if rank.text(row, "kind").endswith("Grad")]
    for row in forward:
        rank.insert(
            targets[int(random.integers(len(targets)))],
            dict(rank.rows[row]),
            rank.duration[row] * cost / total,
        )
    return True
