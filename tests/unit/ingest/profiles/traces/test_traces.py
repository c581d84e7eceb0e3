"""Traces: clocks, ranks, traces that break off."""

import json
from pathlib import Path

from ingest.profiles.folders import read_profile
from tests.samples.gpu_traces import kernel, write


def test_ranks_stand_on_one_clock_where_the_base_is_told(tmp_path: Path) -> None:
    write(tmp_path, 0, kernel("gemm", 5.0, 10), baseTimeNanoseconds=1_700_000_000_000_000_000)
    write(tmp_path, 1, kernel("gemm", 5.0, 10), baseTimeNanoseconds=1_700_000_000_000_002_000)
    starts = [
        int(rank.kernels.start_ns[0]) for rank in read_profile(tmp_path).ranks if rank.kernels is not None
    ]
    assert starts == [1_700_000_000_000_005_000, 1_700_000_000_000_007_000]


def test_a_rank_is_known_by_its_file_where_the_trace_names_none(tmp_path: Path) -> None:
    for rank in (0, 1):
        content = {"schemaVersion": 1, "traceEvents": [kernel("gemm", 0, 5)]}
        (tmp_path / f"trace_rank{rank}.json").write_text(json.dumps(content))
    assert [rank.rank for rank in read_profile(tmp_path).ranks] == [0, 1]


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


def test_counters_of_a_trace_in_their_units(tmp_path: Path) -> None:
    def sample(name: str, ts: str, **told: float) -> dict[str, object]:
        return {"ph": "C", "name": name, "pid": 1, "tid": 0, "ts": ts, "args": told}

    events = [
        sample("HBM 0/Read", "10.5", **{"Read(MB/s)": 3000.0}), sample("AI Core Freq", "1", MHz=1800),
        sample("APP/Memory", "1", KB=2048.0), sample("APP/HBM", "1", KB=2048.0), sample("HBM 0/Read", "x", a=1),
        sample("LLC 0 Read/Hit Rate", "1", **{"Hit Rate(%)": 0.86}),
    ]  # fmt: skip
    path = tmp_path / "trace_view.json"
    path.write_text(json.dumps([event("Free", "1", 5), *events]))
    [rank] = read_profile(path).ranks
    assert rank.frequency_mhz == ((1000, 1800.0),)
    assert [(module.component, module.peak_mb) for module in rank.details.modules] == [("app", 2.0)]
