"""Faults by mechanism: edits of time, memory and calls that say what the world does, not what shows.

Each takes the files of a run's ranks and a time to lose, spends it as the mechanism does, and leaves what
the job loses by itself where it is. Counters, shapes and calls follow from the mechanism; no threshold of an
analyser is looked at. The list was fixed before the inference was changed, and is not to follow it.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarks.profiles.communication_faults import longer, operators
from benchmarks.profiles.host_faults import call
from benchmarks.profiles.kernel_faults import has, number, slower

if TYPE_CHECKING:
    from collections.abc import Callable

    from benchmarks.profiles.profile_files import Random, RankFiles

    Edit = Callable[[list[RankFiles], float, Random], bool]


@dataclass(frozen=True)
class Mechanism:
    """One way in which a run loses time.

    Attributes:
        name: What the world does.
        nodes: Ids in the knowledge that name it; the first named must be one of them.
        edit: Puts it in; false where the job has nothing that it acts on.
    """

    name: str
    nodes: frozenset[str]
    edit: Edit


# ------------------------------------------------------------------ what mechanisms act on
def kernels(rank: RankFiles, *parts: str) -> list[int]:
    """Compute kernels whose kind or name has one of the parts; all without parts; in order of time."""
    rows = [
        row
        for row in rank.compute()
        if not parts
        or any(part in (rank.text(row, "kind") + rank.text(row, "kernel")).lower() for part in parts)
    ]
    return sorted(rows, key=lambda row: rank.start[row])


def on_cores(rank: RankFiles) -> list[int]:
    return [row for row in kernels(rank) if rank.text(row, "core") not in {"AI_CPU", "DSA_SQE", "N/A"}]


def pauses(rank: RankFiles, cost: float, count: int, random: Random) -> None:
    """The host stands still ``count`` times, and the device has nothing to do."""
    rows = rank.uncovered()[1:] or rank.uncovered()
    for length in cost * random.dirichlet(np.full(count, 4.0)):
        rank.delay(rows[int(random.integers(len(rows)))], float(length))


def called(rank: RankFiles, names: dict[str, int], spent: float, level: str = "acl") -> None:
    """Calls of the host that took so long together; a profile without calls notes none."""
    for name, count in names.items():
        call(rank, level, name, spent / len(names), max(1, count))


def model_of(rank: RankFiles, kind: str, like: int, **cells: str) -> dict[str, str]:
    """Cells of a kernel of another kind that runs where a like one does."""
    cells = {rank.column("kernel"): f"aclnn{kind}_{kind}AiCore_{kind}", **cells}
    made = {**rank.rows[like], **{name: text for name, text in cells.items() if name in rank.columns}}
    if made.get(rank.column("kind"), "N/A") != "N/A":
        made[rank.column("kind")] = kind
    return made


def streaming(rank: RankFiles, random: Random) -> dict[str, str]:
    """Counters of a kernel of the vector unit that reads, touches and writes each element once."""
    shares = {"aiv_mte2_ratio": 0.55, "aiv_mte3_ratio": 0.45, "aiv_vec_ratio": 0.2, "aiv_scalar_ratio": 0.06}
    return {
        name: f"{share * random.uniform(0.85, 1.15):.3f}"
        for name, share in shares.items()
        if name in rank.columns
    }


def vector_kernel(rank: RankFiles) -> int | None:
    """A kernel of the vector unit to make others of."""
    rows = [row for row in kernels(rank) if rank.text(row, "core") == "AI_VECTOR_CORE"]
    return max(rows, key=lambda row: rank.duration[row]) if rows else None


def beside_products(kind: str, *, every: int = 1) -> Edit:
    """A kernel that computes nothing before each product and attention, as long as its operand is large."""

    def edit(ranks: list[RankFiles], cost: float, random: Random) -> bool:
        for rank in ranks:
            like = vector_kernel(rank)
            bare = set(rank.uncovered())
            near = [row for row in kernels(rank, "matmul", "conv2d", "flashattention", "mm_") if row in bare][
                ::every
            ]
            if like is None or not near:
                return False
            weights = np.array([rank.duration[row] for row in near]) + 1.0
            for row, part in zip(near, weights / weights.sum(), strict=True):
                rank.insert(row, model_of(rank, kind, like, **streaming(rank, random)), cost * part, gap=0.3)
        return True

    return edit


def in_pieces(parts: tuple[str, ...], kinds: tuple[str, ...]) -> Edit:
    """One fused operator is run as many small ones: what it was is replaced."""

    def edit(ranks: list[RankFiles], cost: float, random: Random) -> bool:
        for rank in ranks:
            like = vector_kernel(rank)
            bare = set(rank.uncovered())
            rows = [row for row in kernels(rank, *parts) if row in bare]
            if like is None or len(rows) < 2 or not has(rank, "Type"):
                return False
            for row in rows:
                share = (cost / len(rows) + rank.duration[row]) / len(kinds)
                for kind in kinds[:-1]:
                    made = model_of(rank, kind, like, **streaming(rank, random))
                    rank.insert(row, made, share * random.uniform(0.8, 1.2), gap=0.4)
                rank.rows[row] = model_of(rank, kinds[-1], like, **streaming(rank, random))
                rank.stretch(row, share - rank.duration[row])
        return True

    return edit


# ------------------------------------------------------------------ kernels
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


# ------------------------------------------------------------------ host
def slow_host(ranks: list[RankFiles], cost: float, random: Random) -> bool:
    """The host's cores are shared with another job: all it does takes longer, anywhere in the step."""
    rank = ranks[int(random.integers(len(ranks)))]
    pauses(rank, cost, 60, random)
    return True


def late_launches(ranks: list[RankFiles], cost: float, random: Random) -> bool:
    """Small kernels in a long row, each shorter than the launch of the next."""
    for rank in ranks:
        like = vector_kernel(rank)
        if like is None:
            return False
        rows = rank.uncovered()
        at = rank.start[rows[len(rows) // 2]]
        each = random.uniform(14, 28)
        count = max(10, round(cost / each))
        rank.delay(rows[len(rows) // 2], cost)
        made = [model_of(rank, "Add", like, **streaming(rank, random)) for _ in range(count)]
        rank.add(made, [float(at + place * each) for place in range(count)], [3.0] * count)
    return True


def scalars_read(ranks: list[RankFiles], cost: float, random: Random) -> bool:
    """The loss is read after each layer: the host waits for the device, and the device for the host."""
    for rank in ranks:
        count = int(random.integers(24, 60))
        pauses(rank, cost, count, random)
        called(rank, {"aclrtSynchronizeStreamWithTimeout": count}, 1.6 * cost)
    return bool(ranks[0].apis)


def blocking(ranks: list[RankFiles], cost: float, random: Random) -> bool:
    """A variable left from debugging makes every launch wait for its kernel."""
    for rank in ranks:
        if not rank.metadata.get("ENV_VARIABLES") or not rank.apis:
            return False
        rank.metadata = json.loads(json.dumps(rank.metadata))
        rank.metadata["ENV_VARIABLES"]["ASCEND_LAUNCH_BLOCKING"] = "1"
        rows = [row for row in rank.uncovered() if rank.start[row] > 0]
        for row in rows:
            rank.delay(row, cost / len(rows))
        called(rank, {"aclrtSynchronizeStream": len(rows)}, cost + float(sum(rank.duration[rank.compute()])))
    return True


def recompiled(ranks: list[RankFiles], cost: float, random: Random) -> bool:
    """Batches differ in length: operators are compiled again for each new shape."""
    for rank in ranks:
        if not rank.apis:
            return False
        count = int(random.integers(10, 40))
        pauses(rank, cost, count, random)
        called(rank, {"aclopCompileAndExecute": count}, 1.1 * cost)
        for row in rank.compute():
            if rank.rows[row].get("OP State") == "static":
                rank.rows[row]["OP State"] = "dynamic"
    return True


def starved(ranks: list[RankFiles], cost: float, random: Random) -> bool:
    """Workers decode too slowly: the step begins when the batch is there."""
    for rank in ranks:
        rows = sorted(rank.uncovered(), key=lambda row: rank.start[row])
        rank.delay(rows[min(1, len(rows) - 1)], cost)
        rank.loader_us = cost * random.uniform(1.0, 1.1)
    return True


def collected(ranks: list[RankFiles], cost: float, random: Random) -> bool:
    """Python's collector walks millions of objects now and then, on one rank."""
    rank = ranks[int(random.integers(len(ranks)))]
    count = int(random.integers(1, 5))
    pauses(rank, cost, count, random)
    rank.gc_us = [cost / count] * count
    return True


def remapped(ranks: list[RankFiles], cost: float, random: Random) -> bool:
    """Memory is short: segments are unmapped and mapped again for nearly every layer."""
    for rank in ranks:
        if not rank.apis:
            return False
        count = int(random.integers(20, 80))
        pauses(rank, cost, count, random)
        called(rank, {"aclrtUnmapMem": count, "aclrtMapMem": count}, cost)
    return True


def reserved_again(ranks: list[RankFiles], cost: float, random: Random) -> bool:
    """The program empties the allocator's cache in the step: the driver gives the memory out once more."""
    for rank in ranks:
        if not rank.apis:
            return False
        count = int(random.integers(8, 30))
        pauses(rank, cost, count, random)
        called(rank, {"aclrtFreePhysical": count, "aclrtMallocPhysical": count}, cost)
    return True


def saved(ranks: list[RankFiles], cost: float, random: Random) -> bool:
    """The first rank writes a checkpoint before it goes on, and nothing of the runtime says so."""
    rank = ranks[0]
    rows = sorted(rank.uncovered(), key=lambda row: rank.start[row])
    rank.delay(rows[-1], cost)
    return True


# ------------------------------------------------------------------ communication and ranks
def reductions(rank: RankFiles) -> list[tuple[str, dict[str, Any], list[int]]]:
    return operators(
        rank, lambda name: any(part in name for part in ("allreduce", "reducescatter", "allgather"))
    )


def moved_slower(ranks: list[RankFiles], cost: float, *, bytes_grow: bool) -> bool:
    """What reductions move takes longer by one factor, on every rank: a slower way, or more bytes."""
    for rank in ranks:
        mine = [
            (
                info,
                rows[0],
                [t for t in info["Communication Bandwidth Info"].values() if t["Transit Time(ms)"] > 0],
            )
            for _, info, rows in reductions(rank)
        ]
        mine = [item for item in mine if item[2]]
        total = sum(max(t["Transit Time(ms)"] for t in moved) for _, _, moved in mine)
        if not mine or total <= 0:
            return False
        factor = 1 + cost / 1e3 / total
        for info, row, moved in mine:
            extra = max(t["Transit Time(ms)"] for t in moved) * (factor - 1) * 1e3
            for transfer in moved:
                transfer["Transit Time(ms)"] *= factor
                if bytes_grow:
                    transfer["Transit Size(MB)"] *= factor
                else:
                    transfer["Bandwidth(GB/s)"] /= factor
                grown = {}
                for size, (count, spent) in (transfer.get("Size Distribution") or {}).items():
                    grown[size] = [round(count * factor) if bytes_grow else count, spent * factor]
                transfer["Size Distribution"] = grown
            longer(rank, info, row, extra, part="Transit Time(ms)")
        for pair in rank.pairs():
            if pair["Transport Type"] != "LOCAL":
                pair["Transit Time(ms)"] *= factor
                pair["Transit Size(MB)" if bytes_grow else "Bandwidth(GB/s)"] *= (
                    factor if bytes_grow else 1 / factor
                )
    return True


def more_bytes(ranks: list[RankFiles], cost: float, random: Random) -> bool:
    """Gradients are reduced in 32 bit: more to move at the same rate."""
    return moved_slower(ranks, cost, bytes_grow=True)


def bad_cable(ranks: list[RankFiles], cost: float, random: Random) -> bool:
    """One link of one rank runs at a fraction of its rate: every reduction over it takes as long as it."""
    struck = ranks[0]
    links = [
        pair for pair in struck.pairs() if pair["Transport Type"] != "LOCAL" and pair["Transit Size(MB)"] > 1
    ]
    if len(links) < 3 or not moved_slower(ranks, cost, bytes_grow=False):
        return False
    kinds = {pair["Transport Type"] for pair in links}
    peers = [pair for pair in links if pair["Transport Type"] == min(kinds)]
    if len(peers) < 3:
        return False
    base = peers[0]["Bandwidth(GB/s)"]
    for rank in ranks:  # the others' own links are as fast as ever: they wait inside the operator
        for pair in rank.pairs():
            if pair["Transport Type"] != "LOCAL" and pair is not peers[-1]:
                pair["Bandwidth(GB/s)"] = base * random.uniform(2.9, 3.1)
                pair["Transit Time(ms)"] = pair["Transit Size(MB)"] / pair["Bandwidth(GB/s)"]
    return True


def uneven_batch(ranks: list[RankFiles], cost: float, random: Random) -> bool:
    """One rank is given longer samples: its kernels have more to do."""
    rank = ranks[int(random.integers(len(ranks)))]
    rows = on_cores(rank)
    if len(ranks) < 2 or not rows:
        return False
    factor = 1 + cost / sum(rank.duration[row] for row in rows)
    slower(rank, rows, cost, {})
    for row in rows:
        shapes = rank.rows[row].get("Input Shapes", "").strip('"').split(";")
        grown = [s.split(",") for s in shapes]
        for sizes in grown:
            if sizes[0].isdigit():
                sizes[0] = str(round(int(sizes[0]) * factor))
        if "Input Shapes" in rank.columns:
            rank.rows[row]["Input Shapes"] = '"' + ";".join(",".join(sizes) for sizes in grown) + '"'
    return True


def straggler_elsewhere(ranks: list[RankFiles], cost: float, random: Random) -> bool:
    """A rank that was not profiled comes late: those that were wait for it."""
    for rank in ranks:
        mine = reductions(rank)
        if not mine:
            return False
        for _, info, rows in mine:
            longer(rank, info, rows[0], cost / len(mine), part="Wait Time(ms)")
    return True


def lost_packets(ranks: list[RankFiles], cost: float, random: Random) -> bool:
    """A packet over RDMA is lost, and sent again after the timeout of some four seconds."""
    seconds = 4.2 * float(random.uniform(1.0, 1.4))
    for rank in ranks:
        mine = reductions(rank)
        if not mine:
            return False
        _, info, rows = mine[0]
        link = {"Transit Size(MB)": 40.0, "Transit Time(ms)": seconds * 1e3, "Bandwidth(GB/s)": 40.0 / seconds / 1e3,
                "Large Packet Ratio": 0, "Size Distribution": {"40.0": [1, seconds * 1e3]}}  # fmt: skip
        info["Communication Bandwidth Info"]["RDMA"] = link
        longer(rank, info, rows[0], seconds * 1e6, part="Transit Time(ms)")
    return True


_ATTENTION = ("BatchMatMul", "Mul", "Add", "SoftmaxV2", "Cast", "BatchMatMul")
_NORM = ("Cast", "Square", "ReduceMean", "Add", "Rsqrt", "Mul", "Mul")
MECHANISMS = (
    Mechanism("a device's clock falls", frozenset({"frequency-drop"}), throttled),
    Mechanism("autocast is off", frozenset({"precision-excess"}), autocast_off),
    Mechanism("an operator has no kernel", frozenset({"aicpu-operator", "unsupported-dtype"}), aicpu),
    Mechanism("activations computed again", frozenset({"recompute-overhead"}), recomputed),
    Mechanism("half the cores have no block", frozenset({"block-dim-imbalance"}), half_the_cores),
    Mechanism("memory is shared", frozenset({"memory-bandwidth"}), contended_memory),
    Mechanism("odd inner width", frozenset({"inner-axis-misalignment"}), odd_width),
    Mechanism("layouts do not match", frozenset({"layout-transform"}), beside_products("TransData")),
    Mechanism("types do not match", frozenset({"cast-traffic"}), beside_products("Cast")),
    Mechanism("views are made contiguous", frozenset({"memory-copies"}), beside_products("ViewCopy", every=2)),
    Mechanism("attention is not fused", frozenset({"unfused-operators", "attention-memory-traffic", "affinity-api-not-used"}),
              in_pieces(("flashattentionscore",), _ATTENTION)),
    Mechanism("norms are not fused", frozenset({"unfused-operators", "normalisation-traffic", "affinity-api-not-used"}),
              in_pieces(("norm",), _NORM)),
    Mechanism("the host's cores are shared", frozenset({"host-bound"}), slow_host),
    Mechanism("kernels shorter than launches", frozenset({"kernel-launch-overhead"}), late_launches),
    Mechanism("scalars are read", frozenset({"host-device-synchronisation"}), scalars_read),
    Mechanism("launches block", frozenset({"launch-blocking-set"}), blocking),
    Mechanism("shapes are compiled again", frozenset({"operator-compilation-latency", "dynamic-shape"}), recompiled),
    Mechanism("workers are too slow", frozenset({"slow-dataloader"}), starved),
    Mechanism("garbage is collected", frozenset({"python-gc-high-latency"}), collected),
    Mechanism("memory is mapped again", frozenset({"memory-allocation-stall"}), remapped),
    Mechanism("memory is reserved again", frozenset({"memory-allocation-stall"}), reserved_again),
    Mechanism("a checkpoint is written", frozenset({"host-bound"}), saved),
    Mechanism("gradients in 32 bit", frozenset({"data-parallel-communication"}), more_bytes),
    Mechanism("a link is bad", frozenset({"slow-link"}), bad_cable),
    Mechanism("batches differ in length", frozenset({"dp-load-imbalance"}), uneven_batch),
    Mechanism("a straggler outside", frozenset({"collective-wait"}), straggler_elsewhere),
    Mechanism("packets are lost", frozenset({"rdma-retransmission"}), lost_packets),
)  # fmt: skip
