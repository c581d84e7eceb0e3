"""Writing of Kernel Tuner's T4 format, one file for each problem.

T4 names neither device nor kernel nor problem size: the first two go into the file name, where they are
looked for, and the rest is lost unless a T1 file of the benchmark lies beside it. Times are in milliseconds.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Sequence

from ingest.formats.kernels.kernel_tuner_t4 import SCHEMA_VERSION
from ingest.formats.kernels.triton_tables import TritonTable
from kg.errors import InputError
from kg.nouns.entities import Case, Configuration, Measurement, Problem, Status
from kg.nouns.values import Settings

_INVALID = ("timeout", "compile", "runtime", "correctness", "constraints")
"""Words of T4 for kinds of failures."""
_UNSAFE = re.compile(r"[^\w+-]")
_MS = 1e3
_UNTIMED: dict[str, object] = {"objectives": [], "times": {}, "measurements": []}
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
    return named([(problem, _document(results)) for problem, results in found.values()], "_T4")


def named(documents: Iterable[tuple[Problem, str]], ending: str = "") -> list[TritonTable]:
    """Documents as files named like ``convolution_A100_T4.json``; a second of one name in a folder."""
    tables: dict[str, TritonTable] = {}
    for problem, text in documents:
        device = problem.hardware.reported or problem.hardware.name
        name = _UNSAFE.sub("_", f"{problem.workload.operator}_{device}{ending}") + ".json"
        place, again = name, 0
        while place in tables:
            place, again = f"{problem.id[:8]}{f'_{again}' if again else ''}/{name}", again + 1
        tables[place] = TritonTable(name=place, text=text)
    return list(tables.values())


def t4_of_choices(configurations: Sequence[Configuration]) -> str:
    """Configurations to try, best first, as T4 without a single measurement."""
    results = [
        {"configuration": item.to_json(), "invalidity": "correct", "correctness": 0, **_UNTIMED}
        for item in configurations
    ]
    return _document(
        results, note="recommended, best first; nothing here was measured, no result was checked"
    )


def parameters_of(case: Case) -> dict[str, object]:
    """What was set, with the parameters of one value that the shape holds."""
    shape = case.problem.workload.shape
    fixed = {name.removeprefix(_FIXED): shape[name] for name in shape if name.startswith(_FIXED)}
    return {**case.configuration.to_json(), **Settings(fixed).to_json()}


def _result(case: Case) -> dict[str, object]:
    measured = case.measurement
    invalidity = "correct" if measured.status is Status.OK else invalidity_of(measured)
    result: dict[str, object] = {
        "configuration": parameters_of(case),
        "invalidity": invalidity,
        "correctness": int(measured.status is Status.OK),
        **_UNTIMED,
    }
    if measured.value is not None:
        value = in_milliseconds(measured.value)
        result["objectives"] = ["time"]
        result["times"] = {"runtimes": [value]}
        result["measurements"] = [{"name": "time", "value": value, "unit": "ms"}]
    return result


def invalidity_of(measured: Measurement) -> str:
    """The kind of a failure in the words of T4."""
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
    document = {"schema_version": SCHEMA_VERSION, "metadata": {"timeunit": "ms", **more}, "results": results}
    return json.dumps(document, indent=1, ensure_ascii=False) + "\n"
