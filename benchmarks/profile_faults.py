"""Known faults, put into the files of real profiles: at least fifteen kinds, each of a chosen cost.

Each fault lengthens the step by about ``cost`` microseconds on the rank it strikes, in the way in which such a
fault shows in a profile: kernels and their counters, gaps, operators of communication, calls of the host.
A fault that a profile cannot show (no counters, no communication) does not apply there.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from profile_files import RankFiles

Random = np.random.Generator
Strike = Callable[[list[RankFiles], float, Random], bool]


@dataclass(frozen=True)
class KnownFault:
    """A fault.

    Attributes:
        node: Id in the knowledge.
        strike: Puts it in; false if it does not apply.
        edges: Edges (effect, cause) of its chain: what of the step it lengthens, and through what.
    """

    node: str
    strike: Strike
    edges: tuple[tuple[str, str], ...] = ()


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
    if not has(ranks[0], "Input Data Types") or not aicpu(ranks, cost, random):
        return False
    for row in ranks[0].rows:
        if row[ranks[0].column("core")] == "AI_CPU":
            row["Input Data Types"] = "INT64;INT64"
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
    return missed > 0.2


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


def unfused(ranks: list[RankFiles], cost: float, random: Random) -> bool:
    """A normalisation in six small operators, thirty times."""
    rank = ranks[0]
    if not has(rank, "Type"):
        return False
    vector = [row for row in rank.compute() if is_vector(rank)(row) and rank.text(row, "kind") != "N/A"]
    if not vector:
        return False
    times = 30
    for _ in range(times):
        rows = rank.uncovered()
        row = rows[int(random.integers(len(rows)))]
        for kind in ("Mul", "Rsqrt", "Add", "ReduceMean", "Square", "Cast"):
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
            rank.insert(row, model, cost / times / 6, gap=0.5)
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


# ------------------------------------------------------------------ host
def gaps(count: int) -> Callable[[RankFiles, float, Random], None]:
    def put(rank: RankFiles, cost: float, random: Random) -> None:
        for _ in range(count):
            rows = rank.uncovered()
            rank.delay(rows[int(random.integers(1, len(rows)))], cost / count)

    return put


def host(ranks: list[RankFiles], cost: float, random: Random) -> bool:
    gaps(25)(ranks[0], cost, random)
    return True


def launches(ranks: list[RankFiles], cost: float, random: Random) -> bool:
    """Thousands of tiny kernels, each behind its launch."""
    rank = ranks[0]
    vector = [row for row in rank.compute() if is_vector(rank)(row)]
    if not vector:
        return False
    model = dict(rank.rows[vector[0]])
    model[rank.column("kernel")] = "aclnnTiny_TinyAiCore_Tiny"
    if model.get(rank.column("kind"), "N/A") != "N/A":
        model[rank.column("kind")] = "Tiny"
    count = int(min(4000, max(200, cost / 40)))
    gap = cost / count - 2.0
    rows = rank.uncovered()
    anchor = rows[len(rows) // 2]
    at = rank.start[anchor]
    rank.delay(anchor, cost)
    starts = [float(at + place * (gap + 2.0)) for place in range(count)]
    rank.add([dict(model) for _ in range(count)], starts, [2.0] * count)
    return gap > 4 and gap < 190


def collector(ranks: list[RankFiles], cost: float, random: Random) -> bool:
    rank = ranks[0]
    gaps(2)(rank, cost, random)
    rank.gc_us = [cost / 2, cost / 2]
    return cost > 4000


def loader(ranks: list[RankFiles], cost: float, random: Random) -> bool:
    rank = ranks[0]
    gaps(1)(rank, cost, random)
    rank.loader_us = cost
    return cost > 12_000


def call(rank: RankFiles, level: str, name: str, total: float, count: int) -> bool:
    if not rank.apis:
        return False
    row = dict.fromkeys(rank.apis[0], "")
    row.update({"Level": level, "API Name": name, "Time(us)": f"{total:.3f}", "Count": str(count),
                "Avg(us)": f"{total / count:.3f}", "Min(us)": "1.0", "Max(us)": f"{2 * total / count:.3f}"})  # fmt: skip
    rank.apis.append(row)
    return True


def allocation(ranks: list[RankFiles], cost: float, random: Random) -> bool:
    gaps(30)(ranks[0], cost, random)
    return (
        call(ranks[0], "runtime", "aclMallocMemInner", 0.6 * cost, 30)
        and call(ranks[0], "acl", "aclrtFreePhysical", 0.4 * cost, 30)
        and cost > 12_000
    )


def synchronising(ranks: list[RankFiles], cost: float, random: Random) -> bool:
    rank = ranks[0]
    long = sum(1 for a, b in pairwise(sorted(rank.start)) if b - a > 60)
    count = max(60, 2 * long)
    gaps(count)(rank, cost, random)
    return call(rank, "acl", "aclrtSynchronizeStreamWithTimeout", 1.5 * cost, count) and cost / count > 60


def compilation(ranks: list[RankFiles], cost: float, random: Random) -> bool:
    gaps(20)(ranks[0], cost, random)
    return call(ranks[0], "acl", "aclopCompileAndExecute", 1.05 * cost, 20)


# ------------------------------------------------------------------ communication
def operators(rank: RankFiles, wanted: Callable[[str], bool]) -> list[tuple[str, dict, list[int]]]:
    """Operators of communication with their rows in the table of kernels."""
    found = []
    for kinds in rank.communication.values():
        for names in kinds.values():
            for name, info in names.items():
                plain = name.partition("@")[0]
                rows = [r for r in range(len(rank.rows)) if rank.text(r, "kernel").partition("@")[0] == plain]
                if name != "Total Op Info" and wanted(plain.lower()) and len(rows) == 1:
                    found.append((plain, info, rows))
    return found


def longer(rank: RankFiles, info: dict, row: int, cost: float, *, part: str) -> None:
    """One operator lasts longer: ``part`` of its times grows."""
    times = info["Communication Time Info"]
    times["Elapse Time(ms)"] += cost / 1e3
    times[part] = times.get(part, 0) + cost / 1e3
    if part == "Wait Time(ms)":
        times["Synchronization Time(ms)"] = times.get("Synchronization Time(ms)", 0) + cost / 1e3
    rank.stretch(row, cost)


def collective_wait(ranks: list[RankFiles], cost: float, random: Random) -> bool:
    found = operators(
        ranks[0], lambda name: "allreduce" in name or "reducescatter" in name or "allgather" in name
    )
    for _, info, rows in found[:3]:
        longer(ranks[0], info, rows[0], cost / len(found[:3]), part="Wait Time(ms)")
    return bool(found)


def bubble(ranks: list[RankFiles], cost: float, random: Random) -> bool:
    found = operators(ranks[0], lambda name: "send" in name or "recv" in name)
    for _, info, rows in found:
        longer(ranks[0], info, rows[0], cost / len(found), part="Wait Time(ms)")
    return bool(found)


def move(rank: RankFiles, cost: float, change: Callable[[dict, float], None]) -> bool:
    """Transfers take longer; ``change`` says how their packets look, given the factor of their time."""
    found = []
    for _, info, rows in operators(rank, lambda name: "send" not in name and "recv" not in name):
        moving = {
            k: t
            for k, t in info["Communication Bandwidth Info"].items()
            if t["Transit Time(ms)"] > 0 and t.get("Size Distribution")
        }
        if moving:
            found.append((info, rows[0], moving))
    total = sum(max(t["Transit Time(ms)"] for t in moving.values()) for _, _, moving in found)
    if not found or total <= 0:
        return False
    for info, row, moving in found:
        mine = max(t["Transit Time(ms)"] for t in moving.values())
        extra = cost * mine / total
        factor = 1 + extra / 1e3 / mine
        for transfer in moving.values():
            change(transfer, factor)
            transfer["Transit Time(ms)"] *= factor
            transfer["Bandwidth(GB/s)"] /= factor
        longer(rank, info, row, extra, part="Transit Time(ms)")
    return True


def small_packets(ranks: list[RankFiles], cost: float, random: Random) -> bool:
    def cut(transfer: dict, factor: float) -> None:
        size = 0.065536
        count = max(1, round(transfer["Transit Size(MB)"] * 0.9 / size))
        best = next(iter(transfer["Size Distribution"].items()))
        transfer["Size Distribution"] = {
            best[0]: [1, transfer["Transit Time(ms)"] * 0.1], str(size): [count, transfer["Transit Time(ms)"] * (factor - 0.1)]
        }  # fmt: skip

    return move(ranks[0], cost, cut)


def odd_bytes(ranks: list[RankFiles], cost: float, random: Random) -> bool:
    def shift(transfer: dict, factor: float) -> None:
        best = transfer["Transit Time(ms)"] / max(transfer["Transit Size(MB)"], 1e-9)
        size = 20.000100
        count = max(1, round(transfer["Transit Size(MB)"] / size))
        transfer["Size Distribution"] = {
            "16.777216": [1, best * 16.777216], f"{size}": [count, max(transfer["Transit Time(ms)"] * factor - best * 16.777216, 0.001)]
        }  # fmt: skip

    return move(ranks[0], cost, shift)


def retransmission(ranks: list[RankFiles], cost: float, random: Random) -> bool:
    """A lost packet costs some four seconds, whatever the step took."""
    found = operators(ranks[0], lambda name: "allreduce" in name or "reducescatter" in name)
    if not found:
        return False
    _, info, rows = found[0]
    seconds = random.uniform(4.2, 6.0)
    info["Communication Bandwidth Info"].setdefault("RDMA", {})
    info["Communication Bandwidth Info"]["RDMA"] = {
        "Transit Size(MB)": 50.0, "Transit Time(ms)": seconds * 1e3, "Bandwidth(GB/s)": 50.0 / (seconds * 1e3),
        "Large Packet Ratio": 0, "Size Distribution": {"50.0": [1, seconds * 1e3]},
    }  # fmt: skip
    longer(ranks[0], info, rows[0], seconds * 1e6, part="Transit Time(ms)")
    return True


def slow_link(ranks: list[RankFiles], cost: float, random: Random) -> bool:
    rank = ranks[0]
    links = [
        pair for pair in rank.pairs() if pair["Transport Type"] != "LOCAL" and pair["Transit Size(MB)"] > 5
    ]
    peers = [pair for pair in links if pair["Transport Type"] == links[0]["Transport Type"]] if links else []
    found = operators(rank, lambda name: "allreduce" in name or "reducescatter" in name)
    if len(peers) < 3 or not found:
        return False
    struck = peers[int(random.integers(len(peers)))]
    factor = 1 + cost / 1e3 / struck["Transit Time(ms)"]
    struck["Transit Time(ms)"] *= factor
    struck["Bandwidth(GB/s)"] /= factor
    for _, info, rows in found:
        longer(rank, info, rows[0], cost / len(found), part="Transit Time(ms)")
        for transfer in info["Communication Bandwidth Info"].values():
            if transfer["Transit Time(ms)"] > 0:
                transfer["Transit Time(ms)"] += cost / 1e3 / len(found)
                transfer["Size Distribution"] = {}
    return True


def misaligned_address(ranks: list[RankFiles], cost: float, random: Random) -> bool:
    rank = ranks[0]
    local = [pair for pair in rank.pairs() if pair["Transport Type"] == "LOCAL"]
    found = operators(
        rank, lambda name: "allreduce" in name or "reducescatter" in name or "allgather" in name
    )
    if not local or not found:
        return False
    moved = sum(pair["Transit Time(ms)"] for pair in rank.pairs() if pair["Transport Type"] != "LOCAL")
    for pair in local:
        pair["Transit Time(ms)"] += cost / 1e3 / len(local)
    for _, info, rows in found:
        longer(rank, info, rows[0], cost / len(found), part="Transit Time(ms)")
    return cost / 1e3 > 0.5 * moved


def slow_rank(ranks: list[RankFiles], cost: float, random: Random) -> bool:
    """One rank computes longer; the others wait for it in their next collective."""
    if len(ranks) < 2:
        return False
    struck = ranks[int(random.integers(len(ranks)))]
    rows = struck.compute()
    slower(struck, rows, cost, {})
    for rank in ranks:
        if rank is not struck:
            collective_wait([rank], cost, random)
    return True


def blocking(ranks: list[RankFiles], cost: float, random: Random) -> bool:
    """ASCEND_LAUNCH_BLOCKING: every launch waits."""
    rank = ranks[0]
    if not rank.metadata.get("ENV_VARIABLES"):
        return False
    rank.metadata = json.loads(json.dumps(rank.metadata))
    rank.metadata["ENV_VARIABLES"]["ASCEND_LAUNCH_BLOCKING"] = "1"
    return synchronising(ranks, cost, random)


_TOP, _MOVING = "exposed-communication", "data-parallel-communication"
FAULTS = (
    KnownFault("aicpu-operator", aicpu),
    KnownFault("unsupported-dtype", aicpu_by_type, (("aicpu-operator", "unsupported-dtype"),)),
    KnownFault("memory-bandwidth", pipe("aic_mte2_ratio", "aic_mac_ratio", is_cube)),
    KnownFault("scalar-bound", pipe("aiv_scalar_ratio", "aiv_vec_ratio", is_vector)),
    KnownFault("vector-bound", pipe("aiv_vec_ratio", "aiv_mte2_ratio", is_vector)),
    KnownFault("move-out-bound", pipe("aiv_mte3_ratio", "aiv_mte2_ratio", is_vector)),
    KnownFault("fixpipe-bound", pipe("aic_fixpipe_ratio", "aic_mte2_ratio", is_cube)),
    KnownFault("no-bound-operator", no_bound),
    KnownFault("instruction-cache-miss", icache),
    KnownFault("block-dim-imbalance", blocks),
    KnownFault("frequency-drop", frequency),
    KnownFault("precision-excess", precision),
    KnownFault("layout-transform", inserted("TransData", "InplaceCopy")),
    KnownFault("cast-traffic", inserted("Cast", "Cast")),
    KnownFault("memory-copies", inserted("ConcatD", "Cat")),
    KnownFault("unfused-operators", unfused, (("normalisation-traffic", "unfused-operators"),)),
    KnownFault("cube-vector-round-trip", round_trips),
    KnownFault("recompute-overhead", recompute),
    KnownFault("host-bound", host),
    KnownFault("kernel-launch-overhead", launches, (("host-bound", "kernel-launch-overhead"),)),
    KnownFault("python-gc-high-latency", collector, (("host-bound", "python-gc-high-latency"),)),
    KnownFault("slow-dataloader", loader, (("host-bound", "slow-dataloader"),)),
    KnownFault("memory-allocation-stall", allocation, (("host-bound", "memory-allocation-stall"),)),
    KnownFault("host-device-synchronisation", synchronising, (("host-bound", "host-device-synchronisation"),)),
    KnownFault("launch-blocking-set", blocking,
               (("host-bound", "host-device-synchronisation"), ("host-device-synchronisation", "launch-blocking-set"))),
    KnownFault("operator-compilation-latency", compilation, (("host-bound", "operator-compilation-latency"),)),
    KnownFault("collective-wait", collective_wait, ((_TOP, "collective-wait"),)),
    KnownFault("pipeline-bubble", bubble, ((_TOP, "pipeline-bubble"),)),
    KnownFault("small-packets", small_packets, ((_TOP, _MOVING), (_MOVING, "small-packets"))),
    KnownFault("byte-misalignment", odd_bytes, ((_TOP, _MOVING), (_MOVING, "byte-misalignment"))),
    KnownFault("rdma-retransmission", retransmission, ((_TOP, _MOVING), (_MOVING, "rdma-retransmission"))),
    KnownFault("slow-link", slow_link, ((_TOP, _MOVING), (_MOVING, "slow-link"))),
    KnownFault("communication-address-misalignment", misaligned_address,
               ((_TOP, _MOVING), (_MOVING, "communication-address-misalignment"))),
    KnownFault("slow-rank", slow_rank, ((_TOP, "collective-wait"), ("collective-wait", "slow-rank"))),
)  # fmt: skip


OF_KERNELS = frozenset(fault.node for fault in FAULTS[:18])
"""Faults that make kernels longer or more, on one rank."""


def quiet(ranks: list[RankFiles]) -> None:
    """A run that only computes: no gaps, no waiting in communication, no calls that stop the host.

    Done to the files, by rules of its own, so that silence on it says something of the diagnosis.
    """
    for rank in ranks:
        order = sorted(range(len(rank.rows)), key=lambda row: rank.start[row])
        compute = sum(rank.duration[row] for row in rank.compute())
        exposed = 0.04 * compute / max(1, len(rank.rows) - len(rank.compute()))
        at = 0.0
        for row in order:
            if rank.is_communication(row):
                rank.duration[row] = min(rank.duration[row], exposed)
            rank.start[row] = at
            at += rank.duration[row] + 0.02 * compute / len(order)
        rank.preparing = 0.0
        rank.apis = [
            row
            for row in rank.apis
            if not any(
                part in row["API Name"] for part in ("ompile", "Synchron", "Malloc", "Free", "_Tiling")
            )
        ]
        for info in rank.operators():
            times = info["Communication Time Info"]
            moving = max(
                (t["Transit Time(ms)"] for t in info["Communication Bandwidth Info"].values()), default=0.0
            )
            scale = min(1.0, exposed / 1e3 / moving) if moving > 0 else 1.0
            for transfer in info["Communication Bandwidth Info"].values():
                transfer["Transit Time(ms)"] *= scale
                transfer["Bandwidth(GB/s)"] /= scale
                transfer["Size Distribution"] = {}
            times.update(
                {
                    "Elapse Time(ms)": exposed / 1e3,
                    "Transit Time(ms)": min(exposed / 1e3, moving * scale),
                    "Wait Time(ms)": 0.0,
                    "Synchronization Time(ms)": 0.0,
                    "Idle Time(ms)": 0.0,
                }
            )
        for pair in rank.pairs():
            pair["Transit Time(ms)"] *= 1e-3 if pair["Transport Type"] == "LOCAL" else 1.0


def jitter(ranks: list[RankFiles], random: Random, spread: float = 0.02) -> None:
    """Run-to-run noise of kernel times."""
    for rank in ranks:
        for row in rank.compute():
            rank.stretch(row, rank.duration[row] * float(np.clip(random.normal(0, spread), -0.06, 0.06)))
