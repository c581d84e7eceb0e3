"""Tables of kernels."""

from pathlib import Path
from typing import Any

from ingest.profiles.folders import read_profile
from tests.samples.profile_files import SPLIT


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
