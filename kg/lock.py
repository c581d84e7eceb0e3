"""One writer at a time, and it is named.

The lock is the kernel's and ends with the process that holds it, however that ends. What stands in the
file is only for the message that others get: when it is stale, nobody reads it.
"""

import fcntl
import json
import os
import re
import shlex
import socket
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Self

from kg.errors import WorkspaceError

_NETWORKED = re.compile(
    r"(fuse\.)?(9p|afs|beegfs|ceph|cifs|glusterfs|gpfs|juicefs|lustre|nfs4?|smb3|sshfs|wekafs)"
)


def network_file_system(path: Path, mounts: Path = Path("/proc/self/mountinfo")) -> str:
    """The kind of network file system that a path lies on; empty for a local one, and where nothing tells."""
    try:
        lines = mounts.read_text().splitlines()
    except OSError:
        return ""
    kinds = {}
    for line in lines:
        mount, _, device = line.partition(" - ")
        kinds[Path(mount.split()[4].replace("\\040", " "))] = device.split()[0]
    absolute = path.resolve()
    kind = next((kinds[place] for place in (absolute, *absolute.parents) if place in kinds), "")
    return kind if _NETWORKED.fullmatch(kind) else ""


class WriterLock:
    """Held while a process writes to a workspace.

    Args:
        path: The lock file; made if it does not exist, never deleted.
        command: What the holder is doing; the command line of this process if not given.
        now: When it began; the present if not given.

    Attributes:
        was_left: The holder before did not come to its end: it was killed, or failed.

    Raises:
        WorkspaceError: Another writer holds it, or the folder cannot be written to.
    """

    def __init__(self, path: Path, *, command: str | None = None, now: datetime | None = None) -> None:
        try:
            self._descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o644)
        except OSError as error:
            raise WorkspaceError(
                f"{path.parent} cannot be written to: {error.strerror}",
                hint="choose another workspace, or change who may write there",
            ) from error
        try:
            fcntl.flock(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            holder = _holder(self._descriptor)
            os.close(self._descriptor)
            raise WorkspaceError(
                f"{path.parent} is being written to by {holder}",
                hint="wait until it is done, or end that process; reading goes on meanwhile",
            ) from None
        except OSError as error:
            os.close(self._descriptor)
            raise WorkspaceError(
                f"{path.parent} cannot be locked: {error.strerror}",
                hint="keep the workspace on a local file system",
            ) from error
        about = {
            "pid": os.getpid(),
            "host": socket.gethostname(),
            "since": (now or datetime.now(UTC)).isoformat(timespec="seconds"),
            "command": command or shlex.join(sys.argv),
        }
        self.was_left = os.fstat(self._descriptor).st_size > 0
        os.ftruncate(self._descriptor, 0)
        try:
            os.pwrite(self._descriptor, json.dumps(about).encode(), 0)
        except OSError as error:
            self.release()
            raise WorkspaceError(
                f"{path.parent} cannot be written to: {error.strerror}", hint="make room, and do it again"
            ) from None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.release()

    def finish(self) -> None:
        """Mark the work as complete; the next holder need not look after it."""
        os.ftruncate(self._descriptor, 0)

    def release(self) -> None:
        """Release the lock; releasing twice does nothing."""
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1


def is_held(path: Path) -> bool:
    """Return whether a process is writing to the workspace of a lock file."""
    try:
        descriptor = os.open(path, os.O_RDONLY)
    except OSError:  # never written to, or not ours to read
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:  # a file system without locks
        return False
    finally:
        os.close(descriptor)
    return False


def _holder(descriptor: int) -> str:
    """Describe the holder of the lock; it may not have written the file yet."""
    try:
        about = json.loads(os.pread(descriptor, 1 << 16, 0))
        return "`{command}` (process {pid} on {host}, since {since})".format(**about)
    except (ValueError, KeyError, TypeError, RecursionError):
        return "another process"
