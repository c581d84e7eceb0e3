"""The journal of a tune: what it is, then every event as it happens, each on the disk before the next begins.

One JSON object a line. A tune that was killed goes on from it: what was measured is not measured again.
"""

from __future__ import annotations

import itertools
import json
import os
import re
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from kg.errors import InputError, UnknownEntityError, WorkspaceError
from recommender.experiment.journal import append_whole, cut_torn_line, open_alone
from recommender.tune.tune_result import TuneResult

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

FORMAT = 1
JOURNAL = "journal.jsonl"
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")


@dataclass(frozen=True, slots=True, kw_only=True)
class TuneEvent:
    """One event.

    Attributes:
        name: What happened.
        facts: What is to be known of it.
    """

    name: str
    facts: Mapping[str, Any]


class TuneJournal:
    """A journal that is being written; a context manager.

    Args:
        folder: Of the tune; made if it does not exist.
        about: The first line of a new one; an old one must have the same.

    Raises:
        InputError: The folder is of another tune.
        WorkspaceError: Another process writes to it, or it cannot be written.
    """

    def __init__(self, folder: Path, about: Mapping[str, object]) -> None:
        self.folder = folder
        self._about = json.loads(json.dumps(about))
        self.events: list[TuneEvent] = []

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
        before = self.events[0].facts["about"]
        if before != self._about:
            changed = [key for key in {**before, **self._about} if before.get(key) != self._about.get(key)]
            raise InputError(
                f"tune {self.folder.name} was begun with another {', '.join(sorted(changed))}",
                hint="begin a new one without --resume",
            )
        self.note("resumed", time=_moment())

    def __exit__(self, *_: object) -> None:
        os.close(self._descriptor)

    def note(self, event: str, /, **facts: object) -> None:
        """Write an event; on the disk when this returns.

        Raises:
            WorkspaceError: There is no room for it.
        """
        line = json.dumps({"event": event, **facts}, ensure_ascii=False)
        append_whole(self.folder / JOURNAL, self._descriptor, line.encode() + b"\n")
        self.events.append(TuneEvent(name=event, facts=json.loads(line)))

    def last(self, name: str) -> TuneEvent | None:
        """The last event of a name; None if there is none."""
        return next((item for item in reversed(self.events) if item.name == name), None)

    def measured(self) -> Iterator[tuple[str, TuneResult]]:
        """What was measured in the search, with the digest of its edits."""
        for event in self.events:
            if event.name == "measured":
                yield str(event.facts["digest"]), TuneResult.from_json(event.facts["result"])

    @property
    def starts(self) -> int:
        """Starts so far, those that were cut off too: the number of the next log."""
        return sum(event.name == "start" for event in self.events)


def read_events(folder: Path) -> list[TuneEvent]:
    """The events of a tune.

    Raises:
        WorkspaceError: Its journal is damaged.
    """
    path = folder / JOURNAL
    found: list[TuneEvent] = []
    try:
        for line in path.read_text(encoding="utf-8").splitlines():
            facts = json.loads(line)
            found.append(TuneEvent(name=facts["event"], facts=facts))
        if found[0].name != "begun" or found[0].facts["format"] != FORMAT:
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


def new_name(folder: Path) -> str:
    """A name that no other tune has or gets, even one begun elsewhere in the same second.

    Raises:
        WorkspaceError: The folder cannot be written.
    """
    name = moment = f"tune-{datetime.now(UTC):%Y%m%d-%H%M%S}"
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        for number in itertools.count(2):
            with suppress(FileExistsError):
                (folder / name).mkdir(mode=0o700)
                break
            name = f"{moment}-{number}"
    except OSError as error:
        raise WorkspaceError(f"{folder} cannot be written: {error.strerror}") from None
    return name


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
