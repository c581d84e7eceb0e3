"""Tuning recommendations from a knowledge graph of measured cases, for programs and notebooks.

Example:
    >>> import tunegraph
    >>> with tunegraph.open() as workspace:  # doctest: +SKIP
    ...     print(workspace.recommend({"model": "bert-large", "hardware": "ascend-910", "count": 8}))
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tunegraph.packages import foreign_packages

if TYPE_CHECKING:
    from os import PathLike

    from data import __version__
    from kg.errors import (
        CaseFormatError,
        IndexMismatchError,
        InfeasibleError,
        InputError,
        MissingDependencyError,
        MissingFactError,
        NoEvidenceError,
        TuningError,
        UnknownEntityError,
        WorkspaceError,
    )
    from kg.nouns.entities import Problem
    from recommender.experiment.recording import recorded
    from recommender.search.engine.search import Search
    from recommender.search.evaluations import Evaluation
    from recommender.search.logged_search import LoggedSearch
    from recommender.workspace.workspace import Workspace

__tunegraph__ = True

__all__ = [
    "CaseFormatError",
    "Evaluation",
    "IndexMismatchError",
    "InfeasibleError",
    "InputError",
    "LoggedSearch",
    "MissingDependencyError",
    "MissingFactError",
    "NoEvidenceError",
    "Problem",
    "Search",
    "TuningError",
    "UnknownEntityError",
    "Workspace",
    "WorkspaceError",
    "__version__",
    "open",
    "recorded",
]

_HOMES = {
    "Evaluation": "recommender.search.evaluations",
    "LoggedSearch": "recommender.search.logged_search",
    "Problem": "kg.nouns.entities",
    "Search": "recommender.search.engine.search",
    "Workspace": "recommender.workspace.workspace",
    "__version__": "data",
    "recorded": "recommender.experiment.recording",
}

if (_strangers := foreign_packages()) is not None:
    raise ImportError("\n  ".join(_strangers))


def open(workspace: str | PathLike[str] | None = None) -> Workspace:  # noqa: A001  tunegraph.open
    """Open a workspace for reading: the one that the command line would use, made where there is none.

    Args:
        workspace: Its directory; if None ``TUNEGRAPH_WORKSPACE``, else that of ``tunegraph.toml``, else
            the user's own.

    Raises:
        WorkspaceError: It is damaged, of another version, or cannot be made.
        InputError: ``tunegraph.toml`` is broken, or names a folder of settings that is not there.
    """
    import logging
    import os
    from pathlib import Path

    from tunegraph.places import Places

    chosen = Places.resolve(None if workspace is None else Path(workspace), os.environ)
    chosen.use_own_settings()
    return chosen.open(logging.getLogger(__name__).warning)


def __getattr__(name: str) -> Any:
    """Import a name of this module when it is first used: the library itself is heavier than this face."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(_HOMES.get(name, "kg.errors")), name)


def __dir__() -> list[str]:
    return __all__
