"""Facts in databases beside tasks."""

import sqlite3
from pathlib import Path

from ingest.profiles.folders import read_profile
from tests.samples.profile_databases import task_database


def test_what_a_database_holds_beside_tasks(tmp_path: Path) -> None:
    path = tmp_path / "msprof_0.db"
    task_database(path, (1000, 3000))
    with sqlite3.connect(path) as made:
        made.execute("CREATE TABLE ENUM_MODULE (id, name)")
        made.execute("INSERT INTO ENUM_MODULE VALUES (3, 'HCCL')")
        made.execute("CREATE TABLE NPU_MODULE_MEM (moduleId, timestampNs, totalReserved, deviceId)")
        made.execute(
            "INSERT INTO NPU_MODULE_MEM VALUES (3, 1, 2097152, 0), (3, 2, 1048576, 0), (4, 1, -1, 0)"
        )
    made.close()
    [rank] = read_profile(tmp_path).ranks
    [module] = rank.details.modules
    assert (module.component, module.peak_mb, module.last_mb) == ("HCCL", 2.0, 1.0)
