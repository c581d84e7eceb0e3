"""CSV results of the Kernel Tuning Toolkit."""

from pathlib import Path

from kg.nouns.values import Settings
from tests.samples.readings import Reader

CSV = """\
Kernel name,Computation duration (us),Global size,Local size,block,unroll,dram__reads.sum,Registers count
add,77.408,1048576,32,32,,262299,12
add,nan,1048576,64,64,2,262299,12
add,1,2
add,38.336,1048576,128,128,2,262299,12
"""


def test_csv_has_parameters_between_sizes_and_counters(tmp_path: Path, read_file: Reader) -> None:
    path = tmp_path / "rtx2080ti-add_output.csv"
    path.write_text(CSV)
    cases, report = read_file(path)
    assert report.format == "ktt-csv"
    assert [case.configuration for case in cases] == [
        Settings({"block": 32}),
        Settings({"block": 128, "unroll": 2}),
    ]
    assert [case.measurement.value for case in cases] == [77.408e-6, 38.336e-6]
    assert {case.problem.hardware.name for case in cases} == {"rtx-2080-ti"}
    assert [(fault.place, fault.reason) for fault in report.faults] == [
        ("line 3", "outcome.value: NaN"),
        ("line 4", "3 cells, where the header has 8"),
    ]


def test_csv_without_a_device_says_so(tmp_path: Path, read_file: Reader) -> None:
    path = tmp_path / "output.csv"
    path.write_text(CSV)
    cases, report = read_file(path)
    assert {case.problem.hardware.name for case in cases} == {"unknown"}
    assert any("does not name" in guess for guess in report.guesses)
