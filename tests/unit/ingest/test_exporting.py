"""Cases written for other programs are the same cases when they are read again."""

from pathlib import Path

import pytest

from ingest.door.records import NameResolver
from ingest.exporting import write_file, write_folder
from ingest.reading import read
from kg.errors import InputError
from kg.nouns.entities import Case
from kg.nouns.values import Settings
from tests.samples.readings import Reader
from tests.samples.rich_cases import rich_cases, untimed


@pytest.mark.parametrize("form", ["cases", "csv"])
def test_a_table_holds_everything(tmp_path: Path, names: NameResolver, read_file: Reader, form: str) -> None:
    cases = rich_cases(names)
    path = tmp_path / {"cases": "all.jsonl", "csv": "all.csv"}[form]
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


def test_nothing_that_fits_is_an_error(names: NameResolver) -> None:
    cases = [untimed(names, 1, task={"kind": "training", "op": "pretrain"})]
    with pytest.raises(InputError, match="nothing to write as vllm"):
        write_folder("vllm", cases)


def keyed(cases: list[Case]) -> set[tuple[str, Settings]]:
    return {(case.problem.id, case.configuration) for case in cases}


# -- answers -------------------------------------------------------------------------------------
