"""Tables of msprof beside kernels, with the columns that its writer gives them."""

from __future__ import annotations

from pathlib import Path

import pytest

from ingest.profiles.folders import read_profile

KERNELS = (
    "Device_id,Op Name,OP Type,Task Type,Task Start Time(us),Task Duration(us)\n"
    "0,hcom_allReduce__1_0_1,hcom_allReduce_,COMMUNICATION,1000,70\n0,a,MatMul,AI_CORE,1100,30\n"
)


@pytest.fixture
def home(tmp_path: Path) -> Path:
    inside = tmp_path / "PROF_000001_1_X" / "mindstudio_profiler_output"
    inside.mkdir(parents=True)
    (inside / "op_summary_1.csv").write_text(KERNELS)
    return inside


def test_communication_by_type(home: Path) -> None:
    (home / "communication_statistic_1.csv").write_text(
        "Device_id,OP Type,Count,Total Time(us),Min Time(us),Avg Time(us),Max Time(us),Ratio(%)\n"
        "0,hcom_allReduce_,1,70,70,70,70,87.5\n0,hcom_send_,2,10,4,5,6,12.5\n"
    )
    [rank] = read_profile(home.parent).ranks
    first, second = rank.details.collective_sums
    assert (first.kind, first.count, first.total_us, first.share) == ("hcom_allReduce_", 1, 70.0, 0.875)
    assert (second.min_us, second.mean_us, second.max_us) == (4.0, 5.0, 6.0)
    assert any("one of the two is cut" in note for note in rank.notes)  # 80 µs there, 70 in the kernels
    assert "waiting and transfer of collectives" in {item.what for item in rank.missing}


def test_cache_rates_by_operator_and_what_was_not_collected(home: Path) -> None:
    (home / "l2_cache_1.csv").write_text(
        "Device_id,Stream Id,Task Id,Hit Rate,Victim Rate,Op Name\n0,2,1,0.5,0.1,a\n0,2,2,0.7,1.3,a\n"
        "0,2,3,N/A,0.2,b\n"
    )
    [rank] = read_profile(home.parent).ranks
    a, b = rank.details.caches
    assert (a.name, a.count) == ("a", 2)
    assert a.hit_rate == pytest.approx(0.6)
    assert a.victim_rate == pytest.approx(0.7)
    assert (b.hit_rate, b.victim_rate) == (None, 0.2)
    assert "hit rates of the L2 cache" not in {item.what for item in rank.missing}


def test_without_one_hit_rate_it_is_said_how_to_collect_them(home: Path) -> None:
    (home / "l2_cache_1.csv").write_text("Stream Id,Task Id,Hit Rate,Victim Rate,Op Name\n2,1,N/A,0.1,a\n")
    [rank] = read_profile(home.parent).ranks
    missing = {item.what: item.how for item in rank.missing}
    assert "aic_metrics=L2Cache" in missing["hit rates of the L2 cache"]


def test_hits_counted_beside_kernels_make_the_same_rates(home: Path) -> None:
    (home / "op_summary_1.csv").write_text(
        "Op Name,OP Type,Task Type,Task Start Time(us),Task Duration(us),aic_write_cache_hit,"
        "aic_write_cache_miss_allocate,aic_r0_read_cache_hit,aic_r0_read_cache_miss_allocate\n"
        "a,MatMul,AI_CORE,1,5,10,0,65,25\nb,Add,AI_VECTOR_CORE,9,5,N/A,N/A,N/A,N/A\n"
    )
    [rank] = read_profile(home.parent).ranks
    [use] = rank.details.caches
    assert (use.name, use.count, use.hit_rate) == ("MatMul", 1, 0.75)


@pytest.mark.parametrize(("unit", "scale"), [("MB", 1.0), ("KB", 1024.0)])
def test_memory_by_module_in_the_unit_of_its_header(home: Path, unit: str, scale: float) -> None:
    (home / "npu_module_mem_1.csv").write_text(
        f"Device_id,Component,Timestamp(us),Total Reserved({unit}),Device\n0,HCCL,2.5,{300 * scale},NPU:0\n"
        f"0,HCCL,1.5,{400 * scale},NPU:0\n0,SLOG,1.5,-1,NPU:0\n"
    )
    [rank] = read_profile(home.parent).ranks
    [module] = rank.details.modules
    assert (module.component, module.peak_mb, module.last_mb, module.samples) == ("HCCL", 400.0, 300.0, 2)


def test_memory_of_process_and_device_and_of_the_allocator_in_kilobytes(home: Path) -> None:
    (home / "npu_mem_1.csv").write_text(
        "Device_id,event,ddr(KB),hbm(KB),memory(KB),timestamp(us)\n0,app,0,2048,2048,1.0\n0,device,0,4096,4096,1.0\n"
    )
    (home / "memory_record_1.csv").write_text(
        "Device_id,Component,Timestamp(us),Total Allocated(KB),Total Reserved(KB),Device\n"
        "0,GE,1.0,1024,4096,NPU:0\n0,GE,2.0,2048,3072,NPU:0\n"
    )
    [rank] = read_profile(home.parent).ranks
    assert {module.component: module.peak_mb for module in rank.details.modules} == {
        "app": 2.0,
        "device": 4.0,
    }
    assert rank.memory is not None
    assert (rank.memory.peak_reserved_mb, rank.memory.peak_allocated_mb) == (4.0, 2.0)
    assert rank.memory.returned_mb == 1.0
    assert len(rank.memory.timeline) == 2


TABLES = {
    "hbm_1.csv": ("Device_id,Metric,Read(MB/s),Write(MB/s)\n0,0,100,50\n", {"HBM 0 read": (100.0, "MB/s")}),
    "ddr_1.csv": ("Device_id,Metric,Read(MB/s),Write(MB/s)\n0,Average,9,5\n", {"DDR Average write": (5.0, "MB/s")}),
    "hccs_1.csv": ("Device_id,Mode,Max,Min,Average\n0,txThroughput (MB/s),9,1,4\n",
                   {"HCCS txThroughput (MB/s)": (4.0, "MB/s")}),
    "pcie_1.csv": ("Device_id,Mode,Min,Max,Avg\n0,Tx_latency_avg(us),1,9,4\n",
                   {"PCIe Tx_latency_avg(us)": (4.0, "us")}),
    "llc_read_write_1.csv": ("Device_id,Mode,Task,Hit Rate(%),Throughput(MB/s)\n0,read,0,80,5\n0,read,0,60,7\n",
                             {"LLC read 0 hits": (70.0, "%"), "LLC read 0 throughput": (6.0, "MB/s")}),
    "roce_1.csv": ("Timestamp(us),Bandwidth(MB/s),rxPacket/s,txPacket/s,txDropped rate(%),funcId\n1,10,1,1,2,0\n",
                   {"RoCE 0 bandwidth": (10.0, "MB/s"), "RoCE 0 sending drops": (2.0, "%")}),
    "dvpp_1.csv": ("Device_id,Engine Type,Engine ID,All Time(us),All Utilization(%)\n0,VDEC,1,10,25%\n", {"DVPP VDEC 1 use": (25.0, "%")}),
    "cpu_usage_1.csv": ("Device_id,Cpu Type,User(%),Sys(%),IoWait(%),Irq(%),Soft(%),Idle(%)\n0,AICPU,10,5,0,0,0,85\n",
                        {"processor AICPU idle": (85.0, "%")}),
    "ai_core_utilization_1.csv": ("Device_id,Core ID,mac_ratio,mte2_ratio\n0,Core0,0.25,0.5\n0,Core1,0.75,N/A\n",
                                  {"cube core Core0 mac_ratio": (0.25, "1"), "cube core Core0 mte2_ratio": (0.5, "1")}),
    "soc_pmu_1.csv": ("Device_id,Stream Id,Task Id,TLB Miss Rate,TLB Hit Rate,Op Name\n0,1,1,0.1,0.9,a\n",
                      {"TLB hits": (0.9, "1")}),
}  # fmt: skip


@pytest.mark.parametrize("name", TABLES)
def test_counters_of_the_system(home: Path, name: str) -> None:
    text, expected = TABLES[name]
    (home / name).write_text(text)
    [rank] = read_profile(home.parent).ranks
    found = {counter.name: (counter.mean, counter.unit) for counter in rank.details.counters}
    assert {key: found[key] for key in expected} == expected


def test_fused_operators_and_their_parts(home: Path) -> None:
    (home / "fusion_op_1.csv").write_text(
        "Device_id,Model Name,Model ID,Fusion Op,Original Ops,Memory Input(KB),Memory Output(KB),Memory Weight(KB),"
        'Memory Workspace(KB),Memory Total(KB)\nhost,net,1,conv1relu,"conv1,relu",1,1,2,0,4\n'
    )
    [rank] = read_profile(home.parent).ranks
    [fused] = rank.details.fused
    assert (fused.name, fused.parts, fused.memory_kb) == ("conv1relu", ("conv1", "relu"), 4.0)


def test_slices_of_one_table_are_one_table(home: Path) -> None:
    head, first, second = KERNELS.splitlines(keepends=True)
    (home / "op_summary_1.csv").unlink()
    (home / "op_summary_slice_0_1.csv").write_text(head + first)
    (home / "op_summary_slice_1_1.csv").write_text(head + second)
    [rank] = read_profile(home.parent).ranks
    assert rank.kernels is not None
    assert [rank.kernels.text("name", row) for row in range(2)] == ["hcom_allReduce__1_0_1", "a"]
    assert rank.notes == ()


def test_tables_of_several_devices_go_to_their_devices(home: Path) -> None:
    (home / "op_summary_1.csv").write_text(KERNELS + "1,b,MatMul,AI_CORE,1100,35\n")
    (home / "communication_statistic_1.csv").write_text(
        "Device_id,OP Type,Count,Total Time(us),Ratio(%)\n0,hcom_allReduce_,1,70,100\n1,hcom_send_,1,5,100\n"
    )
    zero, one = read_profile(home.parent).ranks
    assert [item.kind for item in zero.details.collective_sums] == ["hcom_allReduce_"]
    assert [item.kind for item in one.details.collective_sums] == ["hcom_send_"]


def test_a_core_that_is_cube_and_vector_in_one_has_columns_without_prefix(home: Path) -> None:
    (home / "op_summary_1.csv").write_text(
        "Op Name,OP Type,Task Type,Task Start Time(us),Task Duration(us),Block Dim,aicore_time(us),total_cycles,"
        "vec_time(us),vec_ratio,mac_ratio,scalar_ratio,mte2_ratio,mte3_ratio,icache_miss_rate,memory_bound\n"
        "a,MatMul,AI_CORE,1,10,32,9,288000,4,0.4,0.5,0.1,0.6,0.2,0.01,1.2\n"
    )
    [rank] = read_profile(home.parent).ranks
    assert rank.kernels is not None
    told = {name: float(values[0]) for name, values in rank.kernels.pipes.items()}
    assert told["aic_mac_ratio"] == 0.5
    assert told["aiv_vec_ratio"] == 0.4
    assert told["aic_mte2_ratio"] == 0.6
    assert told["aiv_mte3_ratio"] == 0.2
    assert told["aicore_time(us)"] == told["aiv_time(us)"] == 9.0
    assert told["aic_total_cycles"] == 288000.0


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
