"""Faults of communication and between ranks for known profiles."""

from collections.abc import Callable
from typing import Any

from benchmarks.profiles.kernel_faults import slower
from benchmarks.profiles.profile_files import Random, RankFiles, Strike, covered


def operators(rank: RankFiles, wanted: Callable[[str], bool]) -> list[tuple[str, dict[str, Any], list[int]]]:
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


def gradients(rank: RankFiles) -> Callable[[str], bool]:
    """Tells the operators that reduce gradients by their names.

    In a job that scatters reductions (a distributed optimizer) these are of its gradients, and what it reduces
    to all is something else, such as tied embeddings across pipeline stages.
    """
    scatters = any("reducescatter" in rank.text(row, "kernel").lower() for row in range(len(rank.rows)))
    return lambda name: ("reducescatter" if scatters else "allreduce") in name


def longer(rank: RankFiles, info: dict[str, Any], row: int, cost: float, *, part: str) -> None:
    """One operator lasts longer: ``part`` of its times grows.

    Where the profiler leaves the operator's own transit time at 0 and tells its transfers by link alone, it
    does so of a longer one: what moved without it would be all of the time but the cost.
    """
    times = info["Communication Time Info"]
    moves = any(link.get("Transit Time(ms)", 0) > 0 for link in info["Communication Bandwidth Info"].values())
    times["Elapse Time(ms)"] += cost / 1e3
    if part != "Transit Time(ms)" or times.get(part, 0) > 0 or not moves:
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


def move(
    rank: RankFiles,
    cost: float,
    change: Callable[[dict[str, Any], float], None],
    wanted: Callable[[str], bool] = lambda name: "send" not in name and "recv" not in name,
) -> bool:
    """Transfers take longer; ``change`` says how their packets look, given the factor of their time."""
    found = []
    for _, info, rows in operators(rank, wanted):
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
    def cut(transfer: dict[str, Any], factor: float) -> None:
        size = 0.065536
        count = max(1, round(transfer["Transit Size(MB)"] * 0.9 / size))
        best = next(iter(transfer["Size Distribution"].items()))
        transfer["Size Distribution"] = {
            best[0]: [1, transfer["Transit Time(ms)"] * 0.1], str(size): [count, transfer["Transit Time(ms)"] * (factor - 0.1)]
        }  # fmt: skip

    return move(ranks[0], cost, cut)


def odd_bytes(ranks: list[RankFiles], cost: float, random: Random) -> bool:
    def shift(transfer: dict[str, Any], factor: float) -> None:
        best = transfer["Transit Time(ms)"] / max(transfer["Transit Size(MB)"], 1e-9)
        size = 20.000100
        count = max(1, round(transfer["Transit Size(MB)"] / size))
        transfer["Size Distribution"] = {
            "16.777216": [1, best * 16.777216], f"{size}": [count, max(transfer["Transit Time(ms)"] * factor - best * 16.777216, 0.001)]
        }  # fmt: skip

    return move(ranks[0], cost, shift)


def more_bytes(ranks: list[RankFiles], cost: float, random: Random) -> bool:
    """Gradients in twice the width, or of more parameters: more to move at the same rate."""

    def grow(transfer: dict[str, Any], factor: float) -> None:
        transfer["Transit Size(MB)"] *= factor
        transfer["Bandwidth(GB/s)"] *= factor
        transfer["Size Distribution"] = {
            size: [round(count * factor), spent * factor]
            for size, (count, spent) in transfer["Size Distribution"].items()
        }

    return move(ranks[0], cost, grow, gradients(ranks[0]))


def contention(ranks: list[RankFiles], cost: float, random: Random) -> bool:
    """A reduction beside kernels that use the same memory: its transfer takes longer, and ends after them."""
    rank = ranks[0]
    kernels = [(rank.start[row], rank.start[row] + rank.duration[row]) for row in rank.compute()]
    for _, info, (row,) in operators(rank, lambda name: "allreduce" in name or "reducescatter" in name):
        begin, end = rank.start[row], rank.start[row] + rank.duration[row]
        beside = covered([(max(a, begin), min(b, end)) for a, b in kernels if a < end and b > begin])
        moving = [
            transfer
            for transfer in info["Communication Bandwidth Info"].values()
            if transfer["Transit Time(ms)"] > 0 and transfer["Transit Size(MB)"] > 1
        ]
        if not moving or beside < 0.6 * (rank.duration[row] + cost):
            continue
        for transfer in moving:
            factor = 1 + cost / 1e3 / transfer["Transit Time(ms)"]
            transfer["Transit Time(ms)"] *= factor
            transfer["Bandwidth(GB/s)"] /= factor
            transfer["Size Distribution"] = {
                size: [count, spent * factor]
                for size, (count, spent) in transfer["Size Distribution"].items()
            }
        longer(rank, info, row, cost, part="Transit Time(ms)")
        return True
    return False


def exchange(part: str) -> Strike:
    """An all-to-all of experts: it waits for the rank with most tokens, or has much to move."""

    def strike(ranks: list[RankFiles], cost: float, random: Random) -> bool:
        rank = ranks[0]
        kinds = next(iter(rank.communication.values()), dict[str, Any]()).get("collective")
        rows = [row for row in range(len(rank.rows)) if rank.is_communication(row)]
        if kinds is None or not rows:
            return False
        for number in range(4):
            name, each = f"hcom_alltoallv__900_{number}_1", cost / 4
            model = dict(rank.rows[rows[0]])
            model[rank.column("kernel")] = name
            if model.get(rank.column("kind"), "N/A") != "N/A":
                model[rank.column("kind")] = "hcom_alltoallv_"
            free = rank.uncovered()
            rank.insert(free[int(random.integers(1, len(free)))], model, each)
            moved = each / 1e3 if part == "Transit Time(ms)" else 0.05 * each / 1e3
            size = round(18.0 * moved, 3)
            times = {"Start Timestamp(us)": 1.7e15, "Elapse Time(ms)": each / 1e3, "Transit Time(ms)": moved,
                     "Wait Time(ms)": each / 1e3 - moved, "Synchronization Time(ms)": each / 1e3 - moved, "Idle Time(ms)": 0.0}  # fmt: skip
            link = {"Transit Size(MB)": size, "Transit Time(ms)": moved, "Bandwidth(GB/s)": 18.0,
                    "Large Packet Ratio": 1, "Size Distribution": {str(size): [1, moved]}}  # fmt: skip
            kinds[f"{name}@1"] = {
                "Communication Time Info": times,
                "Communication Bandwidth Info": {"HCCS": link},
            }
        return True

    return strike


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
    found = operators(rank, gradients(rank))
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
    found = operators(rank, gradients(rank))
    if not local or not found:
        return False
    moved = sum(pair["Transit Time(ms)"] for pair in rank.pairs() if pair["Transport Type"] != "LOCAL")
    for pair in local:
        pair["Transit Time(ms)"] += cost / 1e3 / len(local)
    for _, info, rows in found:
        longer(rank, info, rows[0], cost / len(found), part="Transit Time(ms)")
    return bool(cost / 1e3 > 0.5 * moved)


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
