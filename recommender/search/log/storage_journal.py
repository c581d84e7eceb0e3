"""Optuna's journal in one file, made to survive being killed at any moment.

The content is that of Optuna's own ``JournalFileBackend``, one operation a line, and either reads the
other's. What differs: the lock is the kernel's and goes with the process that held it; a line that a crash
cut is cut off before the next is written; a file that is gone is waited for and never made anew.
"""

import fcntl
import json
import logging
import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, TypeVar

from kg.errors import WorkspaceError
from kg.nouns.values import load_json

T = TypeVar("T")

PATIENCE_S = 60.0
"""Wait for a storage that is away; a choice."""
PRIVATE = 0o600
"""Mode of a new log: it holds the commands and paths of its user."""
_FIRST_S, _LONGEST_S = 0.1, 5.0

_log = logging.getLogger(__name__)


class StorageJournal:
    """A backend for Optuna's ``JournalStorage``.

    Args:
        path: The file; it is there, or made if ``create``.
        create: Make it if it is not there.
        patience_s: How long to wait for it when it is away.

    Raises:
        WorkspaceError: It is not there, or cannot be read or written.
    """

    def __init__(self, path: Path, *, create: bool = False, patience_s: float = PATIENCE_S) -> None:
        self.path = path
        self._patience_s = patience_s
        self._offsets = {0: 0}
        self._held: IO[bytes] | None = None
        try:
            if create:
                os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, PRIVATE))
            with path.open("rb"):
                pass
        except OSError as trouble:
            raise WorkspaceError(
                f"{path}: {trouble.strerror}", hint="which search? give its file or its URL"
            ) from trouble

    def read_logs(self, log_number_from: int) -> Iterator[dict[str, Any]]:
        """Operations from a number on; a last line that is not whole is not there yet.

        Raises:
            WorkspaceError: The file stayed away, or is no journal.
        """
        start = max(number for number in self._offsets if number <= log_number_from)
        offset = self._offsets[start]

        def content() -> bytes:
            with self.path.open("rb") as stream:
                stream.seek(offset)
                return stream.read()

        lines = patiently(content, str(self.path), self._patience_s).split(b"\n")
        for number, line in enumerate(lines[:-1], start):
            offset += len(line) + 1
            try:
                operation = load_json(line)
                _ = operation["op_code"], operation["worker_id"]
            except (ValueError, KeyError, TypeError):
                raise WorkspaceError(
                    f"{self.path}: line {number + 1} is no operation of a journal",
                    hint="the file was changed by something else: restore it, or begin anew",
                ) from None
            self._offsets[number + 1] = offset
            if number >= log_number_from:
                yield operation

    def append_logs(self, logs: list[dict[str, Any]]) -> None:
        """Append operations: on disk when this returns.

        Raises:
            WorkspaceError: The file stayed away, or cannot be written.
        """
        text = "".join(json.dumps(item, separators=(",", ":")) + "\n" for item in logs).encode()

        def append() -> None:
            with self._locked() as stream:
                end = _whole(stream)
                try:
                    rest = memoryview(text)
                    while rest:
                        rest = rest[stream.write(rest) :]
                    os.fsync(stream.fileno())
                except OSError:  # a full disk: what was written in part must not stay
                    stream.truncate(end)
                    raise

        patiently(append, str(self.path), self._patience_s)

    @contextmanager
    def exclusive(self) -> Iterator[None]:
        """Keep all other workers of this journal from writing until the end of the block.

        Raises:
            WorkspaceError: The file stayed away.
        """
        stream = patiently(lambda: self.path.open("r+b", buffering=0), str(self.path), self._patience_s)
        with stream:
            fcntl.flock(stream, fcntl.LOCK_EX)
            self._held = stream
            try:
                yield
            finally:
                self._held = None

    @contextmanager
    def _locked(self) -> Iterator[IO[bytes]]:
        if self._held is not None:
            yield self._held
            return
        with self.path.open("r+b", buffering=0) as stream:  # never makes the file
            fcntl.flock(stream, fcntl.LOCK_EX)
            yield stream


def _whole(stream: IO[bytes]) -> int:
    """Cut what stands behind the last line end; the size that is left, where the stream now stands."""
    end = stream.seek(0, os.SEEK_END)
    at = end
    while at > 0:
        step = min(4096, at)
        stream.seek(at - step)
        found = stream.read(step).rfind(b"\n")
        if found >= 0:
            at = at - step + found + 1
            break
        at -= step
    if at != end:
        _log.warning("cut %d bytes that a crash left half-written", end - at)
        stream.truncate(at)
    stream.seek(at)
    return at


def patiently(
    action: Callable[[], T],
    what: str,
    patience_s: float = PATIENCE_S,
    trouble: tuple[type[Exception], ...] = (OSError,),
    reason: Callable[[Exception], str | None] = lambda fault: getattr(fault, "strerror", None) or str(fault),
) -> T:
    """Do something that may fail for a while, again and again, longer apart each time.

    The first failure and the return are logged, as warnings.

    Args:
        action: What to do; it must do nothing where it fails.
        what: The storage, for the message.
        patience_s: After which it is given up.
        trouble: What may count as being away.
        reason: Says of such an error why the storage is away; None where trying again is of no use, which
            raises it.

    Raises:
        WorkspaceError: It stayed away.
    """
    started, pause, was_away = time.monotonic(), _FIRST_S, False
    while True:
        try:
            done = action()
        except trouble as fault:
            said = reason(fault)
            if said is None:
                raise
            if time.monotonic() + pause > started + patience_s:
                raise WorkspaceError(
                    f"the log of the search, {what}, cannot be reached: {said}",
                    hint="what was told before is kept: when it is back, tunegraph search resume",
                ) from fault
            if not was_away:
                _log.warning("%s cannot be reached (%s): trying for %.0f s", what, said, patience_s)
            was_away = True
            time.sleep(pause)
            pause = min(2 * pause, _LONGEST_S)
        else:
            if was_away:
                _log.warning("%s is back after %.1f s", what, time.monotonic() - started)
            return done
