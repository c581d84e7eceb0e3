"""Writing of Kernel Tuner's T4 format, one file for each problem.

T4 names neither device nor kernel nor problem size: the first two go into the file name, where they are
looked for, and the rest is lost unless a T1 file of the benchmark lies beside it. Times are in milliseconds.
"""

from __future__ import annotations

import json
import math
import re
from typing import TYPE_CHECKING

from ingest.formats.kernels.triton_tables import TritonTable
from kg.errors import InputError
from kg.nouns.entities import Status
from kg.nouns.values import Settings

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from kg.nouns.entities import Case, Configuration, Measurement, Problem

_INVALID = ("timeout", "compile", "runtime", "correctness", "constraints")
"""Words of T4 for kinds of failures."""
_UNSAFE = re.compile(r"[^\w+-]")
_MS = 1e3
_FIXED = "fixed."
"""Of the shape: parameters with one value, which T4 has among the others."""


def check(case: Case) -> None:
    """Refuse a case that T4 has no place for.

    Raises:
        InputError: It is no time of a kernel, or was not measured.
    """
    if case.problem.objective.unit != "s":
        raise InputError("T4 holds times alone")
    if case.measurement.status in (Status.NOT_MEASURED, Status.UNKNOWN):
        raise InputError("T4 cannot say that something was not measured")


def t4(cases: Iterable[Case]) -> list[TritonTable]:
    """The files that cases fill, each with all results of one problem.

    Raises:
        InputError: As for ``check``.
    """
    found: dict[str, tuple[Problem, list[dict[str, object]]]] = {}
    for case in cases:
        check(case)
        found.setdefault(case.problem.id, (case.problem, []))[1].append(_result(case))
    names: dict[str, int] = {}
    tables = []
    for problem_id, (problem, results) in found.items():
        name = file_name(problem)
        names[name] = names.get(name, 0) + 1
        place = f"{problem_id[:8]}/{name}" if names[name] > 1 else name
        tables.append(TritonTable(name=place, text=_document(results)))
    return tables


def file_name(problem: Problem) -> str:
    """The name that a problem's results have, such as ``convolution_A100_T4.json``."""
    device = problem.hardware.reported or problem.hardware.name
    return _UNSAFE.sub("_", f"{problem.workload.operator}_{device}_T4") + ".json"


def t4_of_choices(configurations: Sequence[Configuration]) -> str:
    """Configurations to try, best first, as T4 without a single measurement."""
    results: list[dict[str, object]] = [
        {"configuration": item.to_json(), "objectives": [], "measurements": [], "times": {}}
        for item in configurations
    ]
    return _document(results, note="recommended, best first; nothing here was measured")


def _result(case: Case) -> dict[str, object]:
    measured = case.measurement
    invalidity = "correct" if measured.status is Status.OK else _invalidity(measured)
    shape = case.problem.workload.shape
    fixed = {name.removeprefix(_FIXED): shape[name] for name in shape if name.startswith(_FIXED)}
    result: dict[str, object] = {
        "configuration": {**case.configuration.to_json(), **Settings(fixed).to_json()},
        "invalidity": invalidity,
    }
    if measured.value is not None:
        value = in_milliseconds(measured.value)
        result["objectives"] = ["time"]
        result["times"] = {"runtimes": [value]}
        result["measurements"] = [{"name": "time", "value": value, "unit": "ms"}]
    else:
        result |= {"objectives": [], "times": {}, "measurements": []}
    return result


def _invalidity(measured: Measurement) -> str:
    if measured.status is Status.FORBIDDEN:
        return "constraints"
    if measured.status is Status.TIMED_OUT:
        return "timeout"
    reason = measured.reason.lower()
    return next((word for word in _INVALID if word in reason), "runtime")


def in_milliseconds(seconds: float) -> float:
    """The number that, read as milliseconds, gives these seconds to the last digit where there is one."""
    value = seconds * _MS
    for candidate in (value, math.nextafter(value, math.inf), math.nextafter(value, -math.inf)):
        if candidate / _MS == seconds:
            return candidate
    return value


def _document(results: list[dict[str, object]], **more: object) -> str:
    document = {"metadata": {"timeunit": "ms", **more}, "results": results}
    return json.dumps(document, indent=1, ensure_ascii=False) + "\n"
