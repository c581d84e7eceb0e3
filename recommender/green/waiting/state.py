"""The state of a waiter on disk: what it waits with, and the locks that keep others off."""

import fcntl
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import IO, Self
from urllib.parse import quote

from kg.atomic_files import write_json
from kg.nouns.codec import JsonNoun, in_json
from kg.nouns.values import load_json


@dataclass(frozen=True, slots=True, kw_only=True)
class WaitState(JsonNoun):
    """State that a waiter keeps over its own restart.

    Attributes:
        state: ``waiting`` or ``running``.
        deadline: The one it was given first.
        command: Program and arguments.
        waiter: Process of the waiter.
        process: Process of the command; None before it begins.
    """

    state: str
    deadline: datetime = field(metadata=in_json(write=datetime.isoformat))
    command: Sequence[str] = ()
    waiter: int = 0
    process: int | None = None

    @classmethod
    def read(cls, path: Path) -> Self | None:
        """The state in a file; None where there is none, or a damaged one."""
        try:
            state = cls.from_json(load_json(path.read_text(encoding="utf-8")))
        except (OSError, ValueError):
            return None
        return state if state.deadline.tzinfo is not None else None

    def write(self, path: Path) -> None:
        """Keep it.

        Raises:
            OSError: It cannot be written.
        """
        write_json(path, self.to_json())


class HeldLock:
    """A lock on a file that processes share by inheriting it: it lasts until one lets it go or all are gone.

    Args:
        path: Of the file.

    Raises:
        OSError: It cannot be opened.
    """

    def __init__(self, path: Path) -> None:
        self._stream: IO[str] = path.open("w", encoding="ascii")

    @classmethod
    def of_device(cls, folder: Path, device: str) -> Self:
        """The lock of a device, by any name."""
        return cls(folder / f"device-{quote(device, safe='')}.lock")

    @property
    def descriptor(self) -> int:
        """File descriptor for the process that inherits it."""
        return self._stream.fileno()

    def take(self) -> bool:
        """Take it; False where another holds it."""
        try:
            fcntl.flock(self._stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True

    def close(self, *, lets_go: bool) -> None:
        """Close it here; ``lets_go`` also ends it for those who inherited it."""
        if lets_go:
            fcntl.flock(self._stream, fcntl.LOCK_UN)
        self._stream.close()
