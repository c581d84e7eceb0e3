"""Processes of a benchmark: one thread each, and where children find these scripts."""

import os
import sys
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import TypeVar

Asked = TypeVar("Asked")
Answer = TypeVar("Answer")
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


def in_processes(ask: Callable[[Asked], Answer], asked: Sequence[Asked], jobs: int) -> Iterator[Answer]:
    """What a function makes of each, in order, by so many processes forked from this one; here if it is one."""
    with ProcessPoolExecutor(jobs, mp_context=get_context("fork")) as pool:
        for number, found in enumerate((pool.map if jobs > 1 else map)(ask, asked), 1):
            print(f"{number} of {len(asked)}", file=sys.stderr)
            yield found


def children_import_from_here() -> None:
    """Make packages and scripts of this repository importable in child processes, wherever they start."""
    paths = os.environ.get("PYTHONPATH", "").split(os.pathsep)
    os.environ["PYTHONPATH"] = os.pathsep.join(dict.fromkeys([str(ROOT), *filter(None, paths)]))
