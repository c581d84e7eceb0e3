"""Optuna's storages: opened late, quietly, and with patience where one is away."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager, redirect_stderr
from io import StringIO
from pathlib import Path
from typing import Any, TypeVar, cast

from kg.errors import InputError, MissingDependencyError, WorkspaceError
from kg.nouns.values import Settings
from recommender.search.log.databases import hide_password, is_url
from recommender.search.log.storage_journal import StorageJournal, patiently
from recommender.space.parameters import ParameterKind
from recommender.space.space import SearchSpace

T = TypeVar("T")

_GONE = "Record does not exist"
"""Optuna's message about a study or a trial that was removed."""
_OPENING_S = 5.0
"""Wait for a database before anything was done with it: then a wrong URL is likelier than a pause."""


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
            hint="in a clone: pip install '.[optuna]'",
        ) from missing
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    return optuna


def open_backend(storage: str, *, create: bool, patience_s: float) -> Any:
    """A storage: a journal for a file, else the database that a URL names.

    Raises:
        InputError: The URL is none, or there is nothing in the database.
        WorkspaceError: It cannot be reached, or is of another version of Optuna.
        MissingDependencyError: Optuna or the driver of the database is not installed.
    """
    optuna = load_optuna()
    if not is_url(storage):
        journal = StorageJournal(Path(storage), create=create, patience_s=patience_s)
        return optuna.storages.JournalStorage(cast("Any", journal))
    from recommender.search.log.databases import open_database

    return patient(lambda: open_database(storage, create=create), storage, min(patience_s, _OPENING_S))


def patient(action: Callable[[], T], storage: str, patience_s: float) -> T:
    """Wait for a storage that is away; a journal waits by itself, at the level of its file.

    Args:
        action: Is done again where the storage was away.
        storage: Its URL or file.
        patience_s: After which it is given up.

    Raises:
        WorkspaceError: It stayed away, does not let us in, or has lost what was in it.
    """
    try:
        return _patient(action, storage, patience_s) if is_url(storage) else action()
    except KeyError as gone:
        if _GONE not in str(gone):
            raise
        raise WorkspaceError(f"{hide_password(storage)}: the search, or a trial of it, was removed") from gone


def _patient(action: Callable[[], T], storage: str, patience_s: float) -> T:
    from recommender.search.log.databases import reason, refusal, troubles

    try:
        return patiently(
            action, hide_password(storage), patience_s, troubles(), lambda fault: reason(fault, storage)
        )
    except troubles() as fault:
        raise refusal(fault, storage) from fault


@contextmanager
def exclusive(backend: Any, storage: str, study: str) -> Iterator[None]:
    """Keep all other workers of a study from choosing until the end of the block."""
    if is_url(storage):
        from recommender.search.log import databases

        with databases.exclusive(backend, storage, study):
            yield
        return
    with backend._backend.exclusive():  # the journal below Optuna's storage
        yield


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
