"""Tables of rocprof and rocprofv3, with the columns of their documentation."""

from pathlib import Path

from ingest.profiles.folders import read_profile

KERNELS = (
    '"Kind","Agent_Id","Queue_Id","Stream_Id","Thread_Id","Dispatch_Id","Kernel_Id","Kernel_Name","Correlation_Id",'
    '"Start_Timestamp","End_Timestamp","Private_Segment_Size","Group_Segment_Size","Workgroup_Size_X",'
    '"Workgroup_Size_Y","Workgroup_Size_Z","Grid_Size_X","Grid_Size_Y","Grid_Size_Z"\n'
)
COPIES = '"Kind","Direction","Stream_Id","Source_Agent_Id","Destination_Agent_Id","Correlation_Id","Start_Timestamp","End_Timestamp"\n'
CALLS = '"Domain","Function","Process_Id","Thread_Id","Correlation_Id","Start_Timestamp","End_Timestamp"\n'


def kernel(start: int, end: int, name: str = "mul(float*, int)", agent: str = "Agent 2") -> str:
    return f'"KERNEL_DISPATCH","{agent}",1,3,1,1,11,"{name}",1,{start},{end},0,0,64,4,1,1024,1000,1\n'


def write(folder: Path, pid: int = 9, agent: str = "Agent 2") -> None:
    folder.mkdir(exist_ok=True)
    rows = (
        kernel(1000, 5000, agent=agent)
        + kernel(6000, 9000, "ncclDevKernel_Generic(int)", agent)
        + kernel(9000, 8000)
    )
    (folder / f"{pid}_kernel_trace.csv").write_text(KERNELS + rows)
    copy = f'"MEMORY_COPY","MEMORY_COPY_HOST_TO_DEVICE",1,"Agent 0","{agent}",9,10000,12000\n'
    (folder / f"{pid}_memory_copy_trace.csv").write_text(COPIES + copy)
    calls = [("HIP_RUNTIME_API", "hipMemcpy", 0, 3000), ("HIP_RUNTIME_API", "hipMemcpy", 4000, 5000),
             ("HSA_CORE_API", "hsa_signal_wait", 0, 3000), ("MARKER_CORE_API", "step 4", 500, 5500)]  # fmt: skip
    lines = "".join(f'"{d}","{f}",{pid},1,1,{a},{b}\n' for d, f, a, b in calls)
    (folder / f"{pid}_hip_api_trace.csv").write_text(CALLS + lines)


def test_the_tables_of_a_process_are_one_rank(tmp_path: Path) -> None:
    write(tmp_path / "host")
    [rank] = read_profile(tmp_path).ranks
    assert (rank.layout, rank.folder) == ("rocprof", "host/9")
    assert rank.kernels is not None
    assert rank.kernels.duration_us.tolist() == [4.0, 3.0, 2.0]
    assert rank.kernels.numbers["blocks"][0] == 16 * 250  # the grid counts work items
    assert rank.kernels.is_communication.tolist() == [False, True, False]
    assert rank.kernels.is_copy.tolist() == [False, False, True]
    assert rank.kernels.text("name", 2) == "Memcpy HtoD"
    assert [(step.step, step.step_us) for step in rank.steps] == [("4", 4.0)]
    assert [(c.level, c.name, c.total_us, c.count, c.max_us) for c in rank.calls] == [
        ("runtime", "hipMemcpy", 4.0, 2, 3.0)
    ]
    assert any("1 rows have no time that can be" in note for note in rank.notes)


def test_each_process_is_a_rank(tmp_path: Path) -> None:
    write(tmp_path, 9, "Agent 2")
    write(tmp_path, 10, "Agent 3")
    assert [(rank.rank, rank.folder) for rank in read_profile(tmp_path).ranks] == [(2, "9"), (3, "10")]


def test_the_older_table_of_rocprof(tmp_path: Path) -> None:
    (tmp_path / "results.csv").write_text(
        '"Index","KernelName","gpu-id","queue-id","grd","wgr","BeginNs","EndNs","DurationNs"\n'
        '0,"gemm(float*) [clone .kd]",1,0,1000,256,100,2100,2000\n'
    )
    [rank] = read_profile(tmp_path).ranks
    assert rank.kernels is not None
    assert (rank.kernels.duration_us[0], rank.kernels.numbers["blocks"][0]) == (2.0, 4.0)
