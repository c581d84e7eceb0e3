"""Published copies of the live graph, which readers open.

``graph/live`` is open in one process only. After a batch it is copied to ``graph/published/N``, by hard
links where the file system has them, and ``graph/CURRENT`` is switched to name the copy. A reader holds
a shared lock on the folder it reads, so pruning leaves that alone.
"""

import fcntl
import os
import shutil
from contextlib import suppress
from pathlib import Path

from kg.errors import WorkspaceError
from kg.triples.graph import GraphStore
from kg.triples.serialisation import newest_batch

KEPT = 3
"""Snapshots kept besides those in use: a reader may just have read the name of an older one."""

_ATTEMPTS = 5
_BLOCKS = ".sst"
_SAYS_NOTHING = ("LOCK", "LOG")
"""Files of a database of triples that say nothing of its content."""


def publish(store: GraphStore, folder: Path, *, after: int = 0) -> int:
    """Copy the live graph for readers and switch to the copy; only the writer may.

    Args:
        store: The live graph.
        folder: The workspace's ``graph`` folder.
        after: Number of a snapshot elsewhere that this one follows: readers tell two snapshots apart by
            their numbers.

    Returns:
        The number of the snapshot.

    Raises:
        WorkspaceError: The folder cannot be written to, or is full; readers keep the one they had.
    """
    published = folder / "published"
    try:
        published.mkdir(parents=True, exist_ok=True)
        number = max([after, *_numbers(published)]) + 1
        draft = published / f".{number}"
        shutil.rmtree(draft, ignore_errors=True)  # left by a writer that was killed
        try:
            try:
                store.backup(draft)
            except WorkspaceError:  # no hard links here, or no room: then copying fails too
                shutil.rmtree(draft, ignore_errors=True)
                _copy(store, draft)
            draft.rename(published / str(number))
        except BaseException:
            shutil.rmtree(draft, ignore_errors=True)  # a full disk wants its room back
            raise
        name = folder / "CURRENT.new"
        name.write_text(f"{number}\n", encoding="ascii")
        name.replace(folder / "CURRENT")
    except OSError as error:
        raise WorkspaceError(f"the graph in {folder} cannot be published: {error}") from error
    prune(folder)
    return number


def newest(folder: Path) -> Path | None:
    """Return the folder of the newest snapshot; None before the first.

    Raises:
        WorkspaceError: ``CURRENT`` is damaged.
    """
    current = folder / "CURRENT"
    try:
        return folder / "published" / str(int(current.read_text(encoding="ascii")))
    except FileNotFoundError:
        return None
    except (ValueError, OSError) as error:
        raise WorkspaceError(f"{current} is damaged: {error}", hint="tunegraph doctor --repair") from error


def newest_number(folder: Path) -> int:
    """Return the number of the newest snapshot; 0 where there is none or it cannot be told."""
    try:
        return int((folder / "CURRENT").read_text(encoding="ascii"))
    except (OSError, ValueError):
        return 0


def published_batch(folder: Path) -> int | None:
    """Return the newest batch of the newest snapshot; None where that cannot be told."""
    try:
        with open_newest(folder) as graph:
            return newest_batch(graph)
    except WorkspaceError:
        return None


def share(folder: Path, target: Path) -> None:
    """Copy a snapshot that is open to a new folder; its blocks, which never change, by links where possible.

    Raises:
        OSError: It cannot be read, or the copy cannot be written.
    """
    target.mkdir(parents=True)
    for path in folder.iterdir():
        if not path.is_file() or path.name.startswith(_SAYS_NOTHING):
            continue
        if path.suffix == _BLOCKS:
            with suppress(OSError):  # another file system, or no right to link
                os.link(path, target / path.name)
                continue
        shutil.copyfile(path, target / path.name)


def open_newest(folder: Path) -> GraphStore:
    """Open the newest snapshot for reading.

    Raises:
        WorkspaceError: There is none, or it is damaged.
    """
    for attempt in range(_ATTEMPTS):
        path = newest(folder)
        if path is None:
            raise _nothing_current(folder)
        try:
            return GraphStore(path, read_only=True)
        except WorkspaceError:
            if attempt == _ATTEMPTS - 1 or newest(folder) == path:
                raise
    raise AssertionError("the last attempt returns or raises")


def _nothing_current(folder: Path) -> WorkspaceError:
    """Explain why there is nothing to open: no snapshot yet, or the name of the newest is lost."""
    published = folder / "published"
    if published.is_dir() and _numbers(published):
        return WorkspaceError(
            f"{folder / 'CURRENT'} is missing, which names the newest of the graphs in {published}",
            hint="tunegraph doctor --repair",
        )
    return WorkspaceError(f"{folder} has no published graph", hint="tunegraph doctor --repair makes it again")


def prune(folder: Path, keep: int = KEPT) -> list[int]:
    """Delete old snapshots, except the ``keep`` newest and those that are open; returns their numbers."""
    published = folder / "published"
    old = sorted(_numbers(published))[:-keep]
    return [number for number in old if _delete_unused(published / str(number))]


def _numbers(published: Path) -> list[int]:
    return [int(entry.name) for entry in published.iterdir() if entry.name.isdecimal()]


def _copy(store: GraphStore, folder: Path) -> None:
    with GraphStore(folder) as copy:
        copy.bulk_extend(store.triples())
        copy.flush()


def _delete_unused(folder: Path) -> bool:
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        with suppress(OSError):
            shutil.rmtree(folder)
    except OSError:  # open in a reader, or on a file system without locks
        return False
    finally:
        os.close(descriptor)
    return not folder.exists()
