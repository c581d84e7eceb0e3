"""T1 files: search spaces."""

import json
from pathlib import Path
from typing import Any

from ingest.door.records import NameResolver
from ingest.reading import FileReport, read
from kg.nouns.entities import Case
from kg.nouns.values import Settings

HEADER: dict[str, Any] = {
    "device_name": "NVIDIA A100-PCIE-40GB",
    "kernel_name": "conv_kernel",
    "problem_size": [64, 64],
    "tune_params_keys": ["bx", "by", "fixed"],
    "tune_params": {"bx": [1, 2, 4], "by": [8, 16], "fixed": [15]},
}


def entry(bx: int, by: int, time: object, **more: object) -> dict[str, object]:
    return {"bx": bx, "by": by, "fixed": 15, "time": time, **more}


ROWS = {
    "1,8,15": entry(1, 8, 2.0, times=[1.0, 2.0, 3.0], nvml_energy=0.5, **{"GFLOP/s": 9.0}),
    "2,8,15": entry(2, 8, "InvalidConfig"),
    "4,8,15": entry(4, 8, "RuntimeFailedConfig"),
    "4,16,15": entry(4, 16, 1e20),
}


def text_of(rows: dict[str, dict[str, object]] = ROWS, header: dict[str, Any] = HEADER) -> str:
    head = json.dumps(header, indent=0)[:-2]
    body = ",\n".join(f"{json.dumps(key)}: {json.dumps(row)}" for key, row in rows.items())
    return f'{head},\n"cache": {{\n{body}}}\n}}'


def result_of(path: Path, names: NameResolver) -> tuple[list[Case], FileReport]:
    *cases, report = read([path], names)
    assert isinstance(report, FileReport)
    return [case for case in cases if isinstance(case, Case)], report


def cache(tmp_path: Path, text: str, name: str = "conv_A100.json") -> Path:
    path = tmp_path / name
    path.write_text(text)
    return path


def t4(tmp_path: Path, name: str = "conv_A100_T4.json") -> Path:
    kinds = {"InvalidConfig": "constraints", "RuntimeFailedConfig": "runtime"}
    results = []
    for row in ROWS.values():
        time = row["time"]
        configuration = {key: row[key] for key in ("bx", "by", "fixed")}
        results.append(
            {
                "configuration": configuration,
                "times": {"compilation": 3, "runtimes": row.get("times", [])},
                "invalidity": kinds.get(str(time), "correct"),
                "measurements": [{"name": "time", "value": time, "unit": ""}],
            }
        )
    document = {"metadata": {"timeunit": "miliseconds"}, "results": results, "schema_version": "1.0.0"}
    return cache(tmp_path, json.dumps(document, indent=2), name)


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
