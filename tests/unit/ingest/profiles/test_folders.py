"""Folders and files of profilers, as people have them and as they break."""

from __future__ import annotations

import json
import math
import os
import sqlite3
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ingest.profiles.folders import is_log, read_profile
from kg.errors import InputError

ROOT = Path(__file__).resolve().parents[4]
SPLIT = {"Step": 7, "Computing": 30, "Communication(Not Overlapped)": 0, "Overlapped": 0, "Communication": 0,
         "Free": 10, "Stage": 40, "Bubble": 0}  # fmt: skip


def test_a_folder_of_one_rank(folder: Any, rows: Any) -> None:
    profile = read_profile(folder(rows("MatMul", "Add"), SPLIT))
    [rank] = profile.ranks
    assert rank.rank == 0
    assert rank.kernels is not None
    assert rank.kernels.duration_us.tolist() == [15.0, 15.0]
    assert rank.kernels.start_ns[0] % 1000 == 0
    assert rank.steps[0].free_us == 10
    assert not rank.steps[0].is_counted


def test_what_was_not_collected_is_said_with_how_to_collect_it(folder: Any, rows: Any) -> None:
    [rank] = read_profile(folder(rows("MatMul"), SPLIT)).ranks
    missing = {item.what: item.how for item in rank.missing}
    assert "profile_memory=True" in missing["use of device memory"]
    assert "pipe ratios of operators" not in missing
    assert rank.memory is None


def test_a_table_that_is_cut_is_told_by_its_own_sums(folder: Any, rows: Any) -> None:
    [rank] = read_profile(folder(rows("MatMul"), {**SPLIT, "Computing": 33_000, "Stage": 40_000})).ranks
    assert any("cut" in note for note in rank.notes)


def test_parts_that_exceed_their_step_are_told(folder: Any, rows: Any) -> None:
    [rank] = read_profile(folder(rows("MatMul", "Add"), {**SPLIT, "Free": 90})).ranks
    assert any("of its length" in note for note in rank.notes)


def test_a_step_that_is_empty_is_no_step(folder: Any, rows: Any) -> None:
    empty = {**SPLIT, "Computing": 0, "Free": 0, "Stage": 0}
    [rank] = read_profile(folder(rows("MatMul"), empty)).ranks
    assert all(step.is_counted for step in rank.steps)


def test_op_summary_says_the_same_as_kernel_details(folder: Any, rows: Any, tmp_path: Path) -> None:
    made = rows("MatMul", "Add")
    [one] = read_profile(folder(made, SPLIT)).ranks
    names = {"Name": "Op Name", "Type": "OP Type", "Accelerator Core": "Task Type", "Duration(us)": "Task Duration(us)",
             "Start Time(us)": "Task Start Time(us)", "Wait Time(us)": "Task Wait Time(us)", "Block Dim": "Block Num"}  # fmt: skip
    other = tmp_path / "PROF_1" / "mindstudio_profiler_output"
    other.mkdir(parents=True)
    from csv import DictWriter

    with (other / "op_summary_20250101.csv").open("w", newline="") as file:
        writer = DictWriter(file, [names.get(key, key) for key in made[0]])
        writer.writeheader()
        writer.writerows({names.get(k, k): v for k, v in row.items()} for row in made)
    [two] = read_profile(tmp_path / "PROF_1").ranks
    assert one.kernels is not None
    assert two.kernels is not None
    assert two.layout == "msprof"
    assert one.kernels.start_ns.tolist() == two.kernels.start_ns.tolist()
    assert one.kernels.numbers["blocks"].tolist() == two.kernels.numbers["blocks"].tolist()
    assert [one.kernels.text("kind", i) for i in range(2)] == [two.kernels.text("kind", i) for i in range(2)]


def test_one_table_of_several_devices_becomes_several_ranks(folder: Any, rows: Any) -> None:
    made = rows("MatMul", "MatMul", "Add")
    made[1]["Device_id"] = "3"
    profile = read_profile(folder(made))
    assert [rank.rank for rank in profile.ranks] == [0, 3]
    assert [len(rank.kernels or ()) for rank in profile.ranks] == [2, 1]


def test_waiting_is_told_from_transferring(folder: Any, rows: Any) -> None:
    home = folder(rows("MatMul"), SPLIT)
    content = {"step7": {"collective": {"hcom_allReduce__1@9": {
        "Communication Time Info": {"Start Timestamp(us)": 1.7e15, "Elapse Time(ms)": 10, "Transit Time(ms)": 2,
                                    "Wait Time(ms)": 7, "Synchronization Time(ms)": 7, "Idle Time(ms)": 1},
        "Communication Bandwidth Info": {"HCCS": {"Transit Size(MB)": 40, "Transit Time(ms)": 2, "Bandwidth(GB/s)": 20,
                                                  "Size Distribution": {"20.0": [2, 2.0]}}}},
        "Total Op Info": {"Communication Time Info": {"Elapse Time(ms)": 10}}}}}  # fmt: skip
    inside = next(home.rglob("ASCEND_PROFILER_OUTPUT"))
    (inside / "communication.json").write_text(json.dumps(content))
    [rank] = read_profile(home).ranks
    [item] = rank.collectives
    assert (item.elapse_ms, item.transit_ms, item.wait_ms, item.idle_ms) == (10, 2, 7, 1)
    assert item.transfers[0].packets == ((20.0, 2, 2.0),)


@pytest.mark.parametrize(
    "damage", ['{"step7": {"collective": {"a": {"Communication Time Info"', "[1, 2]", "\x00\x01"]
)
def test_damaged_json_leaves_the_rest(folder: Any, rows: Any, damage: str) -> None:
    home = folder(rows("MatMul"), SPLIT)
    inside = next(home.rglob("ASCEND_PROFILER_OUTPUT"))
    (inside / "communication.json").write_text(damage)
    [rank] = read_profile(home).ranks
    assert rank.kernels is not None
    assert rank.collectives == ()


def event(name: str, ts: str, dur: float, **more: object) -> dict[str, object]:
    return {"ph": "X", "name": name, "pid": 1, "tid": 2, "ts": ts, "dur": dur, **more}


def test_a_trace_that_breaks_off_is_read_up_to_there(tmp_path: Path) -> None:
    task = {"Task Type": "AI_CORE", "Task Id": 1, "Physic Stream Id": 2}
    whole = json.dumps([event("MatMul", f"170000000000000{i}.250", 0.5, args=task) for i in range(9)])
    path = tmp_path / "trace_view.json"
    path.write_text(whole[:-200])
    [rank] = read_profile(path).ranks
    assert rank.kernels is not None
    assert 0 < len(rank.kernels) < 9
    assert rank.kernels.start_ns[0] == 1700000000000000250
    assert any("breaks off" in note for note in rank.notes)


def test_a_trace_of_a_gpu(tmp_path: Path) -> None:
    events = [
        event("ProfilerStep#3", "100", 900, cat="user_annotation"),
        event("ampere_sgemm", "110", 100, cat="kernel", args={"stream": 7, "grid": [10, 2, 1]}),
        event("ncclDevKernel_AllReduce_Sum", "150", 200, cat="kernel", args={"stream": 8}),
        event("Memcpy HtoD", "400", 50, cat="gpu_memcpy", args={"stream": 7}),
        event("cudaDeviceSynchronize", "300", 80, cat="cuda_runtime"),
        event("enumerate(DataLoader)#_Next", "0", 60, cat="cpu_op"),
    ]
    path = tmp_path / "trace.json"
    path.write_text(json.dumps({"schemaVersion": 1, "deviceProperties": [{"name": "A100"}],
                                "distributedInfo": {"rank": 2}, "traceEvents": events}))  # fmt: skip
    [rank] = read_profile(path).ranks
    assert (rank.rank, rank.device, rank.layout) == (2, "A100", "Kineto trace")
    assert rank.kernels is not None
    assert rank.kernels.is_communication.tolist() == [False, True, False]
    assert rank.kernels.is_copy.tolist() == [False, False, True]
    assert rank.kernels.text("step", 0) == "3"
    [step] = rank.steps
    assert (step.computing_us, step.exposed_us, step.overlapped_us) == (100, 140, 60)
    assert {call.level for call in rank.calls} == {"runtime", "loader"}


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


@pytest.mark.parametrize("viewer", [False, True])
def test_a_database_is_read_and_nothing_is_written_beside_it(tmp_path: Path, viewer: bool) -> None:
    path = tmp_path / "ascend_pytorch_profiler_5.db"
    database(path, viewer=viewer)
    before = (sorted(tmp_path.iterdir()), path.read_bytes())
    [rank] = read_profile(tmp_path).ranks
    assert (sorted(tmp_path.iterdir()), path.read_bytes()) == before
    assert rank.kernels is not None
    assert rank.kernels.start_ns[0] == 1700000000000000123
    assert rank.kernels.duration_us[0] == 15.0
    assert rank.kernels.pipe("aicore_time(us)")[0] == 14.0
    assert rank.kernels.text("kind", 0) == "MatMulV3"
    assert math.isnan(rank.kernels.wait_us[0]) is not viewer


def test_a_database_without_tables_is_refused(tmp_path: Path) -> None:
    with sqlite3.connect(tmp_path / "msprof_0.db") as made:
        made.execute("PRAGMA user_version = 3")
    made.close()
    with pytest.raises(InputError, match="a database without tables"):
        read_profile(tmp_path)


def test_a_rank_of_which_nothing_can_be_read_is_told_beside_the_others(folder: Any, rows: Any) -> None:
    folder(rows("MatMul"), SPLIT, 0)
    home = folder(rows("MatMul"), None, 1)
    broken = next(home.rglob("*_1_ascend_pt")) / "ASCEND_PROFILER_OUTPUT" / "kernel_details.csv"
    broken.write_text(broken.read_text().splitlines()[0] + "\nMatMul,1\n")
    profile = read_profile(home)
    assert [rank.rank for rank in profile.ranks] == [0]
    assert any("1 rows are cut or damaged" in note for note in profile.notes)


def test_a_folder_that_is_no_profile_says_what_was_looked_for(tmp_path: Path) -> None:
    (tmp_path / "notes.csv").write_text("a,b\n1,2\n")
    with pytest.raises(InputError, match="not a profile") as caught:
        read_profile(tmp_path)
    assert "kernel_details.csv" in caught.value.hint


def test_the_profile_of_one_operator(tmp_path: Path) -> None:
    home = tmp_path / "OPPROF_1"
    home.mkdir()
    (home / "OpBasicInfo.csv").write_text(
        "Op Name,Op Type,Task Duration(us),Block Dim,Mix Block Dim,Device Id,Pid,Current Freq,Rated Freq,\n"
        "add_custom,AI_VECTOR_CORE,42.5,48,0,0,1,1500,1800,\n"
    )
    (home / "PipeUtilization.csv").write_text(
        "block_id,sub_block_id,aiv_time(us),aiv_vec_ratio,aiv_scalar_ratio,aic_cube_ratio,\n"
        "0,vector0,40,0.2,0.9,NA,\n1,vector0,40,0.4,0.8,NA,\n"
    )
    [rank] = read_profile(home).ranks
    assert rank.layout == "msprof op"
    assert rank.kernels is not None
    assert rank.kernels.pipe("aiv_vec_ratio")[0] == pytest.approx(0.3)
    assert [mhz for _, mhz in rank.frequency_mhz] == [1800, 1500]


def test_the_table_of_a_cluster(tmp_path: Path) -> None:
    (tmp_path / "cluster_step_trace_time.csv").write_text(
        "Step,Type,Index,Computing,Communication(Not Overlapped),Overlapped,Communication,Free,Stage,Bubble\n"
        '1,rank,0,60,30,5,35,10,80,20\n1,rank,1,50,40,5,45,10,100,0\n1,stage,"(0, 1)",60,40,5,45,10,100,0\n'
    )
    profile = read_profile(tmp_path)
    assert [rank.rank for rank in profile.ranks] == [0, 1]
    assert profile.ranks[0].steps[0].step_us == 100  # a stage is the step less its bubble
    assert all(not rank.notes for rank in profile.ranks)


def test_ranks_of_different_steps_and_versions_are_told(folder: Any, rows: Any) -> None:
    folder(rows("MatMul"), SPLIT, 0)
    home = folder(rows("MatMul"), {**SPLIT, "Step": 8}, 1)
    for rank, version in ((0, "8.0"), (1, "8.3")):
        path = next(home.rglob(f"profiler_info_{rank}.json"))
        path.write_text(json.dumps({"rank_id": str(rank), "cann_version": version}))
    notes = " ".join(read_profile(home).notes)
    assert "different steps" in notes
    assert "8.0, 8.3" in notes


def test_text_is_a_log_and_a_profile_is_none(tmp_path: Path, folder: Any, rows: Any) -> None:
    (tmp_path / "train.log").write_text("RuntimeError: ACL error code 507014\n")
    assert is_log(tmp_path / "train.log")
    assert not is_log(next(folder(rows("MatMul")).rglob("kernel_details.csv")))


def test_every_real_sample_is_read_and_adds_up() -> None:
    samples = Path(os.environ.get("TUNEGRAPH_SHARED", ROOT.parent / "shared")) / "data" / "profiles"
    if not samples.is_dir():
        pytest.skip("no folder of real profiles: set TUNEGRAPH_SHARED")
    compared = 0
    for home in sorted(item for item in samples.iterdir() if item.is_dir()):
        for rank in read_profile(home).ranks:
            if rank.kernels is None:
                continue
            for step in rank.steps:
                if step.is_counted or any("cut" in note for note in rank.notes):
                    continue
                mine = float(np.nansum(rank.kernels.duration_us[rank.kernels.is_compute]))
                assert mine == pytest.approx(step.computing_us, abs=0.005 * step.step_us), home.name
                compared += 1
    assert compared


OPERATOR = {
    "Communication Time Info": {"Start Timestamp(us)": 1.7e15, "Elapse Time(ms)": 10, "Transit Time(ms)": 2,
                                "Wait Time(ms)": 7, "Synchronization Time(ms)": 7, "Idle Time(ms)": 1},
    "Communication Bandwidth Info": {},
}  # fmt: skip
LINK = {"Transport Type": "HCCS", "Transit Size(MB)": 40, "Transit Time(ms)": 2, "Bandwidth(GB/s)": 20}


def test_the_analysis_of_msprof_has_no_steps(tmp_path: Path) -> None:
    home = tmp_path / "PROF_1" / "analyze"
    home.mkdir(parents=True)
    (home / "communication.json").write_text(
        json.dumps(
            {"hcom_send__1_0_1@9": OPERATOR, "hcom_allReduce__1@9": OPERATOR, "Total Op Info": OPERATOR}
        )
    )
    (home / "communication_matrix.json").write_text(json.dumps({"hcom_send__1_0_1@9": {"0-1": LINK}}))
    inside = tmp_path / "PROF_1" / "mindstudio_profiler_output"
    inside.mkdir()
    (inside / "op_summary_1.csv").write_text("Op Name,Task Start Time(us),Task Duration(us)\na,1,5\n")
    [rank] = read_profile(tmp_path).ranks
    assert [(item.name, item.is_p2p, item.wait_ms) for item in rank.collectives] == [
        ("hcom_send__1_0_1", True, 7.0), ("hcom_allReduce__1", False, 7.0),
    ]  # fmt: skip
    [link] = rank.links
    assert (link.source, link.target, link.operator, link.bandwidth_gb_s) == (
        "0",
        "1",
        "hcom_send__1_0_1",
        20.0,
    )
    assert len(rank.kernels or ()) == 1


def test_raw_data_beside_what_was_made_of_it_counts_once(folder: Any, rows: Any) -> None:
    home = folder(rows("MatMul"), SPLIT)
    inside = next(home.rglob("ASCEND_PROFILER_OUTPUT"))
    raw = inside.parent / "PROF_000001_1_X"
    apis = "Level,API Name,Time(us),Count\nruntime,KernelLaunch,100,5\n"
    hbm = "Device_id,Metric,Read(MB/s),Write(MB/s)\n0,0,100,50\n"
    for place, suffix in ((inside, ""), (raw / "mindstudio_profiler_output", "_2025")):
        place.mkdir(parents=True, exist_ok=True)
        (place / f"api_statistic{suffix}.csv").write_text(apis)
        (place / f"hbm{suffix}.csv").write_text(hbm)
    (raw / "mindstudio_profiler_output" / "ddr_2025.csv").write_text(hbm)
    (raw / "analyze").mkdir()
    for place in (inside, raw / "analyze"):
        (place / "communication.json").write_text(json.dumps({"step7": {"collective": {"a@1": OPERATOR}}}))
    for place in (inside / "ascend_pytorch_profiler_0.db", raw / "msprof_1.db"):
        database(place)
    [rank] = read_profile(home).ranks
    assert [call.total_us for call in rank.calls] == [100.0]
    assert len(rank.collectives) == 1
    assert sorted(counter.name for counter in rank.details.counters) == [
        "DDR 0 read", "DDR 0 write", "HBM 0 read", "HBM 0 write",
    ]  # fmt: skip
    assert rank.kernels is not None
    assert rank.kernels.file.endswith("kernel_details.csv")
    assert not any("msprof_1.db" in file for file in rank.loads)


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


def test_counters_of_a_trace_in_their_units(tmp_path: Path) -> None:
    def sample(name: str, ts: str, **told: float) -> dict[str, object]:
        return {"ph": "C", "name": name, "pid": 1, "tid": 0, "ts": ts, "args": told}

    events = [
        sample("HBM 0/Read", "10.5", **{"Read(MB/s)": 3000.0}), sample("HBM 1/Write", "10.5", **{"Write(MB/s)": 1000}),
        sample("HBM 0/Read", "20.5", **{"Read(MB/s)": 500.0}), sample("AI Core Freq", "1", MHz=1800),
        sample("APP/Memory", "1", KB=2048.0), sample("APP/HBM", "1", KB=2048.0), sample("HBM 0/Read", "x", a=1),
        sample("LLC 0 Read/Hit Rate", "1", **{"Hit Rate(%)": 0.86}),
    ]  # fmt: skip
    path = tmp_path / "trace_view.json"
    path.write_text(json.dumps([event("Free", "1", 5), *events]))
    [rank] = read_profile(path).ranks
    assert rank.hbm_gb_s == ((10_500, 4.0), (20_500, 0.5))
    assert rank.frequency_mhz == ((1000, 1800.0),)
    assert {(c.name, c.unit, c.mean, c.peak) for c in rank.details.counters} == {
        ("HBM 0 read", "MB/s", 1750.0, 3000.0), ("HBM 1 write", "MB/s", 1000.0, 1000.0),
        ("APP hbm", "KB", 2048.0, 2048.0), ("LLC 0 Read hit rate", "%", 86.0, 86.0),
    }  # fmt: skip
    assert [(module.component, module.peak_mb) for module in rank.details.modules] == [("app", 2.0)]


def test_allocations_tell_memory_where_no_record_does(folder: Any, rows: Any) -> None:
    home = folder(rows("MatMul"), SPLIT)
    inside = next(home.rglob("ASCEND_PROFILER_OUTPUT"))
    (inside / "operator_memory.csv").write_text(
        "Name,Size(KB),Allocation Time(us),Release Time(us),Allocation Total Allocated(MB),Allocation Total Reserved(MB),"
        "Release Total Allocated(MB),Release Total Reserved(MB)\n"
        "aten::empty,4,10.5\t,30.5\t,100,400,60,400\naten::add,8,20.5,,150,500,,\n,-4,,40.5,,,20,300\n"
    )
    [rank] = read_profile(home).ranks
    assert rank.memory is not None
    assert (rank.memory.peak_reserved_mb, rank.memory.peak_allocated_mb, rank.memory.allocations) == (
        500,
        150,
        3,
    )
    assert [at for at, _, _ in rank.memory.timeline] == [0.0, 10.0, 20.0, 30.0]
    assert rank.memory.returned_mb == 200.0


def test_real_samples_tell_what_their_formats_carry() -> None:
    samples = Path(os.environ.get("TUNEGRAPH_SHARED", ROOT.parent / "shared")) / "data" / "profiles"
    if not samples.is_dir():
        pytest.skip("no folder of real profiles: set TUNEGRAPH_SHARED")
    told = {
        name: read_profile(samples / name).ranks[0]
        for name in ("msinsight_text_level1", "msinsight_db_level1", "msinsight_st_level2")
    }
    for name, rank in told.items():
        assert rank.steps, name
        assert not rank.steps[0].is_counted, name
        assert rank.collectives, name
        assert all(
            item.wait_ms + item.transit_ms <= item.elapse_ms * 1.005 + 1e-6 for item in rank.collectives
        ), name
        assert rank.links, name
        assert rank.memory is not None, name
        assert rank.memory.peak_allocated_mb <= rank.memory.peak_reserved_mb, name
        assert {call.level for call in rank.calls} >= {"acl", "hccl"}, name
        held = {module.component: module for module in rank.details.modules}
        assert held["APP"].peak_mb > held["HCCL"].peak_mb > 0, name
    for name in ("msinsight_text_level1", "msinsight_db_level1"):
        assert 10 < max(rate for _, rate in told[name].hbm_gb_s) < 1600, name  # a 910B has 1.6 TB/s
        assert len(told[name].frequency_mhz) > 1, name
    text, base = told["msinsight_text_level1"], told["msinsight_db_level1"]
    assert len(text.details.caches) > 50
    assert {item.what for item in text.missing} >= {"hit rates of the L2 cache"}
    assert text.memory is not None
    assert base.memory is not None
    assert text.memory.peak_reserved_mb == base.memory.peak_reserved_mb  # the same job, run twice
