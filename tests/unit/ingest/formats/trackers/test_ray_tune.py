import json
from pathlib import Path

from ingest.door.records import NameResolver
from kg.nouns.entities import Status
from tests.samples.readings import ingest_all

REPORT = {"trial_id": "a", "training_iteration": 1, "time_total_s": 1.0, "done": False}


def trial(folder: Path, *reports: dict[str, object], error: str = "", params: str = '{"a": 1}') -> None:
    folder.mkdir(parents=True)
    (folder / "params.json").write_text(params)
    if reports:
        (folder / "result.json").write_text("\n".join(json.dumps(REPORT | report) for report in reports))
    if error:
        (folder / "error.txt").write_text(error)


def test_the_sample_gives_its_seven_trials(names: NameResolver, shared: Path) -> None:
    cases, reports = ingest_all(names, shared / "formats/ray_tune", hardware="A100")
    assert len(cases) == 7
    assert sum(report.bad for report in reports) == 0
    assert len([report for report in reports if "read together with" in report.skipped]) == 7
    ok = sorted(case.measurement.value for case in cases if case.measurement.value is not None)
    assert len(ok) == 6
    assert ok[0] == 0.001800403996
    failed = [case for case in cases if case.measurement.status is Status.FAILED]
    assert [case.measurement.reason for case in failed] == ["RuntimeError: failed:RuntimeFailedConfig"]
    assert len({case.problem.id for case in cases}) == 1


def test_the_last_report_counts(names: NameResolver, tmp_path: Path) -> None:
    trial(tmp_path / "gemm_a100/t0", {"latency_ms": 3.0}, {"latency_ms": 2.0, "loss": 1.0})
    cases, reports = ingest_all(names, tmp_path)
    assert [case.measurement.value for case in cases] == [0.002]
    assert dict(cases[0].configuration) == {"a": 1}
    assert cases[0].problem.hardware.name == "nvidia-a100"
    assert any("the last one is taken" in guess for report in reports for guess in report.guesses)


def test_an_error_outweighs_reports_before_it_unless_the_trial_ended_well(
    names: NameResolver, tmp_path: Path
) -> None:
    trial(tmp_path / "gemm_a100/t0", {"latency_ms": 3.0}, error="OutOfMemory")
    trial(tmp_path / "gemm_a100/t1", {"latency_ms": 2.0, "done": True}, error="first try")
    cases, _ = ingest_all(names, tmp_path)
    assert [(case.measurement.status, case.measurement.reason) for case in cases] == [
        (Status.OUT_OF_MEMORY, "OutOfMemory"),
        (Status.OK, ""),
    ]


def test_what_is_wrong_is_told(names: NameResolver, tmp_path: Path) -> None:
    trial(tmp_path / "gemm_a100/t0", {"loss": 3.0})
    trial(tmp_path / "gemm_a100/t1", error="boom", params="[")
    trial(tmp_path / "nameless/t2", {"latency_ms": 3.0})
    _, reports = ingest_all(names, tmp_path)
    told = [str(fault) for report in reports for fault in report.faults]
    assert told == [
        "no metric with a unit in its name among: loss",
        "no other trial tells which metric this one failed to give",
        "experiment 'nameless': names no hardware; tell it with --hardware",
    ]
