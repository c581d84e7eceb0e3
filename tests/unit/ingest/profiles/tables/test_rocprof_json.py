"""JSON of rocprofv3 tells what its tables do."""

import json
from pathlib import Path
from typing import Any

from ingest.profiles.folders import read_profile

STRINGS = {
    "buffer_records": [
        {"kind": "NONE", "operations": []},
        {"kind": "HIP_RUNTIME_API", "operations": ["hipMalloc", "hipLaunchKernel"]},
        {"kind": "MEMORY_COPY", "operations": ["NONE", "MEMORY_COPY_HOST_TO_DEVICE"]},
        {"kind": "MARKER_CORE_API", "operations": ["roctxRangePushA"]},
    ],
    "marker_api": [{"key": 5, "value": "step 2"}],
}


def dispatch(kernel: int, start: int, end: int, **more: Any) -> dict[str, Any]:
    info = {
        "kernel_id": kernel, "agent_id": {"handle": 77}, "queue_id": {"handle": 1},
        "grid_size": {"x": 1024, "y": 1, "z": 1}, "workgroup_size": {"x": 256, "y": 1, "z": 1},
    }  # fmt: skip
    return {"start_timestamp": start, "end_timestamp": end, "dispatch_info": info, **more}


def process(**records: Any) -> dict[str, Any]:
    return {
        "metadata": {"pid": 4},
        "agents": [{"id": {"handle": 77}, "node_id": 2}],
        "strings": STRINGS,
        "kernel_symbols": [{"kernel_id": 9, "formatted_kernel_name": "Cijk_Ailk_Bljk_SB_MT64x64x16"}],
        "buffer_records": records,
    }


def write(folder: Path, *processes: object) -> Path:
    path = folder / "4_results.json"
    path.write_text(json.dumps({"rocprofiler-sdk-tool": list(processes)}))
    return path


def test_kernels_copies_calls_and_steps(tmp_path: Path) -> None:
    path = write(
        tmp_path,
        process(
            kernel_dispatch=[dispatch(9, 1000, 5000), dispatch(9, 9000, 9500)],
            memory_copy=[
                {"start_timestamp": 6000, "end_timestamp": 7000, "kind": 2, "operation": 1, "dst_agent_id": {"handle": 77}}
            ],
            hip_api=[{"start_timestamp": 500, "end_timestamp": 900, "kind": 1, "operation": 1}],
            marker_api=[
                {"start_timestamp": 800, "end_timestamp": 8000, "kind": 3, "operation": 0, "correlation_id": {"internal": 5}}
            ],
        ),
    )  # fmt: skip
    [rank] = read_profile(path).ranks
    assert (rank.rank, rank.layout) == (2, "rocprof")
    kernels = rank.kernels
    assert kernels is not None
    assert [kernels.text("kind", row) for row in range(3)] == ["Gemm", "Gemm", ""]
    assert kernels.text("name", 2) == "Memcpy HtoD"
    assert kernels.numbers["blocks"][0] == 4
    assert [kernels.text("step", row) for row in range(3)] == ["2", "", "2"]
    assert [(call.name, call.total_us) for call in rank.calls] == [("hipLaunchKernel", 0.4)]


def test_what_cannot_be_is_left_out_and_told(tmp_path: Path) -> None:
    odd = [
        dispatch(9, 1000, 5000), dispatch(9, 5000, 1000), {"dispatch_info": 3}, 7,
        {"start_timestamp": 1, "end_timestamp": 2, "dispatch_info": {"kernel_id": "x", "agent_id": 4, "grid_size": []}},
    ]  # fmt: skip
    path = write(
        tmp_path, process(kernel_dispatch=odd, hip_api={}, memory_copy=[{"operation": 99, "kind": -1}]), []
    )
    text = path.read_text()
    path.write_text(text[: text.rindex("]")])
    profile = read_profile(path)
    kernels = profile.ranks[0].kernels
    assert kernels is not None
    assert len(kernels) == 2
    assert any("no time that can be" in note for note in profile.ranks[0].notes)


def test_tables_beside_it_are_enough(tmp_path: Path) -> None:
    write(tmp_path, process(kernel_dispatch=[dispatch(9, 1000, 5000)]))
    table = "Kind,Agent_Id,Queue_Id,Kernel_Name,Correlation_Id,Start_Timestamp,End_Timestamp\n"
    (tmp_path / "4_kernel_trace.csv").write_text(table + "KERNEL_DISPATCH,2,1,gemm,1,1000,5000\n")
    profile = read_profile(tmp_path)
    kernels = profile.ranks[0].kernels
    assert kernels is not None
    assert len(kernels) == 1
    assert any("left out" in note for note in profile.ranks[0].notes)
