from collections import Counter
from pathlib import Path

from ingest.door.records import NameResolver
from kg.nouns.entities import Status, WorkloadKind
from tests.samples.readings import ingest


def test_the_mlflow_sample_gives_two_metrics_of_sixty_runs(names: NameResolver, shared: Path) -> None:
    cases, report = ingest(names, shared / "formats/mlflow_wandb_csv/mlflow_search_runs.csv")
    assert (report.good, report.bad, report.format) == (120, 0, "mlflow")
    assert Counter((case.measurement.metric, case.measurement.status) for case in cases) == {
        ("throughput", Status.OK): 57,
        ("throughput", Status.FAILED): 3,
        ("mfu", Status.OK): 57,
        ("mfu", Status.FAILED): 3,
    }
    first = cases[0]
    assert (first.measurement.value, first.measurement.unit) == (1035.0, "tokens/s/device")
    assert cases[1].measurement.value == 0.4242
    assert first.problem.workload.kind is WorkloadKind.TRAINING
    assert first.problem.workload.model == "mpt-70b"
    assert first.problem.hardware.count == 256
    assert dict(first.problem.workload.shape) == {"seq_len": 2048}
    assert dict(first.configuration) == {
        "micro_batch": 8,
        "grad_accum": 1,
        "precision": "amp_bf16",
        "sharding": "FULL_SHARD",
        "act_ckpt": True,
    }
    assert any("taken as percent" in guess for guess in report.guesses)


def test_the_wandb_sample_takes_its_hardware_from_the_tags(names: NameResolver, shared: Path) -> None:
    cases, report = ingest(names, shared / "formats/mlflow_wandb_csv/wandb_export.csv", hardware="A100")
    assert (report.good, report.bad, report.format) == (120, 0, "wandb")
    statuses = Counter(case.measurement.status for case in cases)
    assert statuses == {Status.OK: 108, Status.FAILED: 12}
    assert cases[1].measurement.value == 0.4242
    assert dict(cases[0].problem.workload.shape) == {"seq_len": 2048, "global_batch": 2048}
    assert any("taken as a fraction" in guess for guess in report.guesses)


def test_runs_without_hardware_or_metric_are_told(names: NameResolver, tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text(
        "run_id,experiment_id,status,metrics.latency_ms,params.x\n1,1,FINISHED,3,4\n2,1,RUNNING,3,4\n"
    )
    _, report = ingest(names, tmp_path / "a.csv")
    assert [str(fault) for fault in report.faults] == [
        "line 2: runs: names no hardware; tell it with --hardware"
    ]
    assert "2: has not ended, and is passed over" in report.guesses
    cases, report = ingest(names, tmp_path / "a.csv", hardware="A100")
    assert [case.measurement.value for case in cases] == [0.003]
    (tmp_path / "b.csv").write_text("run_id,experiment_id,status,metrics.loss\n1,1,FINISHED,3\n")
    _, report = ingest(names, tmp_path / "b.csv")
    assert str(report.faults[0]) == "line 1: no column is a metric with a unit, among: metrics.loss"


def test_a_cell_that_is_no_number_spoils_its_row_alone(names: NameResolver, tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text(
        "run_id,experiment_id,status,metrics.latency_ms,tags.gpu\n1,1,FINISHED,fast,A100\n2,1,FINISHED,3,A100\n"
    )
    cases, report = ingest(names, tmp_path / "a.csv")
    assert [case.measurement.value for case in cases] == [0.003]
    assert str(report.faults[0]) == "line 2: metrics.latency_ms: 'fast' is no number"
