import json
from pathlib import Path

import pytest

from kg.nouns.entities import Kind, Status
from kg.nouns.values import Settings
from tests.samples.readings import Reader


def evaluation(**more: object) -> dict[str, object]:
    return {
        "task_parameter": {"mesh": "tet", "omega": "32"},
        "tuning_parameter": {"order": "2", "eta": 0.25},
        "machine_configuration": {"machine_name": "cori", "intel": {"nodes": 1, "cores": 32}},
        "software_configuration": {"gcc": {"version_split": [8, 3, 0]}, "mpi": "4.1"},
        "evaluation_result": {"r": 86.5},
        **more,
    }


def write(folder: Path, *evaluations: object, name: str = "MFEM.json") -> Path:
    path = folder / name
    path.write_text(json.dumps({"tuning_problem_name": "MFEM", "func_eval": list(evaluations)}, indent=1))
    return path


def test_an_evaluation_is_a_measured_case(tmp_path: Path, read_file: Reader) -> None:
    (case,), report = read_file(write(tmp_path, evaluation()))
    assert (report.format, report.bad) == ("gptune", 0)
    work, hardware = case.problem.workload, case.problem.hardware
    assert (work.operator, work.shape) == ("MFEM", Settings({"mesh": "tet", "omega": 32}))
    assert hardware.name == "cori"
    assert hardware.traits["machine.intel.cores"] == 32
    assert case.configuration == Settings({"order": 2, "eta": 0.25})
    assert (case.measurement.metric, case.measurement.value, case.measurement.unit) == ("r", 86.5, "s")
    assert (case.kind, case.software) == (Kind.MEASURED, Settings({"gcc": "8.3.0", "mpi": "4.1"}))
    assert "objective 'r': seconds, less is better; no unit is stated" in report.guesses


def test_each_objective_is_a_case_of_its_own_problem(tmp_path: Path, read_file: Reader) -> None:
    results = {"time": "16.5", "E_diff": 31540837596931850000000000}
    (time, error), _ = read_file(write(tmp_path, evaluation(evaluation_result=results)))
    assert (time.measurement.metric, time.measurement.value, time.measurement.unit) == ("run_time", 16.5, "s")
    assert (error.measurement.metric, error.measurement.unit) == ("E_diff", "1")
    assert error.measurement.value == 3.154083759693185e25
    assert time.problem.id != error.problem.id


@pytest.mark.parametrize("result", [None, "inf", "nan"])
def test_no_result_is_a_failure(tmp_path: Path, read_file: Reader, result: object) -> None:
    (case,), _ = read_file(write(tmp_path, evaluation(evaluation_result={"r": result})))
    assert (case.measurement.status, case.measurement.value) == (Status.FAILED, None)


def test_repeats_give_the_spread(tmp_path: Path, read_file: Reader) -> None:
    detail = {"r": {"evaluations": [86.0, 87.0], "objective_scheme": "average"}}
    (case,), _ = read_file(write(tmp_path, evaluation(evaluation_detail=detail)))
    assert case.measurement.repeats == 2
    assert case.measurement.stdev == pytest.approx(0.5**0.5)


def test_a_file_left_by_a_crash_is_read_as_far_as_it_goes(tmp_path: Path, read_file: Reader) -> None:
    path = write(tmp_path, evaluation(), evaluation(), name="MFEM.json.temp")
    path.write_text(path.read_text()[:-200])
    cases, report = read_file(path)
    assert (len(cases), report.bad) == (1, 0)
    assert any("unfinished" in guess for guess in report.guesses)


def test_bad_evaluations_are_told_by_number(tmp_path: Path, read_file: Reader) -> None:
    bad = [
        5,
        evaluation(evaluation_result={}),
        evaluation(evaluation_result={"r": True}),
        evaluation(tuning_parameter=[1]),
    ]
    cases, report = read_file(write(tmp_path, *bad, evaluation()))
    assert len(cases) == 1
    assert [fault.place for fault in report.faults] == [
        "func_eval[0]",
        "func_eval[1]",
        "func_eval[2].r",
        "func_eval[3].r",
    ]


def test_a_machine_that_is_not_named_is_told(tmp_path: Path, read_file: Reader) -> None:
    (case,), report = read_file(write(tmp_path, evaluation(machine_configuration={})))
    assert case.problem.hardware.name == "unknown"
    assert any("does not name" in guess for guess in report.guesses)
