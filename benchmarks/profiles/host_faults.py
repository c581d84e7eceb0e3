"""Faults of the host for known profiles: gaps in the device's time, and the calls that make them."""

import json
from collections.abc import Callable
from itertools import pairwise

from benchmarks.profiles.kernel_faults import is_vector
from benchmarks.profiles.profile_files import Random, RankFiles


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


def fragmentation(ranks: list[RankFiles], cost: float, random: Random) -> bool:
    """Memory in pieces: much is reserved that is not in use, some of it goes back to the driver, calls stall."""
    rank = ranks[0]
    if not rank.memory:
        return False
    peak = max(allocated for _, allocated, _ in rank.memory)
    held = peak / random.uniform(0.5, 0.7)
    rank.memory = [
        (at, allocated, max(allocated, held * 0.7) if place % 20 == 10 else held)
        for place, (at, allocated, _) in enumerate(rank.memory)
    ]
    return allocation(ranks, cost, random)


def queue_off(ranks: list[RankFiles], cost: float, random: Random) -> bool:
    """TASK_QUEUE_ENABLE=0: the host prepares each launch while the device waits."""
    return setting(ranks[0], "TASK_QUEUE_ENABLE", "0") and host(ranks, cost, random)


def setting(rank: RankFiles, name: str, value: str) -> bool:
    """An environment variable as the profiler notes it; false where it noted none."""
    if not rank.metadata.get("ENV_VARIABLES"):
        return False
    rank.metadata = json.loads(json.dumps(rank.metadata))
    rank.metadata["ENV_VARIABLES"][name] = value
    return True


def blocking(ranks: list[RankFiles], cost: float, random: Random) -> bool:
    """ASCEND_LAUNCH_BLOCKING: every launch waits."""
    return setting(ranks[0], "ASCEND_LAUNCH_BLOCKING", "1") and synchronising(ranks, cost, random)
