import json
from pathlib import Path

import pytest

from kg.nouns.entities import Kind, Status
from kg.nouns.values import Settings
from tests.samples.readings import Reader

METADATA = {"Device": "NVIDIA GeForce RTX 2080 Ti", "TimeUnit": "Microseconds", "KttVersion": "2.1.0"}


def result(status: str = "Ok", duration: float = 53.792, **more: object) -> dict[str, object]:
    parameter = {"Name": "block", "Value": 64, "ValueType": "UnsignedInt"}
    return {
        "KernelName": "add",
        "Status": status,
        "TotalDuration": duration,
        "Configuration": [parameter],
        "ComputationResults": [],
        **more,
    }


def document(*results: object, **metadata: object) -> str:
    return json.dumps({"Metadata": METADATA | metadata, "Results": list(results)})


def test_a_result_is_a_measured_case_in_seconds(tmp_path: Path, read_file: Reader) -> None:
    path = tmp_path / "out.json"
    path.write_text(document(result()))
    (case,), report = read_file(path)
    assert report.format == "ktt"
    assert (case.problem.workload.operator, case.problem.hardware.name) == ("add", "rtx-2080-ti")
    assert case.configuration == Settings({"block": 64})
    assert (case.measurement.metric, case.measurement.unit) == ("kernel_time", "s")
    assert case.measurement.value == 53.792e-6
    assert (case.kind, case.software) == (Kind.MEASURED, Settings({"ktt": "2.1.0"}))


def test_the_unit_is_the_one_of_the_metadata(tmp_path: Path, read_file: Reader) -> None:
    path = tmp_path / "out.json"
    path.write_text(document(result(), TimeUnit="Nanoseconds"))
    (case,), _ = read_file(path)
    assert case.measurement.value == 53.792e-9


@pytest.mark.parametrize(
    ("state", "status"),
    [
        ("CompilationFailed", Status.FAILED),
        ("ComputationFailed", Status.FAILED),
        ("ValidationFailed", Status.FAILED),
        ("DeviceLimitsExceeded", Status.FORBIDDEN),
    ],
)
def test_failures_keep_their_kind_and_no_time(
    tmp_path: Path, read_file: Reader, state: str, status: Status
) -> None:
    path = tmp_path / "out.json"
    path.write_text(document(result(state, 1.8446744073709552e16)))
    (case,), _ = read_file(path)
    assert (case.measurement.status, case.measurement.value, case.measurement.reason) == (status, None, state)


def test_bad_results_are_told_by_their_number(tmp_path: Path, read_file: Reader) -> None:
    path = tmp_path / "out.json"
    bad = [
        result("Odd"),
        5,
        result(Configuration=[{"Value": 1}]),
        result(duration=-1),
        result(Configuration=1),
    ]
    path.write_text(document(*bad, result()))
    cases, report = read_file(path)
    assert len(cases) == 1
    assert [fault.place for fault in report.faults] == [f"Results[{number}]" for number in range(5)]


def test_what_is_whole_in_a_broken_file_is_read(tmp_path: Path, read_file: Reader) -> None:
    path = tmp_path / "out.json"
    path.write_text(document(result(), result(duration=60.0))[:-40])
    cases, report = read_file(path)
    assert (len(cases), report.bad) == (1, 0)
    assert any("unfinished" in guess for guess in report.guesses)


def test_samples(shared: Path, read_file: Reader) -> None:
    folder = shared / "formats" / "ktt"
    cases, report = read_file(folder / "SimulationInput_vectorAdd_2080Ti.json")
    assert (len(cases), report.bad) == (4, 0)
    assert [case.configuration["multiply_block_size"] for case in cases] == [32, 64, 128, 256]
    assert [case.measurement.value for case in cases] == [96.256e-6, 53.792e-6, 61.728e-6, 74.688e-6]
    cases, report = read_file(folder / "2080-vectorAdd_output.csv")
    assert (len(cases), report.bad) == (4, 0)
    assert [case.configuration for case in cases] == [
        Settings({"multiply_block_size": size}) for size in (32, 64, 128, 256)
    ]
    assert cases[0].measurement.value == 77.408e-6
