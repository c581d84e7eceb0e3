"""T1 files: search spaces."""

import json
from pathlib import Path

import pytest

from ingest.door.records import NameResolver
from ingest.formats.kernels import kernel_tuner_t1
from ingest.reading import FileReport, read
from kg.nouns.entities import Case
from kg.nouns.values import Settings
from tests.samples.kernel_tuner import cache, t4, text_of
from tests.samples.readings import ingest


def t1(tmp_path: Path) -> Path:
    parameters = [
        {"Name": "bx", "Type": "int", "Values": "[1, 2, 4]"},
        {"Name": "by", "Type": "int", "Values": [8, 16]},
        {"Name": "fixed", "Type": "int", "Values": "[15]"},
    ]
    document = {
        "General": {"BenchmarkName": "conv"},
        "ConfigurationSpace": {
            "TuningParameters": parameters,
            "Conditions": [{"Expression": "bx*by<=32", "Parameters": ["bx", "by"]}],
        },
        "KernelSpecification": {
            "ProblemSize": [64, 64],
            "Arguments": [{"Name": "a", "Type": "float", "MemoryType": "Vector"}],
        },
    }
    return cache(tmp_path, json.dumps(document), "space.json")


def test_a_t1_file_completes_the_results_read_with_it(tmp_path: Path, names: NameResolver) -> None:
    cache(tmp_path, text_of())
    t4(tmp_path)
    t1(tmp_path)
    items = list(read([tmp_path], names))
    reports = [item for item in items if isinstance(item, FileReport)]
    assert [report.format for report in reports] == [
        "kernel-tuner-t1",
        "kernel-tuner-cache",
        "kernel-tuner-t4",
    ]
    times = [
        item for item in items if isinstance(item, Case) and item.problem.objective.metric == "kernel_time"
    ]
    assert len(times) == 8
    assert len({case.problem.id for case in times}) == 1
    assert times[0].problem.workload.precision == "float32"
    space = reports[0].space
    assert space is not None
    assert space.parameters == {"bx": (1, 2, 4), "by": (8, 16), "fixed": (15,)}
    assert space.constraints == ("bx*by<=32",)
    assert space.fixed_parameters() == Settings({"fixed": 15})


def test_values_of_a_t1_file_are_read_not_run(tmp_path: Path, names: NameResolver) -> None:
    path = t1(tmp_path)
    path.write_text(path.read_text().replace('"[15]"', "\"[__import__('os').getpid()]\""))
    _, report = ingest(names, path)
    assert [fault.place for fault in report.faults] == ["TuningParameters[2]"]
    assert report.space is not None
    assert list(report.space.parameters) == ["bx", "by"]


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("[i for i in range(3, 9, 2)]", (3, 5, 7)),
        ("[16*i for i in range(1,4)]", (16, 32, 48)),
        ("[2**i for i in range(4)]", (1, 2, 4, 8)),
        ("list(range(2))", (0, 1)),
        ("[-1, 0.5]", (-1, 0.5)),
    ],
)
def test_values_that_are_expressions_are_evaluated(
    text: str, values: tuple[object, ...], tmp_path: Path, names: NameResolver
) -> None:
    space, report = taken(tmp_path, text, names)
    assert space == values
    assert report.bad == 0


@pytest.mark.parametrize(
    "text",
    [
        *(
            "__import__('os')",
            "[i for i in range(10**9)]",
            "[9**9**9]",
            "[i for i in x]",
            "open('a')",
            "[1/0]",
        ),
        "[i for i in " * 9 + "range(2**20)" + "]" * 9,
        *("[[0 for i in range(2**20)] for j in range(2**20)]", "[list(range(9)), list(range(9))]"),
    ],
)
def test_an_expression_of_anything_else_is_named_as_what_is_not_read(
    text: str, tmp_path: Path, names: NameResolver, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kernel_tuner_t1, "MAXIMUM_STEPS", 1 << 12)
    space, report = taken(tmp_path, text, names)
    assert space is None
    assert "an expression that is not read" in str(report.faults[0])


def taken(folder: Path, text: str, names: NameResolver) -> tuple[object, FileReport]:
    parameters = [{"Name": "a", "Values": text}, {"Name": "b", "Values": "[1, 2]"}]
    document = {"General": {"BenchmarkName": "x"}, "ConfigurationSpace": {"TuningParameters": parameters}}
    path = folder / "x_T1.json"
    path.write_text(json.dumps(document))
    [report] = list(read([path], names))
    assert isinstance(report, FileReport)
    return (report.space.parameters.get("a") if report.space else None), report
