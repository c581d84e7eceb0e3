"""Use of device memory over time."""

from pathlib import Path
from typing import Any

import pytest

from ingest.profiles.folders import read_profile
from ingest.profiles.tables.memory_tables import memory_use
from tests.samples.profile_files import SPLIT


def test_components_are_not_mixed_and_what_went_back_is_counted() -> None:
    own = [("PTA", at, reserved, 80.0) for at, reserved in enumerate([100.0, 400.0, 250.0, 400.0])]
    other = [("GE", at, 5.0, 2.0) for at in range(4)]
    process = [("APP", at, 9000.0, 9000.0) for at in range(4)]
    found = memory_use([*own, *other, *process], "memory_record.csv", None)
    assert found is not None
    assert (found.peak_reserved_mb, found.peak_allocated_mb, found.returned_mb) == (400.0, 80.0, 150.0)


def test_without_a_framework_there_is_no_use() -> None:
    assert memory_use([("APP", 1, 10.0, 10.0)], "memory_record.csv", None) is None


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


def event(name: str, ts: str, dur: float, **more: object) -> dict[str, object]:
    return {"ph": "X", "name": name, "pid": 1, "tid": 2, "ts": ts, "dur": dur, **more}


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
