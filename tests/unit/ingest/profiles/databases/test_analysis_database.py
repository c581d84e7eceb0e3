"""Databases of the profiler's analysis."""

import sqlite3
from pathlib import Path

import pytest

from ingest.profiles.folders import read_profile


@pytest.mark.parametrize("name", ["ClusterCommAnalyzerTime", "ClusterCommunicationTime"])
def test_the_database_of_a_cluster_tells_each_rank(tmp_path: Path, name: str) -> None:
    with sqlite3.connect(tmp_path / "cluster_analysis.db") as made:
        made.execute(
            f"CREATE TABLE {name} (step, rank_id, hccl_op_name, group_name, start_timestamp, elapsed_time,"
            " transit_time, wait_time, synchronization_time, idle_time)"
        )
        for rank, wait in ((0, 7.0), (1, 0.5)):
            row = ("step7", rank, "hcom_allReduce__1", "9", 1.7e15, 10.0, 2.0, wait, wait, 0.5)
            made.execute(f"INSERT INTO {name} VALUES ({','.join('?' * len(row))})", row)  # noqa: S608  a constant
        made.execute(f"CREATE TABLE {name.removesuffix('Time')}Bandwidth (step, rank_id, hccl_op_name, band_type,"
                     " transit_size, transit_time, bandwidth, package_size, count, total_duration)")  # fmt: skip
        made.execute(f"INSERT INTO {name.removesuffix('Time')}Bandwidth VALUES "  # noqa: S608  a constant
                     "('step7', 1, 'hcom_allReduce__1', 'HCCS', 40, 2, 20, 4, 10, 2)")  # fmt: skip
    made.close()
    zero, one = read_profile(tmp_path).ranks
    assert (zero.rank, zero.collectives[0].wait_ms, zero.collectives[0].transfers) == (0, 7.0, ())
    assert (one.rank, one.collectives[0].wait_ms) == (1, 0.5)
    [moved] = one.collectives[0].transfers
    assert (moved.transport, moved.packets) == ("HCCS", ((4.0, 10, 2.0),))
