"""Mechanisms of links, and of ranks that wait for each other."""

from typing import Any

from benchmarks.profiles.mechanisms.edits import on_cores
from benchmarks.profiles.mechanisms.rows import longer, operators, slower
from benchmarks.profiles.profile_files import Random, RankFiles


def reductions(rank: RankFiles) -> list[tuple[str, dict[str, Any], list[int]]]:
    return operators(
        rank, lambda name: any(part in name for part in ("allreduce", "reducescatter", "allgather"))
    )


def moved_slower(ranks: list[RankFiles], cost: float, *, bytes_grow: bool) -> bool:
    """Slow down the transfers of reductions by one factor, on every rank: a slower way, or more bytes."""
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
