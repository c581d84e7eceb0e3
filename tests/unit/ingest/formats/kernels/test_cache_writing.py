"""Caches that Kernel Tuner's simulation runs on."""

from pathlib import Path

import pytest

from ingest.door.records import NameResolver
from ingest.exporting import write_folder
from ingest.reading import read
from kg.nouns.entities import Case, Status


def test_a_cache_is_read_again_as_it_was(
    tmp_path: Path, names: NameResolver, kernel_cases: list[Case]
) -> None:
    _, [table] = write_folder("kernel-tuner-cache", kernel_cases)
    path = tmp_path / table.name
    path.write_text(table.text)
    again = [case for case in read([path], names) if isinstance(case, Case)]
    assert len(again) == len(kernel_cases)
    expected = {case.configuration: case.measurement for case in kernel_cases}
    for case in again:
        measured = expected[case.configuration]
        assert case.measurement.value == measured.value
        assert (case.measurement.status is Status.OK) == (measured.status is Status.OK)
        assert (case.measurement.status is Status.FORBIDDEN) == (measured.status is Status.FORBIDDEN)


def test_configurations_of_other_parameters_fill_a_cache_of_their_own(kernel_cases: list[Case]) -> None:
    from dataclasses import replace

    from kg.nouns.values import Settings

    other = [replace(case, configuration=Settings({"tile": k})) for k, case in enumerate(kernel_cases[:3])]
    third = [replace(case, configuration=Settings({"block": k})) for k, case in enumerate(kernel_cases[:3])]
    _, tables = write_folder("kernel-tuner-cache", [*kernel_cases, *other, *third])
    assert len({table.name for table in tables}) == 3


def test_kernel_tuner_simulates_on_an_exported_cache(tmp_path: Path, kernel_cases: list[Case]) -> None:
    kernel_tuner = pytest.importorskip("kernel_tuner", reason="Kernel Tuner is an optional extra")
    done, [table] = write_folder("kernel-tuner-cache", kernel_cases)
    assert done.rows == 36
    path = tmp_path / table.name
    path.write_text(table.text)
    results, environment = kernel_tuner.tune_cache(cache_path=str(path), verbose=False, quiet=True, lang="C")
    assert environment["device_name"] == "NVIDIA A100"
    ran = {case.configuration.digest: case for case in kernel_cases if case.measurement.status is Status.OK}
    assert len(results) == len(ran) == 21
    for result in results:
        [case] = [
            c for c in ran.values() if all(result[name] == value for name, value in c.configuration.items())
        ]
        assert result["time"] == pytest.approx(1e3 * (case.measurement.value or 0), rel=1e-12)
    whole, _ = kernel_tuner.tune_kernel(
        "gemm", "", (4096, 64), [], {"block": [16, 32, 64], "mode": ["a", "b", True], "tile": [1, 2, 4, 8]},
        simulation_mode=True, cache=str(path), verbose=False, quiet=True, lang="C",
    )  # fmt: skip
    failed = [str(result["__error__"]) for result in whole if "__error__" in result]
    assert len(whole) == 36
    assert sorted(set(failed)) == ["CompilationFailedConfig", "InvalidConfig", "RuntimeFailedConfig"]
