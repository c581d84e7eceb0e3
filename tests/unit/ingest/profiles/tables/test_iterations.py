"""msprof's step_trace: iterations, and kernels that lie in them. Columns as msprof's own writer has them."""

from pathlib import Path

import pytest

from ingest.profiles.folders import read_profile

HEADER = (
    "Device_id,Iteration ID,FP Start(us),BP End(us),Iteration End(us),Iteration Time(us),FP to BP Time(us),"
    "Iteration Refresh(us),Data Aug Bound(us),Model ID,Reduce Start(us),Reduce Duration(us),Reduce Start(us),"
    "Reduce Duration(us)\n"
)
SUMMARY = "Device_id,Op Name,OP Type,Task Type,Task Start Time(us),Task Duration(us)\n"


def write(folder: Path, trace: str, summary: str) -> Path:
    home = folder / "PROF_1" / "mindstudio_profiler_output"
    home.mkdir(parents=True)
    (home / "step_trace_20250101.csv").write_text(HEADER + trace)
    (home / "op_summary_20250101.csv").write_text(SUMMARY + summary)
    return folder / "PROF_1"


def test_kernels_get_the_iteration_they_ran_in_and_waiting_for_data_is_told(tmp_path: Path) -> None:
    base = 1_700_000_000_000_000
    trace = (
        f"0,1,{base}.000,{base + 70},{base + 100}.000,100.0,70.0,30.0,N/A,7,{base + 40},20.0,{base + 80},10.0\n"
        f"0,2,{base + 140},{base + 180},{base + 200}.000,100.0,40.0,20.0,40.0,7,N/A,N/A,N/A,N/A\n"
    )
    summary = (
        f"0,a,MatMul,AI_CORE,{base + 10}.500,50\n0,b,Add,AI_VECTOR_CORE,{base + 150},30\n"
        f"0,late,Add,AI_VECTOR_CORE,{base + 250},5\n"
    )
    [rank] = read_profile(write(tmp_path, trace, summary)).ranks
    first, second = rank.details.iterations
    assert (first.data_us, second.data_us) == (None, 40.0)
    assert rank.kernels is not None
    assert [rank.kernels.text("step", row) for row in range(3)] == ["1", "2", ""]
    assert [(s.step, s.step_us, s.computing_us, s.free_us) for s in rank.steps] == [
        ("1", 100.0, 50.0, 50.0), ("2", 100.0, 30.0, 70.0),
    ]  # fmt: skip
    assert "step_trace" in rank.steps[0].place.file
    [call] = [call for call in rank.calls if call.level == "loader"]
    assert (call.total_us, call.count, call.max_us, call.place.rows) == (40.0, 1, 40.0, (3,))


def test_an_iteration_is_never_shorter_than_its_kernels(tmp_path: Path) -> None:
    trace = "0,1,1000,1050,1100,100,50,50,N/A,1,N/A,N/A,N/A,N/A\n"
    [rank] = read_profile(write(tmp_path, trace, "0,a,MatMul,AI_CORE,1010,300\n")).ranks
    [step] = rank.steps
    assert (step.step_us, step.computing_us, step.free_us) == (300.0, 300.0, 0.0)


def test_iterations_of_graphs_that_run_at_once_are_no_steps(tmp_path: Path) -> None:
    trace = "0,1,1000,1050,1100,100,50,50,N/A,1,,,,\n0,1,1040,1090,1140,100,50,50,N/A,2,,,,\n"
    [rank] = read_profile(write(tmp_path, trace, "0,a,MatMul,AI_CORE,1010,20\n")).ranks
    assert len(rank.details.iterations) == 2
    assert [step.step for step in rank.steps] == [""]


@pytest.mark.parametrize("length", ["", "N/A", "0", "-5", "nan", "1e300"])
def test_rows_without_a_length_are_told_and_left_out(tmp_path: Path, length: str) -> None:
    trace = f"0,1,1000,1050,1100,{length},50,50,N/A,1,,,,\n"
    [rank] = read_profile(write(tmp_path, trace, "0,a,MatMul,AI_CORE,1010,20\n")).ranks
    assert rank.details.iterations == ()
    assert any("no length of an iteration" in note for note in rank.notes)
