"""The process of a command that waited: begun, paused, let go on, and ended with all that it started."""

import os
import signal
import subprocess
import time
from collections.abc import Sequence

GRACE_S = 120.0
"""Time to save a checkpoint before a pause that ends the command: that of the signal of Slurm's hand-over."""


class WaitedCommand:
    """A command as a process group of its own.

    It inherits the locks that its waiter holds: they last while it lives, even if its waiter is killed.

    Args:
        words: Program and arguments.
        folder: Where it runs.
        pauses_by: ``stop`` or ``restart``.
    """

    def __init__(self, words: Sequence[str], folder: str, pauses_by: str) -> None:
        self._words = words
        self._folder = folder
        self._pauses_by = pauses_by
        self._process: subprocess.Popen[bytes] | None = None
        self._locks: tuple[int, ...] = ()
        self.is_put_off = False  # ended by a pause, to begin again

    @property
    def pid(self) -> int | None:
        """Process id of the group; None before it begins."""
        return None if self._process is None else self._process.pid

    @property
    def is_alive(self) -> bool:
        """True if it runs or is stopped."""
        return self._process is not None and self._process.poll() is None

    def begin(self, locks: Sequence[int] = ()) -> None:
        """Start it.

        Args:
            locks: Descriptors of the locks it inherits.
        """
        self._locks = tuple(locks)
        self.is_put_off = False
        self._process = subprocess.Popen(
            self._words, cwd=self._folder, start_new_session=True, pass_fds=self._locks
        )

    def ends_within(self, seconds: float) -> bool:
        """Wait so many seconds for it to end; True if it did."""
        if self._process is None:
            return False
        try:
            self._process.wait(timeout=seconds)
        except subprocess.TimeoutExpired:
            return False
        return True

    def pause(self) -> bool:
        """Stop it, or end it with what it started; False where it has ended by itself."""
        if not self.is_alive:
            return False
        if self._pauses_by == "stop":
            self.send(signal.SIGSTOP)
            return True
        self.send(signal.SIGTERM)
        until = time.monotonic() + GRACE_S
        while (self.is_alive or self._has_group()) and time.monotonic() < until:
            time.sleep(0.02)
        self.send(signal.SIGKILL)
        self.end()
        self.is_put_off = True
        return True

    def resume(self) -> None:
        """Resume the process, or start it again."""
        if self._pauses_by == "stop":
            self.send(signal.SIGCONT)
        else:
            self.begin(self._locks)

    def send(self, number: int) -> None:
        """Send a signal to it and to what it started."""
        if self._process is not None:
            try:
                os.killpg(self._process.pid, number)
            except (ProcessLookupError, PermissionError):  # all have ended
                return

    def end(self) -> int:
        """Wait for its end, and return its exit code as a shell gives it."""
        if self._process is None:
            return 0
        code = self._process.wait()
        return code if code >= 0 else 128 - code

    def _has_group(self) -> bool:
        try:
            os.killpg(self.pid or 0, 0)
        except (ProcessLookupError, PermissionError):
            return False
        return True
