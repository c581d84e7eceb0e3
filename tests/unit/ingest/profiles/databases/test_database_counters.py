"""Counters of tasks in databases."""

import sqlite3
from pathlib import Path

from tests.samples.profile_databases import kernels_of, task_database


def test_counters_of_tasks_as_text_without_a_task_and_of_tasks_that_run_twice(tmp_path: Path) -> None:
    path = tmp_path / "msprof_0.db"
    task_database(path, (1000, 3000), (4000, 6000), (7000, 9000))
    with sqlite3.connect(path) as made:
        made.execute("INSERT INTO STRING_IDS VALUES (5, 'aic_mac_ratio'), (6, 'aic_total_time')")
        made.execute("INSERT INTO TASK VALUES (20000, 21000, 1)")  # the second again
        made.execute("INSERT INTO TASK VALUES (30000, 31000, '99999999999999999999999')")
        made.execute("CREATE TABLE TASK_PMU_INFO (globalTaskId, name, value)")
        rows = [
            (0, 5, "0.5"),
            (1, 5, 0.25),
            (1, 6, 1500),
            (7, 5, 0.9),
            (2, 5, None),
            (2, 6, "x"),
            (None, 5, 1),
        ]
        made.executemany("INSERT INTO TASK_PMU_INFO VALUES (?, ?, ?)", rows)
    made.close()
    kernels = kernels_of(tmp_path)
    assert kernels.start_ns.tolist() == [1000, 4000, 7000, 20000]
    assert [str(value) for value in kernels.pipe("aic_mac_ratio")] == ["0.5", "0.25", "nan", "0.25"]
    assert [str(value) for value in kernels.pipe("aicore_time(us)")] == ["nan", "1.5", "nan", "1.5"]
