"""The journal of a tune: what it is, then every event as it happens, each on the disk before the next begins.

One JSON object a line. A tune that was killed goes on from it: what was measured is not measured again.
"""

import json
import os
import re
import threading
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Self

from kg.errors import InputError, UnknownEntityError, WorkspaceError
from kg.nouns.values import load_json
from recommender.experiment.journal import append_whole, cut_torn_line, open_alone
from recommender.tune.tune_result import TuneResult

FORMAT = 1
JOURNAL = "journal.jsonl"
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")


class TuneJournal:
    """A journal that is being written; a context manager.

    Args:
        folder: Of the tune; made if it does not exist.
        about: The first line of a new one.

    Raises:
        WorkspaceError: Another process writes to it, or it cannot be written.
    """

    def __init__(self, folder: Path, about: Mapping[str, object]) -> None:
        self.folder = folder
        self._about = about
        self.events: list[Mapping[str, Any]] = []
        self._turn = threading.RLock()

    def __enter__(self) -> Self:
        path = self.folder / JOURNAL
        self._descriptor = open_alone(path, f"tune {self.folder.name}", "wait for it, or end it")
        try:
            self._begin(path)
        except BaseException:
            os.close(self._descriptor)
            raise
        return self

    def _begin(self, path: Path) -> None:
        cut_torn_line(path, self._descriptor)
        if not path.stat().st_size:
            self.note("begun", format=FORMAT, about=self._about, time=_moment())
            return
        self.events = read_events(self.folder)
        self.note("resumed", time=_moment())

    def __exit__(self, *_: object) -> None:
        os.close(self._descriptor)

    def note(self, event: str, /, **facts: object) -> None:
        """Write an event; on the disk when this returns.

        Raises:
            WorkspaceError: There is no room for it.
        """
        line = json.dumps({"event": event, **facts}, ensure_ascii=False)
        with self._turn:
            append_whole(self.folder / JOURNAL, self._descriptor, line.encode() + b"\n")
            self.events.append(load_json(line))

    def start(self, name: str, on: str = "") -> int:
        """Write that a configuration is started on a machine; the number of the start."""
        with self._turn:
            number = [event["event"] for event in self.events].count("start")  # those that were cut off too
            self.note("start", number=number, name=name, **({"on": on} if on else {}))
        return number

    def last(self, name: str) -> Mapping[str, Any] | None:
        """The last event of a name; None if there is none."""
        return next((item for item in reversed(self.events) if item["event"] == name), None)

    def measured(self) -> Iterator[tuple[str, TuneResult]]:
        """Results of the search so far, each with the digest of its edits and machine."""
        for event in self.events:
            if event["event"] == "measured":
                yield str(event["digest"]), TuneResult.from_json(event["result"])


def read_events(folder: Path) -> list[Mapping[str, Any]]:
    """The events of a tune.

    Raises:
        WorkspaceError: Its journal is damaged.
    """
    path = folder / JOURNAL
    found: list[Mapping[str, Any]] = []
    try:
        for line in path.read_bytes().split(b"\n")[:-1]:
            event = load_json(line)
            found.append({**event, "event": str(event["event"])})
        if found[0]["format"] != FORMAT:
            raise WorkspaceError(f"{path} is of another format")
    except OSError as error:
        raise WorkspaceError(f"{path} cannot be read: {error.strerror}") from None
    except (ValueError, KeyError, IndexError, TypeError):
        raise WorkspaceError(f"{path} is damaged at line {len(found) + 1}") from None
    return found


def tune_names(folder: Path) -> list[str]:
    """The names of the tunes in a folder, the newest last."""
    if not folder.is_dir():
        return []
    journals = [path / JOURNAL for path in folder.iterdir() if (path / JOURNAL).is_file()]
    return [path.parent.name for path in sorted(journals, key=lambda path: path.stat().st_mtime)]


def folder_of(folder: Path, name: str) -> Path:
    """The folder of a tune that was begun; of the newest one without a name.

    Raises:
        UnknownEntityError: There is none.
        InputError: It is no name.
    """
    names = tune_names(folder)
    if not names:
        raise UnknownEntityError("no tune was begun in this workspace")
    if not name:
        return folder / names[-1]
    if not _NAME.fullmatch(name):
        raise InputError(f"a tune has no name like {name!r}")
    if name not in names:
        raise UnknownEntityError(f"no tune {name!r}", hint=f"known: {', '.join(names[-8:])}")
    return folder / name


def _moment() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")
