"""Events of GPUs in traces of PyTorch."""

import json
from pathlib import Path

import pytest

from ingest.profiles.folders import read_profile
from tests.samples.gpu_traces import kernel, write


def test_old_categories_are_the_same(tmp_path: Path) -> None:
    events = [
        {"ph": "X", "cat": "Kernel", "name": "gemm", "pid": 0, "tid": "stream 7", "ts": 10, "dur": 5,
         "args": {"device": 0, "stream": 7}},
        {"ph": "X", "cat": "Memcpy", "name": "Memcpy HtoD", "pid": 0, "tid": "stream 7", "ts": 20, "dur": 5},
        {"ph": "X", "cat": "Runtime", "name": "cudaLaunchKernel", "pid": 1, "tid": "1", "ts": 5, "dur": 3},
        {"ph": "X", "cat": "Operator", "name": "ProfilerStep#4", "pid": 1, "tid": "1", "ts": 0, "dur": 30},
        {"ph": "X", "cat": "Operator", "name": "aten::mm", "pid": 1, "tid": "1", "ts": 2, "dur": 3},
    ]  # fmt: skip
    path = tmp_path / "worker.pt.trace.json"
    path.write_text(
        json.dumps({"schemaVersion": 1, "computeProperties": [{"name": "V100"}], "traceEvents": events})
    )
    [rank] = read_profile(path).ranks
    assert (rank.layout, rank.device) == ("Kineto trace", "V100")
    assert rank.kernels is not None
    assert rank.kernels.is_copy.tolist() == [False, True]
    assert rank.kernels.text("step", 0) == "4"
    assert {(call.level, call.name) for call in rank.calls} == {
        ("runtime", "cudaLaunchKernel"),
        ("op", "aten::mm"),
    }


def test_memory_of_the_device_and_not_of_the_host(tmp_path: Path) -> None:
    def event(ts: float, kind: int, allocated: int, reserved: int, change: int) -> dict[str, object]:
        told = {"Device Type": kind, "Device Id": 0, "Total Allocated": allocated, "Total Reserved": reserved,
                "Bytes": change, "Addr": 1}  # fmt: skip
        return {"ph": "i", "s": "t", "cat": "cpu_instant_event", "name": "[memory]", "ts": ts, "args": told}

    mega = 1 << 20
    path = write(tmp_path, 0, kernel("gemm", 0, 5), event(1, 1, 2 * mega, 8 * mega, mega),
                 event(2, 1, mega, 4 * mega, -mega), event(3, 0, 900 * mega, 900 * mega, mega))  # fmt: skip
    [rank] = read_profile(path).ranks
    assert rank.memory is not None
    assert (rank.memory.peak_reserved_mb, rank.memory.peak_allocated_mb) == (8.0, 2.0)
    assert (rank.memory.returned_mb, rank.memory.allocations) == (4.0, 1)


def test_workers_of_tensorboard_are_ranks(tmp_path: Path) -> None:
    for number in (0, 3):
        events = {"schemaVersion": 1, "traceEvents": [kernel("volta_sgemm_128x64_nt", 0, 5)]}
        (tmp_path / f"worker{number}.1623143089861.pt.trace.json").write_text(json.dumps(events))
    ranks = read_profile(tmp_path).ranks
    assert [rank.rank for rank in ranks] == [0, 3]
    assert ranks[0].kernels is not None
    assert (ranks[0].kernels.text("kind", 0), ranks[0].kernels.text("input_types", 0)) == (
        "Gemm",
        "FLOAT;FLOAT",
    )


def test_what_stands_beside_the_events_is_of_the_rank(tmp_path: Path) -> None:
    info = {
        "backend": "nccl", "rank": 1, "world_size": 4, "nccl_version": "2.21.5",
        "pg_config": [{"pg_name": "0", "pg_desc": "default_pg", "ranks": [0, 1, 2, 3]}],
    }  # fmt: skip
    ddp = {
        "ph": "X",
        "cat": "user_annotation",
        "name": "DistributedDataParallel.forward",
        "ts": 0,
        "dur": 3,
        "pid": 1,
        "tid": 1,
    }
    own = {**ddp, "name": "my own range 17"}
    path = write(
        tmp_path, 1, kernel("ncclDevKernel_AllReduce", 0, 5), ddp, own, distributedInfo=info, NCCL_ALGO="Ring"
    )  # fmt: skip
    read = read_profile(path)
    [rank] = read.ranks
    assert rank.software == {"nccl": "2.21.5"}
    assert rank.environment == {"NCCL_ALGO": "Ring"}
    assert rank.parallel["world_size"] == 4
    assert rank.details.groups[0].ranks == (0, 1, 2, 3)
    assert [call.name for call in rank.calls] == ["DistributedDataParallel.forward"]
    assert any("4 ranks, of which one rank is here" in note for note in read.notes)


def test_a_loader_between_two_steps_is_time_of_a_step(tmp_path: Path) -> None:
    """Batches are loaded when a step begins: nothing of it has run by then."""
    from recommender.diagnosis.ledger.accounts import keep_ledger

    events: list[dict[str, object]] = []
    for step in range(3):
        at = step * 10_000.0
        name = "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__"
        marks = ((f"ProfilerStep#{step}", at, 10_000.0), (name, at, 4000.0))
        events += [
            {"ph": "X", "cat": "user_annotation", "name": text, "ts": ts, "dur": dur, "pid": 1, "tid": 1}
            for text, ts, dur in marks
        ]
        events.append(
            {
                "ph": "X",
                "cat": "cuda_runtime",
                "name": "cudaLaunchKernel",
                "ts": at,
                "dur": 5,
                "pid": 1,
                "tid": 1,
            }
        )
        events.append(kernel("volta_sgemm_128x64_nt", at + 4000, 6000))
    path = write(tmp_path, 0, *events)
    profile = read_profile(path)
    assert [step.step_us for step in profile.ranks[0].steps] == [6000.0, 10_000.0, 10_000.0]
    [ledger] = keep_ledger(profile).ranks
    waits = {account.reason: us for account, us in ledger.mean_us.items() if account.operator == "gap"}
    assert waits["waits for training data"] == pytest.approx(8000 / 3)
    assert ledger.error < 1e-9


def test_kernels_have_the_shapes_of_the_operator_that_launched_them(tmp_path: Path) -> None:
    def operator(number: int, sizes: list[object], types: list[str]) -> dict[str, object]:
        told = {"External id": number, "Input Dims": sizes, "Input type": types}
        return {"ph": "X", "cat": "cpu_op", "name": "aten::addmm", "pid": 1, "tid": 1, "ts": number, "dur": 1.0,
                "args": told}  # fmt: skip

    events = [
        {"ph": "X", "cat": "kernel", "name": name, "pid": 0, "tid": 7, "ts": 10.0 * place, "dur": 5.0,
         "args": {"External id": number, "stream": 7}}
        for place, (name, number) in enumerate([("ampere_sgemm_128x64_tn", 2), ("add", 3), ("mul", 9)], 1)
    ]  # fmt: skip
    events += [
        operator(2, [[8], [4, 16], [16, 8], []], ["float", "float", "float", "Scalar"]),
        operator(3, [[4, 8], [[4, 8], [2]]], ["c10::BFloat16", "TensorList"]),
    ]
    path = tmp_path / "worker.pt.trace.json"
    path.write_text(json.dumps({"schemaVersion": 1, "traceEvents": events}))
    [rank] = read_profile(path).ranks
    assert rank.kernels is not None
    assert [rank.kernels.text("input_shapes", row) for row in range(3)] == ["8;4,16;16,8", "4,8", ""]
    assert [rank.kernels.text("input_types", row) for row in (1, 2)] == ["BF16", ""]


def test_ranges_that_save_or_compile_are_calls_and_those_that_recompute_are_none(tmp_path: Path) -> None:
    names = ("torch.save", "save_checkpoint", "_compile.compile_inner (dynamo_timed)", "CheckpointFunction")
    events = [
        {
            "ph": "X",
            "cat": "user_annotation",
            "name": name,
            "pid": 1,
            "tid": 1,
            "ts": 10.0 * place,
            "dur": 5.0,
        }
        for place, name in enumerate(names)
    ]
    kernels = [
        {"ph": "X", "cat": "kernel", "name": "add", "pid": 0, "tid": 7, "ts": 1.0, "dur": 5.0, "args": {}}
    ]
    path = tmp_path / "worker.pt.trace.json"
    path.write_text(json.dumps({"schemaVersion": 1, "traceEvents": [*kernels, *events]}))
    [rank] = read_profile(path).ranks
    assert {(call.level, call.name) for call in rank.calls} == {
        ("save", "torch.save"),
        ("save", "save_checkpoint"),
        ("mark", "_compile.compile_inner (dynamo_timed)"),
    }
