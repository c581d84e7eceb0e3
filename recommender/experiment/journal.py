"""The log of an experiment: what it is, then every sample as it comes, each on the disk before the next run.

One JSON object a line, appended and flushed to the disk; nothing is ever changed. A line that a crash cut
off is the last one, and goes when the experiment is resumed. The file is the experiment: ``ab show`` and a
resumed run read nothing else. A mark beside it notes its length: lines that went at its end are noticed.
"""

import fcntl
import itertools
import json
import os
import re
import zlib
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Self

from kg.errors import InputError, UnknownEntityError, WorkspaceError
from kg.nouns.values import load_json
from recommender.experiment.design import ExperimentDesign
from recommender.experiment.metadata import ExperimentMetadata
from recommender.experiment.samples import Sample

FORMAT = 1
SUFFIX = ".jsonl"
MARK = ".mark"
"""Ending of the file beside a log that holds the log's length in bytes; it may be older, and never newer."""

_CHECK = b',"check":'
"""Text before the CRC-32 at the end of a line."""
_NAME = re.compile(r"^[A-Za-z0-9][A-Za-z0-9._-]{0,79}$")


@dataclass(frozen=True, slots=True, kw_only=True)
class Logged:
    """The content of an experiment's log.

    Attributes:
        name: Name of the experiment.
        design: What was fixed before.
        about: How its arms run, what they try, and where it was begun.
        samples: Everything measured, in order.
        concluded: How it ended: the last conclusion; empty while it has none.
    """

    name: str
    design: ExperimentDesign
    about: ExperimentMetadata
    samples: tuple[Sample, ...]
    concluded: Mapping[str, object]

    def page_content(self) -> dict[str, Any]:
        """Content of the report page: the design, the state, and the course of each interval."""
        from recommender.experiment.standing import standing
        from recommender.report.sections.experiment import MOST_TRACK

        state = standing(self.samples, self.design)
        content: dict[str, Any] = {"name": self.name, "design": self.design.to_json(), **state.to_json()}
        for plain, item in zip(content["treatments"], state.comparisons, strict=True):
            every = max(1, len(item.track) // MOST_TRACK)
            kept = sorted({*range(0, len(item.track), every), len(item.track) - 1}) if item.track else []
            plain["track"] = [[at + 1, *(float(f"{value:.5g}") for value in item.track[at])] for at in kept]
        return content


class ExperimentJournal:
    """A log that is being written; a context manager.

    Args:
        path: The file; made with a first line if it does not exist.
        design: What is fixed.
        about: What else to keep in the first line.

    Raises:
        InputError: The file is of another experiment.
        WorkspaceError: Another process writes to it, or it cannot be written.
    """

    def __init__(self, path: Path, design: ExperimentDesign, about: ExperimentMetadata) -> None:
        self.path = path
        self._design = design
        self._about = about

    def __enter__(self) -> Self:
        is_new = not self.path.exists()
        self._descriptor = open_alone(
            self.path, f"experiment {self.path.stem}", "wait for it, or give another --name"
        )
        try:
            self._begin(is_new=is_new)
        except BaseException:
            os.close(self._descriptor)
            raise
        return self

    def _begin(self, *, is_new: bool) -> None:
        if is_new:
            self.path.with_suffix(MARK).unlink(missing_ok=True)
        if _noted_bytes(self.path):
            read(self.path)  # refuses a log whose end is missing before anything is cut
        cut_torn_line(self.path, self._descriptor)
        if not self.path.stat().st_size:
            self._append({"format": FORMAT, "design": self._design.to_json(), **self._about.to_json()})
            self.samples: list[Sample] = []
            return
        before = read(self.path)
        if before.design.digest != self._design.digest:
            changed = [
                key
                for key, value in self._design.to_json().items()
                if value != before.design.to_json().get(key)
            ]
            raise InputError(
                f"experiment {self.path.stem} was begun with another {', '.join(changed)}",
                hint="resume it as it was (tunegraph ab run --resume NAME), or give another --name",
            )
        self.samples = list(before.samples)

    def __exit__(self, *_: object) -> None:
        os.close(self._descriptor)

    def add(self, *samples: Sample) -> None:
        """Keep samples; they are on the disk when this returns."""
        self._append(*({"sample": sample.to_json()} for sample in samples))
        self.samples += samples

    def conclude(self, conclusion: Mapping[str, object]) -> None:
        """Keep how it ended."""
        self._append({"conclusion": conclusion})

    def _append(self, *lines: Mapping[str, object]) -> None:
        texts = (json.dumps(line, ensure_ascii=False, separators=(",", ":")).encode() for line in lines)
        content = b"".join(b"%b%b%d}\n" % (text[:-1], _CHECK, zlib.crc32(text)) for text in texts)
        append_whole(self.path, self._descriptor, content)
        with suppress(OSError):  # the older mark is true too
            draft = self.path.with_suffix(f"{MARK}.new")
            draft.write_text(f"{os.fstat(self._descriptor).st_size}\n", encoding="ascii")
            draft.replace(self.path.with_suffix(MARK))


def path_of(folder: Path, name: str) -> Path:
    """The log of an experiment by its name.

    Raises:
        InputError: The name cannot be that of a file.
    """
    if not _NAME.match(name):
        raise InputError(f"{name!r} is no name of an experiment", hint="letters, digits, . _ -")
    return folder / f"{name}{SUFFIX}"


def claim_name(folder: Path, kind: str = "ab") -> str:
    """A name of a kind that no other experiment has or gets, even one begun elsewhere in the same second.

    Raises:
        WorkspaceError: The folder cannot be written.
    """
    moment = f"{kind}-{datetime.now(UTC):%Y%m%d-%H%M%S}"
    name, further = moment, itertools.count(2)
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        while not _is_made(path_of(folder, name)):
            name = f"{moment}-{next(further)}"
    except OSError as error:
        raise WorkspaceError(f"{folder} cannot be written: {error.strerror}") from None
    return name


def _is_made(path: Path) -> bool:
    try:
        path.touch(mode=0o600, exist_ok=False)
    except FileExistsError:
        return False
    return True


def names(folder: Path) -> list[str]:
    """Names of the experiments in a folder, the newest last; one that was killed as it began is none."""
    if not folder.is_dir():
        return []
    begun = filter(_is_begun, folder.glob(f"*{SUFFIX}"))
    found = sorted(begun, key=lambda path: (path.stat().st_mtime, path.name))
    return [path.name.removesuffix(SUFFIX) for path in found]


def find(folder: Path, name: str) -> Logged:
    """An experiment by its name.

    Raises:
        UnknownEntityError: There is none.
        WorkspaceError: Its log is damaged.
    """
    path = path_of(folder, name)
    if not path.is_file() or not _is_begun(path):
        known = ", ".join(names(folder)[-10:]) or "there is none yet"
        raise UnknownEntityError(f"no experiment named {name!r}", hint=f"known: {known}")
    return read(path)


def _is_begun(path: Path) -> bool:
    """True if a log has or once had its first line: nothing is measured before that is on the disk."""
    try:
        return path.with_suffix(MARK).exists() or b"\n" in path.read_bytes()
    except OSError:
        return True  # whoever reads it says what is wrong


def read(path: Path) -> Logged:
    """Read the log of an experiment; a torn last line is passed over.

    Raises:
        WorkspaceError: It cannot be read, its end is missing, or a line within it is damaged.
    """
    noted = _noted_bytes(path)  # before the log, which may grow
    try:
        lines = path.read_bytes().split(b"\n")
    except OSError as error:
        raise WorkspaceError(f"{path} cannot be read: {error.strerror}") from None
    about = ExperimentMetadata()
    design: ExperimentDesign | None = None
    samples: list[Sample] = []
    concluded: Mapping[str, object] = {}
    for number, line in enumerate(lines[:-1], 1):  # behind the last line feed stands nothing, or a torn line
        try:
            content = load_json(_checked(line))
            if number == 1:
                about, design = _first_line(content)
            elif "sample" in content:
                samples.append(Sample.from_json(content["sample"]))
            elif "conclusion" in content:
                concluded = content["conclusion"]
        except (ValueError, KeyError, TypeError, InputError) as fault:
            raise WorkspaceError(
                f"{path}: line {number} is damaged ({fault})", hint="restore the file, or begin anew"
            ) from None
    if (size := sum(map(len, lines)) + len(lines) - 1) < noted:
        raise WorkspaceError(
            f"{path}: the end is missing: {size:,} bytes of the {noted:,} that were written",
            hint=f"restore it from a backup, or delete {path.with_suffix(MARK)} to go on with what is left",
        )
    if design is None:
        raise WorkspaceError(f"{path} holds no experiment: it was cut off at its first line")
    return Logged(
        name=path.name.removesuffix(SUFFIX),
        design=design,
        about=about,
        samples=tuple(samples),
        concluded=concluded,
    )


def _noted_bytes(path: Path) -> int:
    """The length that the mark of a log notes; 0 where there is none, as beside logs of earlier programs.

    Raises:
        WorkspaceError: The mark is damaged.
    """
    mark = path.with_suffix(MARK)
    try:
        return int(mark.read_text(encoding="ascii"))
    except FileNotFoundError:
        return 0
    except (OSError, ValueError) as fault:
        raise WorkspaceError(f"{mark} is damaged ({fault})", hint="delete it if the log is intact") from None


def _checked(line: bytes) -> bytes:
    """Return a line without its checksum; lines of earlier programs have none.

    Raises:
        ValueError: The checksum differs.
    """
    text, mark, check = line.rpartition(_CHECK)
    if not mark:
        return line
    if zlib.crc32(text + b"}") != int(check.removesuffix(b"}")):
        raise ValueError("it is not what was written")
    return text + b"}"


def _first_line(content: dict[str, Any]) -> tuple[ExperimentMetadata, ExperimentDesign]:
    if content["format"] != FORMAT:
        raise ValueError(f"format {content['format']}, this program reads {FORMAT}")
    return ExperimentMetadata.from_json(content), ExperimentDesign.from_json(content["design"])


def open_alone(path: Path, what: str, hint: str) -> int:
    """The descriptor of a log that this process alone appends to; made if there is none.

    Raises:
        WorkspaceError: Another process has it, or it cannot be written.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o600)
    except OSError as error:
        raise WorkspaceError(f"{path} cannot be written: {error.strerror}") from None
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(descriptor)
        raise WorkspaceError(f"{what} is being run by another process", hint=hint) from None
    return descriptor


def append_whole(path: Path, descriptor: int, content: bytes) -> None:
    """Append lines, together or not at all; they are on the disk when this returns.

    Raises:
        WorkspaceError: There is no room for them.
    """
    before = os.fstat(descriptor).st_size
    try:
        while content:
            content = content[os.write(descriptor, content) :]
        os.fsync(descriptor)
    except OSError as error:
        os.ftruncate(descriptor, before)
        raise WorkspaceError(
            f"{path} cannot be written: {error.strerror}",
            hint="what was measured before is kept: make room and resume",
        ) from None


def cut_torn_line(path: Path, descriptor: int) -> None:
    """Take away what stands behind the last line feed: a crash cut it off, and nobody counted on it."""
    content = path.read_bytes()
    whole = content.rfind(b"\n") + 1
    if whole < len(content):
        os.ftruncate(descriptor, whole)
        os.fsync(descriptor)
