"""T1 files: search spaces."""

import json
from pathlib import Path

from ingest.door.records import NameResolver
from ingest.reading import FileReport, read
from kg.nouns.entities import Case
from kg.nouns.values import Settings
from tests.samples.kernel_tuner import cache, result_of, t4, text_of


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
    _, report = result_of(path, names)
    assert [fault.place for fault in report.faults] == ["TuningParameters[2]"]
    assert report.space is not None
    assert list(report.space.parameters) == ["bx", "by"]
