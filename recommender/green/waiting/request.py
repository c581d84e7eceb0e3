"""A command that waits, and the clocks by which it does."""

from __future__ import annotations

import hashlib
import os
import time
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from recommender.green.plan import GreenJob


@dataclass(frozen=True, slots=True, kw_only=True)
class WaitRequest:
    """A command that waits.

    Attributes:
        command: Program and arguments.
        job: How long it runs and by when; its deadline is the first one given, also after a restart.
        region: Of the grid.
        name: Name of its state, any text; made from the command where empty.
        devices: Devices it runs on; one waiter at a time runs a command on each.
        pauses_by: ``stop`` pauses a split job with SIGSTOP, ``restart`` ends it with SIGTERM and starts it
            again.
        folder: Where the command runs.
    """

    command: tuple[str, ...]
    job: GreenJob
    region: str = ""
    name: str = ""
    devices: tuple[str, ...] = ()
    pauses_by: str = "stop"
    folder: str = "."

    @property
    def key(self) -> str:
        """Name of its files: a digest of the given name, or of command, folder and region."""
        text = self.name or "\0".join((os.path.realpath(self.folder), self.region, *self.command))
        return f"wait-{hashlib.sha256(text.encode(errors='surrogateescape')).hexdigest()[:16]}"


@dataclass(slots=True)
class Clocks:
    """The clocks and the sleep of a waiter: passed in, so that a test can live a night in a moment.

    Attributes:
        now: The wall clock, with its zone; may be set back.
        passed: Seconds that have truly passed since some moment.
        sleep: Sleeps that many seconds; the waiter's own if None, which a signal ends.
    """

    now: Callable[[], datetime] = field(default=lambda: datetime.now(UTC))
    passed: Callable[[], float] = time.monotonic
    sleep: Callable[[float], None] | None = None
