"""Processes of a benchmark: one thread each, and where children find these scripts."""

import os
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
"""The repository."""


def one_thread() -> None:
    """Limit numerical libraries to one thread: a process a fold is faster than threads that wait.

    The environment holds for libraries that load later and for child processes, the limit for those that are
    loaded already.
    """
    for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
        os.environ.setdefault(name, "1")
    from threadpoolctl import threadpool_limits

    threadpool_limits(1)


def children_import_from_here() -> None:
    """Make packages and scripts of this repository importable in child processes, wherever they start."""
    paths = os.environ.get("PYTHONPATH", "").split(os.pathsep)
    os.environ["PYTHONPATH"] = os.pathsep.join(dict.fromkeys([str(ROOT), *filter(None, paths)]))
