"""Cells and times of a rank's rows, which the edits of all mechanisms change."""

from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks.profiles.profile_files import Random, RankFiles


def has(rank: RankFiles, *columns: str) -> bool:
    return all(column in rank.columns for column in columns)


def number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return 0.0


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


def call(rank: RankFiles, level: str, name: str, total: float, count: int) -> bool:
    if not rank.apis:
        return False
    row = dict.fromkeys(rank.apis[0], "")
    row.update({"Level": level, "API Name": name, "Time(us)": f"{total:.3f}", "Count": str(count),
                "Avg(us)": f"{total / count:.3f}", "Min(us)": "1.0", "Max(us)": f"{2 * total / count:.3f}"})  # fmt: skip
    rank.apis.append(row)
    return True


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


def jitter(ranks: list[RankFiles], random: Random, spread: float = 0.02) -> None:
    """Run-to-run noise of kernel times."""
    for rank in ranks:
        for row in rank.compute():
            rank.stretch(row, rank.duration[row] * float(np.clip(random.normal(0, spread), -0.06, 0.06)))
