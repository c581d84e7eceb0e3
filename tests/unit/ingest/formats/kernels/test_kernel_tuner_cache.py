import json
from pathlib import Path

import pytest

from ingest.door.records import NameResolver
from kg.nouns.entities import Status
from kg.nouns.values import Settings
from tests.samples.kernel_tuner import HEADER, cache, entry, text_of
from tests.samples.readings import ingest


def test_every_configuration_is_a_case_and_failures_are_data(tmp_path: Path, names: NameResolver) -> None:
    cases, report = ingest(names, cache(tmp_path, text_of()))
    assert (report.format, report.good, report.bad) == ("kernel-tuner-cache", 5, 0)
    found = [(case.measurement.metric, case.measurement.status, case.measurement.reason) for case in cases]
    assert found == [
        ("kernel_time", Status.OK, ""),
        ("energy", Status.OK, ""),
        ("kernel_time", Status.FORBIDDEN, "InvalidConfig"),
        ("kernel_time", Status.FAILED, "RuntimeFailedConfig"),
        ("kernel_time", Status.FAILED, "a time of 1e+20 marks a failure"),
    ]
    time, energy = cases[0], cases[1]
    assert (time.measurement.value, time.measurement.unit) == (0.002, "s")
    assert (time.measurement.stdev, time.measurement.repeats) == (0.001, 3)
    assert (energy.measurement.value, energy.measurement.unit) == (0.5, "J")
    assert energy.problem.objective.metric == "energy"
    assert energy.problem.workload == time.problem.workload
    assert time.configuration == energy.configuration == Settings({"bx": 1, "by": 8})
    assert time.problem.workload.shape == Settings({"problem_size": [64, 64], "fixed": {"fixed": 15}})


def test_energy_follows_from_power_and_time_of_one_row(tmp_path: Path, names: NameResolver) -> None:
    rows: dict[str, dict[str, object]] = {
        "1,8,15": {"bx": 1, "by": 8, "fixed": 15, "time": 2.0, "nvml_power": 250.0}
    }
    cases, report = ingest(names, cache(tmp_path, text_of(rows)))
    found = {case.measurement.metric: case.measurement.value for case in cases}
    assert found == {"kernel_time": 0.002, "power": 250.0, "energy": 0.5}
    assert "energy is not in the file; it is power times time" in report.guesses


@pytest.mark.parametrize("kept", [4, 3])
def test_an_unfinished_cache_gives_its_whole_rows(tmp_path: Path, names: NameResolver, kept: int) -> None:
    text = text_of().removesuffix("}\n}") + ",\n"
    if kept == 3:
        text = text[: text.rindex('"time"')]
    cases, report = ingest(names, cache(tmp_path, text))
    assert len({case.configuration for case in cases}) == kept
    assert report.bad == 0
    assert any("unfinished" in guess for guess in report.guesses)


def test_a_damaged_row_does_not_hide_the_next(tmp_path: Path, names: NameResolver) -> None:
    text = text_of().replace('"time": "InvalidConfig"', '"time": Invalid')
    cases, report = ingest(names, cache(tmp_path, text))
    assert [dict(case.configuration) for case in cases[2:]] == [{"bx": 4, "by": 8}, {"bx": 4, "by": 16}]
    assert report.bad == 1
    assert report.faults[0].place == "cache/2,8,15"
    assert "no JSON" in report.faults[0].reason


def test_rows_without_time_or_parameters_are_faults(tmp_path: Path, names: NameResolver) -> None:
    rows: dict[str, dict[str, object]] = {
        "a": {"bx": 1, "by": 8, "fixed": 15},
        "b": {"bx": 1, "fixed": 15, "time": 3.0},
        "c": entry(1, 8, -3.0),
        "d": entry(1, 8, 3.0),
    }
    cases, report = ingest(names, cache(tmp_path, text_of(rows)))
    assert len(cases) == 1
    assert [(fault.place, fault.reason) for fault in report.faults] == [
        ("cache/a", "outcome.value: missing, though the status is ok"),
        ("cache/b", "without a value of by"),
        ("cache/c", "outcome.value: -3 is negative"),
    ]


def test_a_header_without_rows_is_a_fault(tmp_path: Path, names: NameResolver) -> None:
    _, report = ingest(names, cache(tmp_path, json.dumps(HEADER)))
    assert [str(fault) for fault in report.faults] == ["no member named cache"]
