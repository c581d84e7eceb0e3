"""The command line in one process, on one open workspace: what it exits with, prints, and takes."""

import gc
import io
import json
import signal
import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Self
from unittest.mock import patch

from cli.main import main
from recommender.workspace.workspace import Workspace
from tunegraph.places import Places

BUDGET_S = 5
"""CPU seconds that any question may take."""


_AGAIN_S = 0.1
"""CPU seconds after which the end is said again: a finaliser that it fell into has lost it."""


class BudgetSpentError(BaseException):
    """The processor time of a question is spent; no handler of the program holds it up."""


@dataclass(frozen=True, kw_only=True)
class CommandResult:
    """The end of a command line.

    Attributes:
        code: Its exit code; -1 if it broke, -2 if its time was spent.
        out: What it printed.
        err: What it said aside; the exception, where it broke.
        cpu_s: Processor time.
    """

    code: int
    out: str
    err: str
    cpu_s: float

    @cached_property
    def content(self) -> Mapping[str, Any]:
        """The printed JSON; empty where there is none."""
        try:
            content = json.loads(self.out)
        except ValueError:
            return {}
        return content if isinstance(content, dict) else {}


class _SharedWorkspace(Workspace):
    """A workspace that stays open from one command to the next."""

    def close(self) -> None:
        """Stay open."""

    def keep_completions(self) -> None:
        """Leave the names as they are: nobody completes them."""


class CommandLine:
    """Runs command lines against a workspace that is opened once.

    Args:
        workspace: The workspace; made from the shipped knowledge where there is none.
        cache: Where a text model is kept.
        budget_s: Processor time that a question may take.
    """

    def __init__(self, workspace: Path, cache: Path, *, budget_s: float = BUDGET_S) -> None:
        if not Workspace.exists(workspace):
            Workspace.create(workspace, cache=cache, text_model=None)
        self._workspace = _SharedWorkspace.open(workspace, cache=cache)
        self.budget_s = budget_s

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._workspace.snapshot.close()

    @property
    def workspace(self) -> Workspace:
        """The workspace that answers."""
        return self._workspace

    def run(self, words: Sequence[str]) -> CommandResult:
        """Run one command line."""
        out, err = io.StringIO(), io.StringIO()

        def opened(*_: object) -> Workspace:
            return self._workspace

        def stop(*_: Any) -> None:
            raise BudgetSpentError

        callbacks = gc.callbacks[:]
        gc.callbacks.clear()  # of other programs: one would hold up the end of the time
        before = signal.signal(signal.SIGPROF, stop)
        begun = time.process_time()
        signal.setitimer(signal.ITIMER_PROF, self.budget_s, _AGAIN_S)
        try:
            with (
                patch.object(Places, "open", opened),
                patch.object(sys, "argv", ["tunegraph", *words]),
                redirect_stdout(out),
                redirect_stderr(err),
            ):
                main()
            code = 0
        except SystemExit as ended:
            code = ended.code if isinstance(ended.code, int) else int(bool(ended.code))
        except BudgetSpentError:
            code = -2
        except Exception as broken:  # noqa: BLE001  whatever it is, it is what the law of exits forbids
            err.write(f"{type(broken).__name__}: {broken}")
            code = -1
        finally:
            signal.setitimer(signal.ITIMER_PROF, 0)
            signal.signal(signal.SIGPROF, before)
            gc.callbacks[:] = callbacks
        return CommandResult(
            code=code, out=out.getvalue(), err=err.getvalue(), cpu_s=time.process_time() - begun
        )
