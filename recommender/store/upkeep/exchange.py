"""A new folder put in the place of an old one, in one step where the system has one."""

import ctypes
import errno
import os
from pathlib import Path

_AT_WORKING_DIRECTORY = -100
_RENAME_EXCHANGE = 2
"""Both from linux/fcntl.h and linux/fs.h; see renameat2(2)."""


def put_in_place(fresh: Path, place: Path) -> Path | None:
    """Put a folder in place of another; the one that was there is renamed.

    Where the system cannot exchange two folders in one step they are renamed one after the other; a crash
    between the two leaves the old one whole under its new name.

    Args:
        fresh: The new folder, on the same file system.
        place: Where it goes; there may be nothing, or an empty folder.

    Returns:
        Where the old folder is now; None if there was none.

    Raises:
        OSError: It cannot be done; the old folder is where it was.
    """
    if not place.exists() or not any(place.iterdir()):
        fresh.rename(place)
        return None
    aside = name_aside(place, "before-restore")
    fresh.rename(aside)  # so the old one comes out under a name that it keeps, and is never where it is swept
    is_done = False
    try:
        is_done = _exchange(aside, place)
    finally:
        if not is_done:
            aside.rename(fresh)
    if not is_done:
        place.rename(aside)
        try:
            fresh.rename(place)
        except OSError:
            aside.rename(place)
            raise
    return aside


def _exchange(one: Path, other: Path) -> bool:
    """Exchange two folders; returns whether the system can."""
    rename = getattr(ctypes.CDLL(None, use_errno=True), "renameat2", None)
    if rename is None:
        return False
    paths = os.fsencode(one), os.fsencode(other)
    if not rename(_AT_WORKING_DIRECTORY, paths[0], _AT_WORKING_DIRECTORY, paths[1], _RENAME_EXCHANGE):
        return True
    code = ctypes.get_errno()
    if code in {errno.ENOSYS, errno.EINVAL, errno.EXDEV, errno.ENOTSUP}:
        return False
    raise OSError(code, os.strerror(code), str(other))


def name_aside(path: Path, why: str) -> Path:
    """A name beside a path that nothing has yet, such as ``live.damaged-1``."""
    number = 1
    while (aside := path.with_name(f"{path.name}.{why}-{number}")).exists():
        number += 1
    return aside
