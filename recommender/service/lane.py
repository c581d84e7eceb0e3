"""Worker processes over a workspace: a question that costs more than its budget ends with its process."""

from __future__ import annotations

import asyncio
import multiprocessing
import os
import signal
import time
import traceback
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import TYPE_CHECKING, Concatenate, ParamSpec, TypeVar

from kg.errors import InputError, TuningError
from kg.memory_limit import limit_memory
from kg.triples.serialisation import newest_batch
from kg.triples.snapshots import newest, open_newest
from recommender.files import WorkspaceFiles

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable
    from multiprocessing.connection import Connection
    from pathlib import Path

    from recommender.workspace.workspace import Workspace

P = ParamSpec("P")
T = TypeVar("T")

STARTING_SECONDS = 60.0
"""For a fresh worker to open the workspace and to load what answers need; a choice."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkBudget:
    """The room of one piece of work; choices.

    Attributes:
        seconds: From its start to its end.
        cpu_seconds: Of all its threads.
        memory_bytes: Address space beyond that of a worker that has opened the workspace.
    """

    seconds: float
    cpu_seconds: float
    memory_bytes: int


QUESTION = WorkBudget(seconds=30.0, cpu_seconds=10.0, memory_bytes=2 << 30)
"""Twice the 5 CPU s in which any question is answered or refused, for a machine half as fast."""
DIAGNOSIS = WorkBudget(seconds=120.0, cpu_seconds=60.0, memory_bytes=4 << 30)
WRITE = WorkBudget(seconds=3600.0, cpu_seconds=3600.0, memory_bytes=8 << 30)


class _Turns:
    """Turns of clients: of each, so many pieces of work are before a lane at once, so that none fills it."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._gates: dict[str, tuple[asyncio.Semaphore, list[None]]] = {}

    @asynccontextmanager
    async def of(self, client: str) -> AsyncIterator[None]:
        """The turn of a client, kept until the block ends."""
        gate, users = self._gates.setdefault(client, (asyncio.Semaphore(self._most), []))
        users.append(None)
        try:
            async with gate:
                yield
        finally:
            users.pop()
            if not users:
                del self._gates[client]


class Lane:
    """Workers over one workspace; each does one piece of work at a time, from the newest published state.

    Args:
        path: The workspace.
        cache: The user's cache directory.
        budget: Of each piece of work.
        workers: Processes; two, so that one costly question does not stop the others.
    """

    def __init__(self, path: Path, cache: Path, budget: WorkBudget = QUESTION, *, workers: int = 2) -> None:
        self._place = (path, cache)
        self._budget = budget
        self._free: asyncio.LifoQueue[_Worker | None] = asyncio.LifoQueue()
        for _ in range(workers):
            self._free.put_nowait(None)
        self._workers = workers
        self._turns = _Turns(workers)

    async def start(self) -> None:
        """Open the workspace in a worker and load what answers need."""
        await self.run(_warm)

    async def run_for(
        self, client: str, work: Callable[Concatenate[Workspace, P], T], *args: P.args, **options: P.kwargs
    ) -> T:
        """Do a piece of work of a client: another's wait behind few of its own; see :meth:`run`."""
        async with self._turns.of(client):
            return await self.run(work, *args, **options)

    async def run(
        self, work: Callable[Concatenate[Workspace, P], T], *args: P.args, **options: P.kwargs
    ) -> T:
        """Do a piece of work in a worker; to cancel it ends the worker.

        Args:
            work: A function of a module.
            *args: Its arguments behind the workspace.
            **options: Its named ones.

        Raises:
            InputError: It cost more than its budget.
        """
        worker = await self._free.get()
        try:
            if worker is None or not worker.process.is_alive():
                worker = _Worker(*self._place, self._budget)
                await asyncio.wait_for(worker.result(_warm), STARTING_SECONDS)
            return await asyncio.wait_for(
                worker.result(partial(work, **options), *args), self._budget.seconds
            )
        except (TimeoutError, EOFError, OSError):
            _kill(worker)
            worker = None
            limits = f"{self._budget.cpu_seconds:g} CPU s, {self._budget.seconds:g} s"
            raise InputError(
                f"ended beyond its budget ({limits}, {self._budget.memory_bytes >> 20} MiB)",
                hint="ask for less: smaller numbers, a smaller file",
            ) from None
        except asyncio.CancelledError:  # the client left
            _kill(worker)
            worker = None
            raise
        finally:
            self._free.put_nowait(worker)

    async def close(self) -> None:
        """End the workers when what they do is done."""
        for _ in range(self._workers):
            _kill(await self._free.get())


class _Worker:
    """One process."""

    def __init__(self, path: Path, cache: Path, budget: WorkBudget) -> None:
        spawning = multiprocessing.get_context("spawn")
        self._pipe, other = spawning.Pipe()
        self.process = spawning.Process(target=_work, args=(other, path, cache, budget), daemon=True)
        self.process.start()
        other.close()

    async def result(self, work: Callable[..., T], *args: object) -> T:
        """Do a piece of work.

        Raises:
            EOFError: The process ended.
        """
        self._pipe.send((work, args))
        done, error = await asyncio.to_thread(self._pipe.recv)
        if error is not None:
            raise error
        return done  # type: ignore[no-any-return]  # what work returned, through the pipe


def _kill(worker: _Worker | None) -> None:
    if worker is not None:
        worker.process.kill()  # its pipe ends, and with it the thread that reads there
        worker.process.join()


def _warm(workspace: Workspace) -> None:
    _ = workspace.snapshot.recommender


def _work(pipe: Connection, path: Path, cache: Path, budget: WorkBudget) -> None:
    """Do orders until the pipe ends; a timer ends the process where one takes too much processor time."""
    from recommender.workspace.workspace import Workspace

    os.dup2(2, 1)  # standard output may be a protocol's
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the server decides
    workspace: Workspace | None = None
    with suppress(EOFError, BrokenPipeError):
        while True:
            work, args = pipe.recv()
            done: object = None
            error: Exception | None = None
            try:
                if workspace is None:
                    workspace = Workspace.open(path, cache=cache)
                elif newest(workspace.layout.graph) != workspace.snapshot.folder:
                    workspace.refresh()
                if work is _warm:
                    work(workspace)
                    limit_memory(budget.memory_bytes)
                else:
                    signal.setitimer(signal.ITIMER_PROF, budget.cpu_seconds)
                    done = work(workspace, *args)
            except MemoryError:
                error = InputError(
                    f"more than {budget.memory_bytes >> 20} MiB of memory", hint="ask for less"
                )
            except TuningError as known:
                error = known
            except Exception:  # noqa: BLE001  a bug: the server logs it
                error = RuntimeError(traceback.format_exc())
            signal.setitimer(signal.ITIMER_PROF, 0)
            pipe.send((done, error))


def snapshot_state(path: Path) -> dict[str, object]:
    """Version and age in seconds of the state that answers rest on, read beside the lanes.

    Raises:
        WorkspaceError: The workspace cannot be read.
    """
    layout = WorkspaceFiles(path)
    batch, version = _newest_state(layout, newest(layout.graph))
    published = (layout.graph / "CURRENT").stat().st_mtime
    age = round(max(0.0, time.time() - published), 1)
    return {"knowledge_version": version, "batch": batch, "snapshot_age_s": age}


@lru_cache(maxsize=1)
def _newest_state(layout: WorkspaceFiles, _: Path | None) -> tuple[int, str]:
    with open_newest(layout.graph) as graph:
        batch = newest_batch(graph)
    return batch, f"{batch}-{layout.read().get('shipped') or 'own'}"
