"""Cases written for other programs are the same cases when they are read again."""

from __future__ import annotations

import ast
import json
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

import pytest
import yaml

from ingest.answers import ANSWERS, RecommendedConfiguration, write_answer
from ingest.door.flat_cases import cell, value_of
from ingest.door.records import Records
from ingest.exporting import write_file, write_folder, write_study
from ingest.reading import read
from kg.errors import InputError
from kg.nouns.entities import Case
from kg.nouns.values import Settings

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from ingest.door.records import NameResolver
    from ingest.reading import FileReport

    Reader = Callable[[Path], tuple[list[Case], FileReport]]

RICH: tuple[dict[str, Any], ...] = (
    {},
    {"config": {}},
    {
        "config": {
            "layout": [1, "x", None],
            "unset": None,
            "flag": True,
            "share": 0.1,
            'größe, "q"': "ja\nnein",
        }
    },
    {"config": {"a.b": 1, "block": 2.5}, "software": {"cann": "8.0", "cuda": "12"}},
    {"task": {"kind": "training", "op": "pretrain", "model": "7", "shape": {"x": {"y": 1}}, "dtype": "bf16"}},
    {"hardware": {"name": "NVIDIA A100", "count": 8, "interconnect": "NVLink, 600 GB/s"}},
    {"outcome": {"metric": "latency", "unit": "us", "value": None, "status": "failed:out of memory"}},
    {"outcome": {"metric": "latency", "unit": "us", "value": None, "status": "winner_untimed"}},
    {"outcome": {"metric": "latency", "unit": "us", "value": 0.1, "status": "ok", "std": 1e-9, "n": 7}},
    {"strategy": "tile-it", "bottleneck": "memory", "baseline": {"value": 3.0, "config": {"a": [1]}}},
    {"source": {"title": "null", "note": "  two  spaces ", "path": "a.md"}, "kind": "claimed"},
    {
        "problem": {
            "limits": [{"metric": "energy", "maximum": 3, "unit": "J"}],
            "bottlenecks": {"memory": 0.5, "launch": None},
            "current": {},
        }
    },
)


def rich_cases(names: NameResolver) -> list[Case]:
    base = {
        "task": {"kind": "kernel", "op": "gemm", "shape": {"M": 4, "N": 64}, "traits": {"layout": "nt"}},
        "hardware": {"name": "NVIDIA A100"},
        "config": {"BLOCK": 16},
        "outcome": {"metric": "latency", "unit": "us", "value": 3.14159, "status": "ok"},
        "source": {"repo": "a/b", "licence": "MIT"},
    }
    return [Records(names).case(base | more) for more in RICH]


def untimed(names: NameResolver, size: int, **more: object) -> Case:
    record: dict[str, object] = {
        "task": {"kind": "kernel", "op": "fused_moe", "shape": {"M": size, "N": 64, "E": 8}},
        "hardware": {"name": "NVIDIA A100"},
        "config": {"BLOCK_SIZE_M": 16, "num_warps": 4},
        "outcome": {"metric": "latency", "unit": "us", "value": None, "status": "winner_untimed"},
        "source": {"title": "test"},
    }
    return Records(names).case(record | more)


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


def test_a_parquet_table_has_numbers_as_numbers(tmp_path: Path, names: NameResolver) -> None:
    parquet = pytest.importorskip("pyarrow.parquet")
    path = tmp_path / "cases.parquet"
    cases = [
        untimed(names, size, config={"warps": 4 + size, "share": size / 7, "on": True}) for size in (1, 2)
    ]
    with path.open("wb") as stream:
        write_file("parquet", cases, stream)
    types = {field.name: str(field.type) for field in parquet.read_schema(path)}
    assert [types[f"config.{name}"] for name in ("warps", "share", "on")] == ["int64", "double", "bool"]
    assert types["task.op"] == "string"


@pytest.mark.parametrize("stamped", [False, True])
def test_texts_that_a_parquet_table_has_as_bytes_are_texts_and_times_are_told(
    tmp_path: Path, names: NameResolver, read_file: Reader, stamped: bool
) -> None:
    arrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    path = tmp_path / "cases.parquet"
    with path.open("wb") as stream:
        write_file("parquet", rich_cases(names), stream)
    table = parquet.read_table(path)
    for place, field in enumerate(table.schema):
        if field.type == arrow.string():
            table = table.set_column(place, field.name, table.column(place).cast(arrow.binary()))
    if stamped:
        when = arrow.array([0] * len(table), arrow.timestamp("s"))
        table = table.append_column("config.when", when)
    parquet.write_table(table, path)
    cases, report = read_file(path)
    if stamped:
        assert not cases
        assert "when: a datetime is no" in report.faults[0].reason
    else:
        assert cases == rich_cases(names)
        assert not report.faults


def test_a_parquet_file_of_something_else_is_told(tmp_path: Path, read_file: Reader) -> None:
    arrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    path = tmp_path / "other.parquet"
    parquet.write_table(arrow.table({"a": [1]}), path)
    cases, report = read_file(path)
    assert cases == []
    assert "no column" in report.faults[0].reason


@pytest.mark.parametrize(
    "value",
    ["plain", "16", "null", "NaN", " padded", "two\nlines", "", 16, 0.1, True, None, [1, "x"], "ja, nein"],
)
def test_a_cell_keeps_the_type_of_its_value(value: object) -> None:
    assert value_of(cell(value)) == value
    assert type(value_of(cell(value))) is type(value)
    assert cell(value)
    assert "\n" not in cell(value)


def test_a_name_that_no_header_can_hold_is_refused(tmp_path: Path, names: NameResolver) -> None:
    case = untimed(names, 1, config={"two\nlines": 1})
    with (tmp_path / "x.csv").open("wb") as stream, pytest.raises(InputError, match="name of a column"):
        write_file("csv", [case], stream)


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


def choices(*configurations: Mapping[str, object]) -> list[RecommendedConfiguration]:
    return [
        RecommendedConfiguration(
            configuration=Settings(item), flags=tuple(f"{name}={value}" for name, value in item.items())
        )
        for item in configurations
    ]


def test_an_answer_in_every_form(names: NameResolver) -> None:
    problem = untimed(names, 64).problem
    best, second = {"BLOCK_SIZE_M": 16, "num_warps": 4}, {"BLOCK_SIZE_M": 32, "num_warps": 8}
    texts = {
        form: write_answer(form, problem, choices(best, second)).text for form in ANSWERS if form != "json"
    }
    assert texts["flags"] == "BLOCK_SIZE_M=16 num_warps=4\nBLOCK_SIZE_M=32 num_warps=8\n"
    assert texts["env"] == texts["flags"]
    assert yaml.safe_load(texts["yaml"]) == json.loads(texts["optuna"]) == [best, second]
    assert json.loads(texts["vllm"]) == json.loads(texts["sglang"]) == {"64": best}
    assert texts["triton"].count("triton.Config(") == 2
    assert "num_warps=4)" in texts["triton"]
    t4 = json.loads(texts["kernel-tuner"])
    assert [result["configuration"] for result in t4["results"]] == [best, second]
    assert "correct" not in texts["kernel-tuner"], "nothing was measured"


def test_the_loss_to_expect_is_a_comment_where_a_form_has_comments(names: NameResolver) -> None:
    problem, loss = untimed(names, 64).problem, ["expected above the best time: 5 %"]
    for form in (form for form in ANSWERS if form != "json"):
        written = write_answer(form, problem, choices({"BLOCK_SIZE_M": 16}), remarks=loss)
        as_comment = written.text.startswith(f"# {loss[0]}\n")
        assert as_comment != (loss[0] in written.notes)
        assert as_comment == (form in {"yaml", "triton", "kernel-tuner-restriction"})


def test_a_restriction_is_python_that_lets_the_list_pass(names: NameResolver) -> None:
    best, second = {"BLOCK_SIZE_M": 16, "mode": "a"}, {"BLOCK_SIZE_M": 32, "mode": "b"}
    text = write_answer("kernel-tuner-restriction", untimed(names, 64).problem, choices(best, second)).text
    [rule] = ast.literal_eval(text.partition(" = ")[2])
    passes = [point for point in (best, second, {**best, "mode": "b"}) if eval(rule, {}, point)]  # noqa: S307
    assert passes == [best, second]
    with pytest.raises(InputError, match="no name in a restriction"):
        write_answer("kernel-tuner-restriction", untimed(names, 64).problem, choices({"a.b": 1}))


def test_a_table_says_where_to_put_it_and_what_it_leaves_out(names: NameResolver) -> None:
    problem = untimed(names, 64).problem
    written = write_answer("vllm", problem, choices({"BLOCK_SIZE_M": 16}, {}))
    assert written.notes == (
        "1 recommendations set no parameter and are left out",
        "save it as E=8,N=64,device_name=NVIDIA_A100.json",
    )


@pytest.mark.parametrize(
    ("form", "configuration", "reason"),
    [
        ("env", {"fsdp.sharding": 1}, "environment variable"),
        ("optuna", {"tile": [1, 2]}, "lists"),
        ("triton", {"num_warps": "many"}, "no whole number"),
        ("yaml", {}, "sets no parameter"),
        ("toml", {"a": 1}, "no format 'toml'"),
    ],
)
def test_a_form_that_cannot_hold_the_answer_says_so(
    names: NameResolver, form: str, configuration: dict[str, object], reason: str
) -> None:
    with pytest.raises(InputError, match=reason):
        write_answer(form, untimed(names, 1).problem, choices(configuration))


def test_a_tuning_table_of_another_operator_is_refused(names: NameResolver) -> None:
    with pytest.raises(InputError, match="no tuning table"):
        write_answer("vllm", rich_cases(names)[0].problem, choices({"a": 1}))
