"""Optuna's storages: opened late, quietly, and with patience where one is away."""

from __future__ import annotations

from contextlib import redirect_stderr
from io import StringIO
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from kg.errors import InputError, MissingDependencyError
from recommender.search.journal import Journal, patiently
from recommender.search.parameters import ParameterKind

if TYPE_CHECKING:
    from collections.abc import Callable

    from kg.values import Settings
    from recommender.search.space import SearchSpace


def load_optuna() -> Any:
    """Optuna, quiet.

    Raises:
        MissingDependencyError: It is not installed.
    """
    try:
        with redirect_stderr(StringIO()):  # it announces experimental parts of its own
            import optuna
    except ImportError as missing:
        raise MissingDependencyError(
            "a search keeps its log in Optuna's storage, and Optuna is not installed",
            hint="pip install 'tunegraph[optuna]'",
        ) from missing
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    return optuna


def open_backend(storage: str, *, create: bool, patience_s: float) -> Any:
    """A storage: a journal for a file, else the database that a URL names.

    Raises:
        InputError: The URL is none, or the file of an SQLite URL is not there.
        WorkspaceError: It cannot be reached.
        MissingDependencyError: Optuna or the driver of the database is not installed.
    """
    optuna = load_optuna()
    if "://" not in storage:
        journal = Journal(Path(storage), create=create, patience_s=patience_s)
        return optuna.storages.JournalStorage(cast("Any", journal))
    if (
        not create
        and storage.startswith("sqlite:///")
        and not Path(storage.removeprefix("sqlite:///")).is_file()
    ):
        raise InputError(f"no search at {storage}", hint="begin one: tunegraph search run FILE")
    try:
        return patiently(
            lambda: optuna.storages.RDBStorage(storage), storage, min(patience_s, 5.0), _database_trouble()
        )
    except ImportError as missing:
        raise MissingDependencyError(f"{storage}: its driver is not installed: {missing}") from missing
    except (ValueError, KeyError) as fault:
        raise InputError(f"{storage}: no storage of Optuna: {fault}") from fault


def _database_trouble() -> tuple[type[Exception], ...]:
    import sqlalchemy.exc

    return (OSError, sqlalchemy.exc.DBAPIError, load_optuna().exceptions.StorageInternalError)


def patient(action: Callable[[], Any], storage: str, patience_s: float) -> Any:
    """A journal waits by itself, at the level of its file; of a database each call is tried again."""
    if "://" not in storage:
        return action()
    return patiently(action, storage, patience_s, _database_trouble())


def study_names(backend: Any, storage: str, patience_s: float) -> dict[str, int]:
    """Names of the studies and their ids."""
    found = patient(backend.get_all_studies, storage, patience_s)
    return {item.study_name: item._study_id for item in found}


def distributions(space: SearchSpace, configuration: Settings) -> dict[str, Any]:
    """Optuna's distributions of the parameters that a configuration sets.

    Raises:
        InputError: A value is a list, which Optuna has no place for.
    """
    optuna = load_optuna().distributions
    found: dict[str, Any] = {}
    for parameter in space.parameters:
        if parameter.name not in configuration:
            continue
        if any(isinstance(value, tuple) for value in parameter.values):
            raise InputError(f"Optuna has no parameters that are lists, such as {parameter.name}")
        if parameter.low is None or parameter.high is None:
            found[parameter.name] = optuna.CategoricalDistribution(parameter.values)
        elif parameter.kind is ParameterKind.INTEGER:
            step = None if parameter.log else int(parameter.step or 1)
            found[parameter.name] = optuna.IntDistribution(
                int(parameter.low), int(parameter.high), log=parameter.log, **({"step": step} if step else {})
            )
        else:
            width = None if parameter.log else parameter.step
            found[parameter.name] = optuna.FloatDistribution(
                parameter.low, parameter.high, log=parameter.log, step=width
            )
    return found
