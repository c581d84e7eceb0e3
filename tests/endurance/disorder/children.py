"""Work in child processes that start from a clean one: a database's threads do not survive a fork."""

import multiprocessing
import time
from collections.abc import Callable
from dataclasses import dataclass
from multiprocessing.connection import Connection
from multiprocessing.context import ForkServerContext
from typing import Any

PATIENCE_S = 120.0
PRELOADED = [
    "tests.endurance.disorder.places",
    "tests.endurance.disorder.acts",
    "recommender.workspace.workspace",
    "recommender.store.editor",
    "recommender.store.lineage",
    "recommender.store.experiments",
    "recommender.store.upkeep.backup",
    "recommender.store.upkeep.mending",
    "recommender.experiment.recording",
    "recommender.evolution.step",
    "recommender.search.logged_search",
    "kg.rows.cases",
    "kg.triples.exchange",
    "kg.triples.union",
    "kg.triples.validation",
    "pyshacl",
    "optuna",
    "scipy.stats",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class Ended:
    """The end of a child.

    Attributes:
        value: What it returned; None if it raised or was killed.
        error: Name of the error's class and what it said; empty without one.
        is_explained: The error is one of the program's own, in words.
        duration_s: From its first sign of life to its end.
        told: What it said on the way, the last thing.
        was_killed: It did not come to its end.
    """

    value: Any = None
    error: str = ""
    is_explained: bool = False
    duration_s: float = 0.0
    told: Any = None
    was_killed: bool = False


def context() -> ForkServerContext:
    """Processes forked from a server that has imported everything and opened nothing."""
    made = multiprocessing.get_context("forkserver")
    made.set_forkserver_preload(PRELOADED)
    return made


def run(work: Callable[..., object], *values: object, kill_after_s: float | None = None) -> Ended:
    """Run ``work(tell, *values)`` in a child, and kill it with signal 9 after a time if one is given."""
    processes = context()
    ours, theirs = processes.Pipe(duplex=False)
    child = processes.Process(target=_child, args=(theirs, work, values), daemon=True)
    child.start()
    theirs.close()
    told: Any = None
    started = ended = time.monotonic()
    result: dict[str, Any] | None = None
    end = started + PATIENCE_S
    while True:
        if not ours.poll(max(0.0, end - time.monotonic())):
            child.kill()
            child.join()
            result, told = _rest(ours, result, told)
            break
        try:
            kind, value = ours.recv()
        except EOFError:
            child.join()
            break
        if kind == "begun":
            started = time.monotonic()
            end = started + (PATIENCE_S if kill_after_s is None else kill_after_s)
        elif kind == "told":
            told = value
        else:
            result, ended = value, time.monotonic()
    ours.close()
    if result is None:
        return Ended(told=told, was_killed=True)
    return Ended(told=told, duration_s=ended - started, **result)


def _rest(ours: Connection, result: dict[str, Any] | None, told: Any) -> tuple[dict[str, Any] | None, Any]:
    """Read the last unread messages of a child that was killed."""
    try:
        while ours.poll(0):
            kind, value = ours.recv()
            if kind == "told":
                told = value
            elif kind == "ended":
                result = value
    except (EOFError, OSError):
        pass
    return result, told


def _child(pipe: Connection, work: Callable[..., object], values: tuple[object, ...]) -> None:
    import logging

    from kg.errors import TuningError

    logging.disable(logging.CRITICAL)
    pipe.send(("begun", None))
    try:
        value = work(lambda item: pipe.send(("told", item)), *values)
        pipe.send(("ended", {"value": value}))
    except TuningError as error:
        pipe.send(("ended", {"error": f"{type(error).__name__}: {error}", "is_explained": True}))
    except BaseException as error:  # noqa: BLE001 - what a user would see as a traceback is counted
        pipe.send(("ended", {"error": f"{type(error).__name__}: {error}"}))
