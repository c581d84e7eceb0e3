"""SQLite exports of Nsight Systems, written with the columns of its schema reference."""

import sqlite3
from pathlib import Path

import pytest

from ingest.profiles.folders import read_profile
from kg.errors import InputError

PROCESSES = (4001, 4002)
NAMES = {
    1: "void gemm<float>(float*)", 2: "gemm", 3: "ncclDevKernel_AllReduce_Sum_bf16(ncclDevComm*)", 4: "cudaLaunchKernel_v7000",
    5: "cudaStreamSynchronize_v3020_ptsz", 6: "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__",
}  # fmt: skip
BASE = 1_779_630_014_975_716_426


def thread(pid: int, number: int = 7) -> int:
    return pid << 24 | number


def export(path: Path, *, is_world_clock: bool = True) -> Path:
    """Two processes of one GPU each, which both call it number 0; two steps each."""
    data = sqlite3.connect(path)
    data.executescript(
        """
        CREATE TABLE StringIds (id INTEGER NOT NULL PRIMARY KEY, value TEXT NOT NULL);
        CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start INTEGER NOT NULL, end INTEGER NOT NULL, deviceId INTEGER NOT NULL,
            streamId INTEGER NOT NULL, correlationId INTEGER, globalPid INTEGER, demangledName INTEGER NOT NULL,
            shortName INTEGER NOT NULL, gridX INTEGER NOT NULL, gridY INTEGER NOT NULL, gridZ INTEGER NOT NULL);
        CREATE TABLE CUPTI_ACTIVITY_KIND_MEMCPY (start INTEGER NOT NULL, end INTEGER NOT NULL, deviceId INTEGER NOT NULL,
            streamId INTEGER NOT NULL, correlationId INTEGER, globalPid INTEGER, bytes INTEGER NOT NULL,
            copyKind INTEGER NOT NULL, srcKind INTEGER, dstKind INTEGER);
        CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (start INTEGER NOT NULL, end INTEGER NOT NULL, globalTid INTEGER,
            correlationId INTEGER, nameId INTEGER NOT NULL);
        CREATE TABLE NVTX_EVENTS (start INTEGER NOT NULL, end INTEGER, eventType INTEGER NOT NULL, text TEXT,
            globalTid INTEGER, textId INTEGER);
        CREATE TABLE TARGET_INFO_GPU (id INTEGER, name TEXT);
        CREATE TABLE TARGET_INFO_CUDA_DEVICE (gpuId INTEGER, cudaId INTEGER, pid INTEGER);
        CREATE TABLE TARGET_INFO_SESSION_START_TIME (utcEpochNs INTEGER);
        CREATE TABLE META_DATA_CAPTURE (name TEXT, value TEXT);
        """
    )
    data.executemany("INSERT INTO StringIds VALUES (?, ?)", NAMES.items())
    for gpu, pid in enumerate(PROCESSES):
        data.execute("INSERT INTO TARGET_INFO_CUDA_DEVICE VALUES (?, 0, ?)", (gpu, pid))
        for step in (0, 1):
            at, call = step * 100_000, 10 * step + 1
            kernels = [
                # launched within the step, run when the host is in the next one
                (at + 90_000, at + 130_000, 0, 7, call, pid << 24, 1, 2, 4, 2, 1),
                (at + 110_000, at + 150_000, 0, 13, call + 1, pid << 24, 3, 3, 1, 1, 1),
            ]
            data.executemany("INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (?,?,?,?,?,?,?,?,?,?,?)", kernels)
            data.executemany(
                "INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (?,?,?,?,?)",
                [(at + 5_000, at + 9_000, thread(pid), call, 4), (at + 9_000, at + 11_000, thread(pid), call + 1, 4),
                 (at + 20_000, at + 50_000, thread(pid), call + 2, 5)],
            )  # fmt: skip
            data.executemany(
                "INSERT INTO NVTX_EVENTS VALUES (?,?,?,?,?,?)",
                [(at, at + 80_000, 59, f"step {step}", thread(pid), None),
                 (at + 1_000, at + 2_000, 59, f"aten::mm, op_id = {step}", thread(pid), None),
                 (at + 2_000, at + 3_000, 59, None, thread(pid), 6), (at, None, 34, "mark", thread(pid), None)],
            )  # fmt: skip
        data.execute(
            "INSERT INTO CUPTI_ACTIVITY_KIND_MEMCPY VALUES (95000,105000,0,7,99,?,4096,1,0,2)", (pid << 24,)
        )
    data.execute(
        "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (9000,8000,0,7,1,?,1,2,1,1,1)", (PROCESSES[0] << 24,)
    )
    data.executemany("INSERT INTO TARGET_INFO_GPU VALUES (?, ?)", [(0, "NVIDIA H100"), (1, "NVIDIA H100")])
    if is_world_clock:
        data.execute("INSERT INTO TARGET_INFO_SESSION_START_TIME VALUES (?)", (BASE,))
    data.executemany(
        "INSERT INTO META_DATA_CAPTURE VALUES (?, ?)",
        [("PROCESS_0:ENVIRONMENT_VARIABLE", 'NCCL_DEBUG="INFO"'), ("PROCESS_0:ENVIRONMENT_VARIABLE", 'HF_TOKEN="abc"'),
         ("DEVICE_ID", "Local (CLI)")],
    )  # fmt: skip
    data.commit()
    data.close()
    return path


def test_each_process_is_a_rank_by_its_own_device(tmp_path: Path) -> None:
    ranks = read_profile(export(tmp_path / "report1.sqlite")).ranks
    assert [(rank.rank, rank.layout, rank.device) for rank in ranks] == [
        (0, "Nsight Systems", "NVIDIA H100"),
        (1, "Nsight Systems", "NVIDIA H100"),
    ]
    for rank in ranks:
        assert rank.kernels is not None
        assert len(rank.kernels) == 5
        calls = {(call.level, call.name): (call.total_us, call.count, call.max_us) for call in rank.calls}
        assert calls == {
            ("runtime", "cudaLaunchKernel"): (12.0, 4, 4.0),
            ("runtime", "cudaStreamSynchronize"): (60.0, 2, 30.0),
            ("op", "aten::mm"): (2.0, 2, 1.0),
            ("loader", NAMES[6]): (2.0, 2, 1.0),
        }


def test_calls_of_one_process_are_kept_one_by_one(tmp_path: Path) -> None:
    path = export(tmp_path / "report1.sqlite")
    assert [rank.details.spans for rank in read_profile(path).ranks] == [None, None]  # whose device waits?
    with sqlite3.connect(path) as data:
        data.execute("DELETE FROM CUPTI_ACTIVITY_KIND_KERNEL WHERE globalPid >> 24 = ?", PROCESSES[1:])
        data.execute("DELETE FROM CUPTI_ACTIVITY_KIND_MEMCPY WHERE globalPid >> 24 = ?", PROCESSES[1:])
    rank = next(rank for rank in read_profile(path).ranks if rank.kernels is not None)
    assert rank.details.spans is not None
    start, end = rank.details.spans.of(lambda _, name: name == "cudaStreamSynchronize")
    assert (start - BASE).tolist() == [20_000, 120_000]
    assert (end - start).tolist() == [30_000, 30_000]
    assert len(rank.details.spans.of(lambda level, _: level == "step")[0]) == 2


def test_a_kernel_belongs_to_the_step_that_launched_it(tmp_path: Path) -> None:
    rank = read_profile(export(tmp_path / "report1.sqlite")).ranks[1]
    assert rank.kernels is not None
    assert [rank.kernels.text("step", row) for row in range(5)] == ["0", "0", "1", "1", ""]
    assert [(step.step, step.step_us, step.exposed_us) for step in rank.steps] == [
        ("0", 60.0, 20.0),
        ("1", 100.0, 20.0),  # with the 40 µs since the step before it
    ]


def test_the_environment_is_kept_without_secrets(tmp_path: Path) -> None:
    assert dict(read_profile(export(tmp_path / "a.sqlite")).ranks[0].environment) == {"NCCL_DEBUG": "INFO"}


def test_without_calls_the_waits_of_the_device_are_read(tmp_path: Path) -> None:
    path = export(tmp_path / "report1.sqlite")
    with sqlite3.connect(path) as data:
        data.execute("DROP TABLE CUPTI_ACTIVITY_KIND_RUNTIME")
        data.execute(
            "CREATE TABLE CUPTI_ACTIVITY_KIND_SYNCHRONIZATION (start INT, end INT, globalPid INT, syncType INT)"
        )
        rows = [(0, 5000, PROCESSES[0] << 24, 3), (0, 9000, PROCESSES[0] << 24, 2)]
        data.executemany("INSERT INTO CUPTI_ACTIVITY_KIND_SYNCHRONIZATION VALUES (?,?,?,?)", rows)
    first = read_profile(path).ranks[0]
    calls = {call.name: call.total_us for call in first.calls if call.level == "runtime"}
    assert calls == {"cudaStreamSynchronize": 5.0}  # a stream that waits for an event holds no host up


def test_another_database_is_no_profile(tmp_path: Path) -> None:
    path = tmp_path / "study.sqlite3"
    with sqlite3.connect(path) as data:
        data.execute("CREATE TABLE studies (id INTEGER)")
    with pytest.raises(InputError, match="not a profile"):
        read_profile(path)
