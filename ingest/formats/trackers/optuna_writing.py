"""Writing of Optuna's journal: a study for each problem in one file; needs Optuna.

Parameters become Optuna's, values in the unit of the problem. Facts that Optuna has no place for (hardware,
shape, source) go into user attributes, from which reading the journal gives the same cases.
"""

from __future__ import annotations

import json
import warnings
from collections.abc import Iterable, Sequence
from contextlib import redirect_stderr
from io import StringIO
from itertools import groupby
from pathlib import Path
from typing import Any

from ingest.door.writing import to_record
from ingest.formats.trackers.optuna_study import RECORD_ATTRIBUTE
from kg.errors import InputError, MissingDependencyError
from kg.nouns.entities import Better, Case, Configuration, Status

_INSTALL = "pip install 'tunegraph[optuna]'"


def check(case: Case) -> None:
    """Refuse a case that a trial has no place for.

    Raises:
        InputError: A parameter that is a list, or a row of a metric that does not decide.
    """
    check_configuration(case.configuration)
    if case.measurement.metric != case.problem.objective.metric:
        raise InputError("a trial has the values of its study's objective alone")


def check_configuration(configuration: Configuration) -> None:
    """Refuse a configuration that no trial can have.

    Raises:
        InputError: A parameter that is a list.
    """
    for name, value in configuration.items():
        if isinstance(value, tuple):
            raise InputError(f"Optuna has no parameters that are lists, such as {name}")


def queue(configurations: Sequence[Configuration]) -> str:
    """Configurations as JSON, for ``study.enqueue_trial`` one by one, best first.

    Raises:
        InputError: As for ``check_configuration``.
    """
    for configuration in configurations:
        check_configuration(configuration)
    return json.dumps([item.to_json() for item in configurations], indent=2, ensure_ascii=False) + "\n"


def write(cases: Iterable[Case], path: Path) -> int:
    """Write a journal; returns how many trials.

    Args:
        cases: All of a problem one after the other.
        path: The file, which does not exist yet.

    Raises:
        MissingDependencyError: Optuna is not installed.
        InputError: As for ``check``.
    """
    try:
        with redirect_stderr(StringIO()):  # it announces experimental parts of its own
            import optuna
            from optuna.storages import JournalStorage
            from optuna.storages.journal import JournalFileBackend
    except ImportError as missing:
        raise MissingDependencyError("writing a study needs Optuna", hint=_INSTALL) from missing
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    storage = JournalStorage(JournalFileBackend(str(path)))
    number = 0
    for problem_id, group in groupby(cases, lambda case: case.problem.id):
        members = list(group)
        for case in members:
            check(case)
        problem = members[0].problem
        lower = problem.objective.better is Better.LOWER
        study = optuna.create_study(
            storage=storage,
            study_name=f"{problem.workload.operator} on {problem.hardware.name} {problem_id}",
            direction="minimize" if lower else "maximize",
        )
        with (
            redirect_stderr(StringIO()),
            warnings.catch_warnings(action="ignore"),
        ):  # experimental, says Optuna
            study.set_metric_names([problem.objective.metric])
        first = to_record(members[0])
        outcome = _part(first, "outcome", "metric", "unit", "better")
        about: dict[str, object] = {
            name: first[name] for name in ("task", "hardware", "problem") if name in first
        }
        study.set_user_attr(RECORD_ATTRIBUTE, {**about, "outcome": outcome})
        distributions = _distributions(members, optuna.distributions)
        study.add_trials([_trial(case, distributions, optuna.trial) for case in members])
        number += len(members)
    return number


def _trial(case: Case, distributions: dict[str, Any], trial: Any) -> Any:
    record = to_record(case)
    parts = {
        name: item for name, item in record.items() if name not in {"task", "hardware", "problem", "config"}
    }
    parts["outcome"] = _part(record, "outcome", "status", "reason", "std", "n", "reported_unit")
    match case.measurement.status:
        case Status.OK:
            state = trial.TrialState.COMPLETE
        case Status.FAILED | Status.TIMED_OUT | Status.OUT_OF_MEMORY:
            state = trial.TrialState.FAIL
        case _:
            state = trial.TrialState.PRUNED
    return trial.create_trial(
        state=state,
        value=case.measurement.value,
        params=case.configuration.to_json(),
        distributions={name: distributions[name] for name in case.configuration},
        user_attrs={RECORD_ATTRIBUTE: parts},
    )


def _distributions(cases: list[Case], distributions: Any) -> dict[str, Any]:
    """For each parameter the range or the choices that its values span."""
    seen: dict[str, dict[str, Any]] = {}
    for case in cases:
        for name, value in case.configuration.items():
            seen.setdefault(name, {})[repr(value)] = value
    found = {}
    for name, values in seen.items():
        choices = list(values.values())
        kinds = {type(value) for value in choices}
        if kinds == {int}:
            found[name] = distributions.IntDistribution(min(choices), max(choices))
        elif kinds == {float}:
            found[name] = distributions.FloatDistribution(min(choices), max(choices))
        else:
            found[name] = distributions.CategoricalDistribution(choices)
    return found


def _part(record: dict[str, object], section: str, *names: str) -> dict[str, object]:
    content = record[section]
    return {name: content[name] for name in names if name in content} if isinstance(content, dict) else {}
