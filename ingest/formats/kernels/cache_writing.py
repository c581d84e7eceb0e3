"""Writing of Kernel Tuner's cache files, one for each problem, for its simulation of recorded results.

``kernel_tuner.tune_cache(cache_path=FILE, ...)`` tunes on such a file without a device. A cache lists every
value of every parameter, so all configurations of a problem have the same parameters there.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from ingest.formats.kernels.t4_writing import check as check_for_t4
from ingest.formats.kernels.t4_writing import in_milliseconds, invalidity_of, named, parameters_of
from kg.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ingest.formats.kernels.triton_tables import TritonTable
    from kg.nouns.entities import Case, Problem

_ERRORS = {"constraints": "InvalidConfig", "compile": "CompilationFailedConfig"}
"""Kernel Tuner's words for failures; any other is ``RuntimeFailedConfig``."""

_UNTIMED = ("compile_time", "verification_time", "benchmark_time", "strategy_time", "framework_time")
"""Times of its own that Kernel Tuner expects of every row; zero here, as nobody took them."""

_UNKNOWN = "1970-01-01 00:00:00+00:00"
"""Timestamp of a row, which every reader of caches expects: when it was measured is not kept here."""


def check(case: Case) -> None:
    """Refuse a case that a cache has no place for.

    Raises:
        InputError: It is no time of a kernel, was not measured, or sets a parameter to a list.
    """
    check_for_t4(case)
    if not case.configuration:
        raise InputError("a cache has no place for a configuration without parameters")
    for name, value in parameters_of(case).items():
        if isinstance(value, list) or value is None:
            raise InputError(f"a cache has no place for lists and nulls, such as {name}")


def caches(cases: Iterable[Case]) -> list[TritonTable]:
    """The files that cases fill, each with all rows of one problem; of a configuration, the last.

    Raises:
        InputError: As for ``check``.
    """
    found: dict[str, tuple[Problem, dict[tuple[str, ...], list[dict[str, object]]]]] = {}
    for case in cases:
        check(case)
        row = _row(case)
        names = tuple(sorted(parameters_of(case)))
        found.setdefault(case.problem.id, (case.problem, {}))[1].setdefault(names, []).append(row)
    documents: list[tuple[Problem, str]] = [
        (problem, _document(problem, names, rows))
        for problem, groups in found.values()
        for names, rows in groups.items()
    ]
    return named(documents)


def _row(case: Case) -> dict[str, object]:
    measured = case.measurement
    row: dict[str, object] = parameters_of(case)
    if measured.value is None:
        error = _ERRORS.get(invalidity_of(measured), "RuntimeFailedConfig")
        row |= {"time": error, "times": []}
    else:
        time = in_milliseconds(measured.value)
        row |= {"time": time, "times": [time]}
    return row | dict.fromkeys(_UNTIMED, 0) | {"timestamp": _UNKNOWN}


def _document(problem: Problem, names: tuple[str, ...], rows: list[dict[str, object]]) -> str:
    values = {name: list(dict.fromkeys(row[name] for row in rows)) for name in names}
    head: dict[str, object] = {
        "device_name": problem.hardware.reported or problem.hardware.name,
        "kernel_name": problem.workload.operator,
        "problem_size": _size(problem),
        "tune_params_keys": list(names),
        "tune_params": {
            name: sorted(found, key=lambda v: (isinstance(v, str), v)) for name, found in values.items()
        },
        "objective": "time",
    }
    cache = {",".join(str(row[name]) for name in names): row for row in rows}
    lines = ",\n".join(f"{json.dumps(key)}: {json.dumps(row)}" for key, row in cache.items())
    return (
        json.dumps(head, indent="")[:-2] + ',\n"cache": {\n' + lines + "}\n}"
    )  # it closes, and looks for, so


def _size(problem: Problem) -> list[object]:
    """The size as the cache had it, else the whole numbers of the shape by name."""
    shape = problem.workload.shape
    known = shape.get("problem_size")
    if known is not None:
        return list(known) if isinstance(known, tuple) else [known]
    return [shape[name] for name in sorted(shape) if isinstance(shape[name], int)] or [1]
