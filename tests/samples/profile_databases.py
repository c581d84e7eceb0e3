"""Databases of Ascend profiles, made by hand."""

import sqlite3
from pathlib import Path
from typing import Any

from ingest.profiles.folders import read_profile


def database(path: Path, *, viewer: bool = False) -> None:
    texts = [
        "MatMul",
        "AI_CORE",
        "4096,4096",
        "DT_BF16",
        "N/A",
        "aic_total_time",
        "aic_mac_ratio",
        "MatMulV3",
    ]
    with sqlite3.connect(path) as made:
        made.execute("CREATE TABLE STRING_IDS (id INTEGER, value TEXT)")
        made.executemany("INSERT INTO STRING_IDS VALUES (?, ?)", enumerate(texts))
        made.execute(
            "CREATE TABLE COMPUTE_TASK_INFO (name, globalTaskId, blockDim, mixBlockDim, taskType, opType, inputFormats,"
            " inputDataTypes, inputShapes, outputFormats, outputDataTypes, outputShapes"
            + (", waitNs INTEGER)" if viewer else ")")
        )
        row = (0, 1, 24, 0, 1, 7, 4, 3, 2, 4, 3, 2, *((3000,) if viewer else ()))
        made.execute(f"INSERT INTO COMPUTE_TASK_INFO VALUES ({','.join('?' * len(row))})", row)  # noqa: S608
        made.execute("CREATE TABLE TASK (startNs, endNs, globalTaskId, streamId)")
        made.execute("INSERT INTO TASK VALUES (1700000000000000123, 1700000000000015123, 1, 2)")
        made.execute("CREATE TABLE TASK_PMU_INFO (globalTaskId, name, value)")
        made.executemany("INSERT INTO TASK_PMU_INFO VALUES (1, ?, ?)", [(5, 14000), (6, 0.9)])
        if viewer:
            made.execute("CREATE TABLE status_info (id, key, value)")
    made.close()


def task_database(path: Path, *tasks: tuple[int, int], columns: str = "blockDim") -> None:
    with sqlite3.connect(path) as made:
        made.execute("CREATE TABLE STRING_IDS (id, value)")
        made.execute("INSERT INTO STRING_IDS VALUES (0, 'MatMul'), (1, 'dynamic')")
        made.execute(f"CREATE TABLE COMPUTE_TASK_INFO (name, globalTaskId, opState, {columns})")
        made.execute("CREATE TABLE TASK (startNs, endNs, globalTaskId)")
        for number, (start, end) in enumerate(tasks):
            values = ", ".join(str(5 + place) for place in range(len(columns.split(","))))
            made.execute(f"INSERT INTO COMPUTE_TASK_INFO VALUES (0, {number}, 1, {values})")  # noqa: S608  numbers
            made.execute("INSERT INTO TASK VALUES (?, ?, ?)", (start, end, number))
    made.close()


def kernels_of(folder: Path) -> Any:
    [rank] = read_profile(folder).ranks
    assert rank.kernels is not None
    return rank.kernels
