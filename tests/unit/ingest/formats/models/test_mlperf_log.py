"""MLPerf logs and LLMPerf summaries."""

import json
from pathlib import Path

import pytest

from ingest.door.records import NameResolver
from kg.nouns.entities import Status
from tests.samples.readings import ingest_all

SYSTEM = {
    "accelerator_model_name": "NVIDIA A100-PCIE-40GB",
    "number_of_nodes": "2",
    "accelerators_per_node": "8",
    "accelerator_interconnect": "NVLink",
    "framework": "PyTorch 2.1",
}


def log(path: Path, status: str = "success", stop: bool = True) -> None:
    events: list[dict[str, object]] = [
        {"key": "submission_benchmark", "value": "bert", "time_ms": 1},
        {"key": "global_batch_size", "value": 256, "time_ms": 2},
        {"key": "max_sequence_length", "value": 512, "time_ms": 2},
        {"key": "seed", "value": 7, "time_ms": 2},
        {"key": "run_start", "value": None, "time_ms": 1000},
        {"key": "eval_accuracy", "value": 0.7, "time_ms": 1500},
    ]
    if stop:
        events.append({"key": "run_stop", "time_ms": 61_000, "metadata": {"status": status}})
    noise = "0: some noise\n12: :::MLLOG {broken\n"
    path.write_text(noise + "".join(f"3: :::MLLOG {json.dumps(event)}\n" for event in events))


def test_a_run_that_ended_well_gives_its_time(names: NameResolver, tmp_path: Path) -> None:
    log(tmp_path / "result_0.txt")
    (tmp_path / "system.json").write_text(json.dumps(SYSTEM))
    cases, reports = ingest_all(names, tmp_path)
    case = cases[0]
    assert (case.measurement.metric, case.measurement.value) == ("run_time", 60.0)
    assert dict(case.configuration) == {"global_batch_size": 256}
    assert dict(case.problem.workload.shape) == {"max_sequence_length": 512}
    assert (case.problem.hardware.name, case.problem.hardware.count) == ("nvidia-a100", 16)
    assert dict(case.software) == {"framework": "PyTorch 2.1"}
    assert next(str(fault) for report in reports for fault in report.faults).startswith("line 2: no JSON")
    assert [report.skipped for report in reports if report.skipped] == [
        "the system of MLPerf logs, read together with them"
    ]


def test_the_system_is_found_in_the_layout_of_a_submission(names: NameResolver, tmp_path: Path) -> None:
    (tmp_path / "results/box/bert").mkdir(parents=True)
    (tmp_path / "systems").mkdir()
    log(tmp_path / "results/box/bert/result_0.txt")
    (tmp_path / "systems/box.json").write_text(json.dumps(SYSTEM))
    (tmp_path / "systems/other.json").write_text(json.dumps(SYSTEM))
    cases, _ = ingest_all(names, tmp_path)
    assert [case.problem.hardware.name for case in cases] == ["nvidia-a100"]


def test_a_run_that_was_aborted_is_a_failure(names: NameResolver, tmp_path: Path) -> None:
    log(tmp_path / "result_0.txt", status="aborted")
    cases, _ = ingest_all(names, tmp_path, hardware="A100")
    assert [(case.measurement.status, case.measurement.reason) for case in cases] == [
        (Status.FAILED, "run_stop says aborted")
    ]


@pytest.mark.parametrize(
    ("stop", "systems", "reason"),
    [
        (False, 1, "without run_stop among its 6 events there is no time to train"),
        (True, 0, "no system description (JSON) beside it; tell the hardware with --hardware"),
        (True, 2, "2 system descriptions beside it: which one it ran on is not said"),
    ],
)
def test_what_is_missing_is_told(
    names: NameResolver, tmp_path: Path, stop: bool, systems: int, reason: str
) -> None:
    log(tmp_path / "result_0.txt", stop=stop)
    for number in range(systems):
        (tmp_path / f"{number}.json").write_text(json.dumps(SYSTEM))
    cases, reports = ingest_all(names, tmp_path)
    assert cases == []
    told = [str(fault) for report in reports for fault in report.faults if "no JSON" not in str(fault)]
    assert len(told) == 1
    assert reason in told[0]
