from collections import Counter
from pathlib import Path

import pytest

from ingest.door.records import NameResolver
from kg.nouns.entities import Better, Status
from tests.samples.optuna_database import CHOICES, database
from tests.samples.readings import ingest


def test_a_study_with_nothing_but_a_name_is_told_its_hardware_or_refused(
    names: NameResolver, shared: Path
) -> None:
    _, report = ingest(names, shared / "formats/optuna/studies.sqlite3")
    assert (report.good, report.bad) == (80 + 120, 1)
    assert "study 'conv_mi250x': names no hardware" in str(report.faults[0])
    assert "hardware 'a100' is taken from the name 'gemm_a100_time_energy'" in " ".join(report.guesses)


def test_the_sample_journal_and_table(names: NameResolver, shared: Path) -> None:
    cases, report = ingest(names, shared / "formats/optuna/journal.log", hardware="RTX 2080 Ti")
    assert (report.good, report.bad) == (25, 0)
    assert cases[0].measurement.value == 42.129755
    assert (cases[0].configuration["MWG"], cases[0].configuration["MDIMA"]) == (64, 32)
    cases, report = ingest(names, shared / "formats/optuna/trials_dataframe.csv", hardware="A100")
    assert (report.good, report.bad) == (80, 0)
    assert Counter(case.measurement.status for case in cases) == {Status.OK: 60, Status.FORBIDDEN: 20}
    assert any("direction is not in the table" in guess for guess in report.guesses)


def test_states_values_and_choices_are_what_they_say(names: NameResolver, tmp_path: Path) -> None:
    database(tmp_path / "s.db").close()
    cases, report = ingest(names, tmp_path / "s.db", hardware="RTX 2080 Ti")
    assert [case.measurement.status for case in cases] == [
        Status.OK,
        Status.FORBIDDEN,
        Status.NOT_MEASURED,
        Status.FAILED,
        Status.FAILED,
    ]
    assert dict(cases[0].configuration) == {"tile": "wide", "warps": 2}
    assert (cases[0].measurement.value, cases[0].problem.objective.better) == (250e9, Better.HIGHER)
    assert cases[3].measurement.reason == "no memory"
    assert cases[0].problem.workload.shape["problem_size"] == (64, 64)
    assert str(report.faults[0]) == (
        "study 'gemm on a100', trial 6: a parameter's distribution is not Optuna's: " + CHOICES[:60]
    )
    told = " ".join(report.guesses)
    assert "1 trials that have not ended" in told
    assert "names hardware 'A100', --hardware says 'RTX 2080 Ti'; the file is believed" in told


def test_each_objective_has_a_direction_of_its_own(names: NameResolver, tmp_path: Path) -> None:
    optuna = pytest.importorskip("optuna")
    backend = optuna.storages.journal.JournalFileBackend(str(tmp_path / "two.log"))
    study = optuna.create_study(
        storage=optuna.storages.JournalStorage(backend), directions=["minimize", "maximize"], study_name="two"
    )
    study.set_metric_names(["latency_ms", "throughput"])
    study.set_user_attr("op", "gemm")
    study.optimize(lambda trial: (trial.suggest_int("tile", 1, 4), 2.0), n_trials=2)
    cases, _ = ingest(names, tmp_path / "two.log", "NVIDIA A100-SXM4-80GB")
    better = {case.measurement.metric: case.problem.objective.better for case in cases}
    assert better == {"latency": Better.LOWER, "throughput_without_unit": Better.HIGHER}
