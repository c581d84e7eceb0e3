"""Mechanisms by which the host keeps its device waiting."""

import json

from benchmarks.profiles.mechanisms.edits import Edit, called, model_of, pauses, streaming, vector_kernel
from benchmarks.profiles.profile_files import Random, RankFiles


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


def stopped(calls: tuple[str, ...], often: tuple[int, int], *, longer: float = 1.0) -> Edit:
    """The host stands still in calls of the runtime, so often on each rank; a profile without calls has none."""

    def edit(ranks: list[RankFiles], cost: float, random: Random) -> bool:
        for rank in ranks:
            if not rank.apis:
                return False
            count = int(random.integers(*often))
            pauses(rank, cost, count, random)
            called(rank, dict.fromkeys(calls, count), longer * cost)
        return True

    return edit


_COMPILES = stopped(("aclopCompileAndExecute",), (10, 40), longer=1.1)


def recompiled(ranks: list[RankFiles], cost: float, random: Random) -> bool:
    """Batches differ in length: operators are compiled again for each new shape."""
    for cells in (rank.rows[row] for rank in ranks for row in rank.compute()):
        if cells.get("OP State") == "static":
            cells["OP State"] = "dynamic"
    return _COMPILES(ranks, cost, random)


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


def saved(ranks: list[RankFiles], cost: float, random: Random) -> bool:
    """The first rank writes a checkpoint before it goes on, and nothing of the runtime says so."""
    rank = ranks[0]
    rows = sorted(rank.uncovered(), key=lambda row: rank.start[row])
    rank.delay(rows[-1], cost)
    return True
