"""Counters of tasks in databases: TASK_PMU_INFO, a row for each counter of each task.

Read in portions into columns, so that memory grows with the tasks and not with the rows.
"""

from dataclasses import replace
from itertools import islice

import numpy as np

from ingest.profiles.cells import LARGEST
from ingest.profiles.databases.databases import Database, real
from ingest.profiles.facts.kernels import Floats, Integers, Kernels

PORTION = 1 << 16
_TIMES = {"aic_total_time": "aicore_time(us)", "aiv_total_time": "aiv_time(us)"}
_US_PER_NS = 1e-3


def with_counters(kernels: Kernels, tasks: Integers, data: Database) -> Kernels:
    """Kernels with the counters of their tasks, under the names of the tables' columns.

    Args:
        kernels: Of the database.
        tasks: Global task id of each, shape (n,); negative for what is no task.
        data: The database; times of counters there are nanoseconds.
    """
    if not data.has("TASK_PMU_INFO", "globalTaskId", "name", "value"):
        return kernels
    known, place = np.unique(tasks, return_inverse=True)
    found: dict[str, Floats] = {}
    rows = data.select("SELECT globalTaskId, name, value FROM TASK_PMU_INFO")
    while portion := list(islice(rows, PORTION)):
        table = _numbers(portion)
        at = np.minimum(np.searchsorted(known, table[:, 0]), len(known) - 1)
        is_known = (known[at] == table[:, 0]) & (table[:, 0] >= 0) & ~np.isnan(table[:, 1])
        for code in np.unique(table[is_known, 1]):
            name, scale = _column(data.text(int(code)))
            column = found.get(name)
            if column is None:
                column = found[name] = np.full(len(known), np.nan)
            mine = is_known & (table[:, 1] == code)
            column[at[mine]] = table[mine, 2] * scale
    return replace(kernels, pipes={name: column[place] for name, column in found.items()})


def _column(name: str) -> tuple[str, float]:
    """The name of a counter in tables of kernels, and the factor of its value."""
    if not name.endswith("_time"):
        return name, 1.0
    return _TIMES.get(name, f"{name}(us)"), _US_PER_NS


def _numbers(rows: list[tuple[object, ...]]) -> Floats:
    """Rows as numbers, shape (n, 3); nan where there is none."""
    try:
        table = np.array(rows, dtype=np.float64)
    except (TypeError, ValueError):
        table = np.array([[real(cell) for cell in row] for row in rows])
    table[:, 2] = np.where(np.abs(table[:, 2]) <= LARGEST, table[:, 2], np.nan)
    return table
