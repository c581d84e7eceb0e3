"""Cases written for other programs are the same cases when they are read again."""

import json
from importlib.util import find_spec
from pathlib import Path

import pytest

from ingest.door.records import NameResolver
from ingest.exporting import write_file, write_folder, write_study
from ingest.reading import read
from kg.errors import InputError
from kg.nouns.entities import Case
from kg.nouns.values import Settings
from tests.samples.readings import Reader
from tests.samples.rich_cases import rich_cases, untimed


@pytest.mark.parametrize("form", ["cases", "csv", "parquet"])
def test_a_table_holds_everything(tmp_path: Path, names: NameResolver, read_file: Reader, form: str) -> None:
    cases = rich_cases(names)
    path = tmp_path / {"cases": "all.jsonl", "csv": "all.csv", "parquet": "all.parquet"}[form]
    with path.open("wb") as stream:
        done = write_file(form, cases, stream)
    again, report = read_file(path)
    assert report.faults == ()
    assert (done.rows, again) == (len(cases), cases)
    assert [case.problem.id for case in again] == [case.problem.id for case in cases]


@pytest.mark.parametrize("form", ["vllm", "sglang"])
def test_winners_survive_their_tables(tmp_path: Path, names: NameResolver, form: str) -> None:
    software = {"software": {"triton": "3.4.0"}}
    other = {"hardware": {"name": "NVIDIA A100-PCIE-40GB"}}
    cases = [untimed(names, size, **software, **more) for size in (1, 64) for more in ({}, other)]
    failed = untimed(names, 1, outcome={"metric": "latency", "unit": "us", "value": None, "status": "failed"})
    gemm = rich_cases(names)[0]
    done, tables = write_folder(form, [*cases, failed, gemm])
    assert (done.rows, done.files) == (4, 2)
    assert done.left_out is not None
    assert sorted(done.left_out.values()) == [1, 1]
    for table in tables:
        file = tmp_path / table.name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(table.text)
    again = [case for case in read([tmp_path], names) if isinstance(case, Case)]
    assert keyed(again) == keyed(cases)
    assert {case.software["triton"] for case in again} == {"3.4.0"}


def test_kernel_tuner_results_survive_t4(tmp_path: Path, names: NameResolver, read_file: Reader) -> None:
    (tmp_path / "in").mkdir()
    path = tmp_path / "in" / "convolution_A100_T4.json"
    results = [
        {
            "configuration": {"block": block, "width": 15},
            "invalidity": invalidity,
            "measurements": [{"name": "time", "value": time, "unit": ""}] if time else [],
        }
        for block, invalidity, time in (
            (1, "correct", 3.8753279224038124),
            (2, "compile", 0),
            (4, "constraints", 0),
            (8, "correct", 0.1),
        )
    ]
    path.write_text(json.dumps({"metadata": {"timeunit": "miliseconds"}, "results": results}))
    cases, _ = read_file(path)
    assert len(cases) == 4
    winner = untimed(
        names, 1, outcome={"metric": "kernel_time", "unit": "us", "value": None, "status": "not_reported"}
    )
    done, [table] = write_folder("kernel-tuner", [*cases, winner])
    assert (done.rows, done.files, table.name) == (4, 1, path.name)
    assert done.left_out == {"T4 cannot say that something was not measured": 1}
    out = tmp_path / table.name
    out.write_text(table.text)
    again, report = read_file(out)
    assert report.faults == ()
    assert keyed(again) == keyed(cases)
    assert [case.measurement.value for case in again] == [case.measurement.value for case in cases]
    assert [case.measurement.status for case in again] == [case.measurement.status for case in cases]


def test_an_optuna_study_holds_everything_but_lists(
    tmp_path: Path, names: NameResolver, read_file: Reader
) -> None:
    optuna = pytest.importorskip("optuna")
    cases = sorted(rich_cases(names), key=lambda case: case.problem.id)
    path = tmp_path / "study.log"
    done = write_study(cases, path)
    kept = [case for case in cases if "layout" not in case.configuration]
    assert done.rows == len(kept)
    assert done.left_out == {"Optuna has no parameters that are lists, such as layout": 1}
    again, report = read_file(path)
    assert report.faults == ()
    assert sorted(map(repr, again)) == sorted(map(repr, kept))
    backend = optuna.storages.journal.JournalFileBackend(str(path))
    storage = optuna.storages.JournalStorage(backend)
    studies = optuna.get_all_study_summaries(storage)
    assert len(studies) == len({case.problem.id for case in kept})


@pytest.mark.skipif(find_spec("optuna") is not None, reason="Optuna is installed")
def test_without_optuna_it_says_what_to_install(tmp_path: Path, names: NameResolver) -> None:
    with pytest.raises(ImportError) as raised:
        write_study([untimed(names, 1)], tmp_path / "study.log")
    assert "tunegraph[optuna]" in getattr(raised.value, "hint", "")


@pytest.mark.parametrize("form", ["vllm", "kernel-tuner"])
def test_nothing_that_fits_is_an_error(names: NameResolver, form: str) -> None:
    cases = [untimed(names, 1, task={"kind": "training", "op": "pretrain"})]
    with pytest.raises(InputError, match=f"nothing to write as {form}"):
        write_folder(form, cases)


def keyed(cases: list[Case]) -> set[tuple[str, Settings]]:
    return {(case.problem.id, case.configuration) for case in cases}


# -- answers -------------------------------------------------------------------------------------
