"""Calls of the host."""

from pathlib import Path

from ingest.profiles.folders import read_profile


def test_reads_of_the_data_queue_and_calls_of_the_system(home: Path) -> None:
    (home / "aicpu_mi_1.csv").write_text(
        "Device_id,Node Name,Start Time(us),End Time(us),Queue Size\n0,GetNext,10.0,30.0,4\n0,GetNext,50.0,55.0,0\n"
    )
    (home / "os_runtime_statistic_1.csv").write_text(
        "Device_id,Process ID,Thread ID,Name,Time(%),Time(us),Count,Avg(us),Max(us),Min(us)\n"
        "host,1,1,poll,50,100,2,50,60,40\nhost,1,2,poll,50,100,3,33,90,1\n"
    )
    [rank] = read_profile(home.parent).ranks
    calls = {call.level: call for call in rank.calls}
    assert (calls["dataset"].name, calls["dataset"].total_us, calls["dataset"].max_us) == (
        "GetNext",
        25.0,
        20.0,
    )
    assert (calls["os"].total_us, calls["os"].count, calls["os"].max_us) == (200.0, 5, 90.0)
