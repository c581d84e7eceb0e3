"""T4 files: results."""

import json
from pathlib import Path
from typing import Any

from ingest.door.records import NameResolver
from ingest.reading import FileReport, read
from kg.nouns.entities import Case, Status

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


def test_t4_tells_the_same_as_the_cache(tmp_path: Path, names: NameResolver) -> None:
    from_t4, report = result_of(t4(tmp_path), names)
    assert (report.format, report.bad) == ("kernel-tuner-t4", 0)
    assert any("hardware 'A100' is taken from the file name" in guess for guess in report.guesses)
    from_cache = [
        case
        for case in result_of(cache(tmp_path, text_of()), names)[0]
        if case.measurement.metric == "kernel_time"
    ]
    for mine, theirs in zip(from_t4, from_cache, strict=True):
        assert mine.configuration == theirs.configuration
        assert mine.measurement.value == theirs.measurement.value
        assert mine.measurement.stdev == theirs.measurement.stdev
        assert mine.measurement.status == theirs.measurement.status


def test_an_unfinished_t4_gives_its_whole_rows(tmp_path: Path, names: NameResolver) -> None:
    path = t4(tmp_path)
    text = path.read_text()
    path.write_text(text[: text.rindex('"configuration"')])
    cases, report = result_of(path, names)
    assert len(cases) == 3
    assert any("unfinished" in guess for guess in report.guesses)


def test_a_later_schema_is_said(tmp_path: Path, names: NameResolver) -> None:
    path = t4(tmp_path)
    for version, said in (("1.0.0", 0), ("1.2.0", 0), ("2.0.0", 1)):
        path.write_text(json.dumps(json.loads(path.read_text()) | {"schema_version": version}))
        cases, report = result_of(path, names)
        assert cases
        assert sum("T4 of schema 2.0.0 is read as 1.0.0" in guess for guess in report.guesses) == said


def test_what_constraints_rule_out_is_forbidden_and_the_rest_failed(
    tmp_path: Path, names: NameResolver
) -> None:
    kinds = ("constraints", "compile", "runtime", "correctness", "timeout")
    results = [
        {
            "configuration": {"bx": k, "by": k % 2},
            "times": {},
            "invalidity": kind,
            "correctness": 0,
            "measurements": [],
        }
        for k, kind in enumerate(kinds)
    ]
    path = tmp_path / "conv_A100_T4.json"
    path.write_text(json.dumps({"results": results, "schema_version": "1.0.0"}))
    statuses = [case.measurement.status for case in result_of(path, names)[0]]
    assert statuses == [Status.FORBIDDEN, *[Status.FAILED] * 3, Status.TIMED_OUT]
