"""Named versions of the knowledge: saved with a changelog, compared, gone back to.

A version holds what is known (hardware, models, bottlenecks, causes, strategies, trust of sources) and what
was learned of the workspace's own cases. It holds no evidence: problems, rows, outcomes and the effects
counted from them are what was measured, and going back to an older version does not unmeasure it.
"""

from __future__ import annotations

import gzip
import json
import os
import re
import shutil
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from kg.errors import InputError, UnknownEntityError, WorkspaceError
from kg.triples.knowledge_content import knowledge_content, lines, read_lines
from recommender.files import write_json

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from datetime import datetime
    from pathlib import Path

    from kg.triples.graph import GraphStore, Triple
    from recommender.files import WorkspaceFiles

NOW = "now"
"""Name of the knowledge as it stands."""

_NAME = re.compile(r"[A-Za-z0-9][\w.-]{0,63}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Version:
    """A saved version.

    Attributes:
        name: Its name.
        time: When it was saved, as ISO text.
        batch: Newest batch of the graph at that time.
        hardware: Ids of the hardware that it knows.
        changelog: What changed and why, a line each.
    """

    name: str
    time: str
    batch: int
    hardware: frozenset[str]
    changelog: tuple[str, ...]

    def to_json(self) -> dict[str, object]:
        """Return the content as JSON-ready values, without the hardware."""
        return {
            "name": self.name,
            "time": self.time,
            "batch": self.batch,
            "changelog": list(self.changelog),
        }


def versions(layout: WorkspaceFiles) -> list[Version]:
    """Return the saved versions, oldest first.

    Raises:
        WorkspaceError: One is damaged.
    """
    if not layout.versions.is_dir():
        return []
    names = [entry.name for entry in layout.versions.iterdir() if _NAME.fullmatch(entry.name)]
    return sorted(
        (_read(layout, name) for name in names), key=lambda item: (item.time, item.batch, item.name)
    )


def free_name(layout: WorkspaceFiles, wanted: str = "") -> str:
    """Return a name for a new version: the one wanted, or the next of ``v0``, ``v1`` and so on.

    Raises:
        InputError: The name is none, or is taken.
    """
    taken = {item.name for item in versions(layout)}
    if not wanted:
        number = max((int(name[1:]) for name in taken if re.fullmatch(r"v\d+", name)), default=-1)
        return f"v{number + 1}"
    if not _NAME.fullmatch(wanted) or wanted == NOW:
        raise InputError(f"{wanted!r} is no name for a version", hint="letters, digits, - _ and .")
    if wanted in taken:
        raise InputError(f"there is a version {wanted} already", hint=f"known: {', '.join(sorted(taken))}")
    return wanted


def save(
    layout: WorkspaceFiles,
    graph: GraphStore,
    name: str,
    changelog: Sequence[str],
    *,
    batch: int,
    hardware: Iterable[str],
    now: datetime,
) -> Version:
    """Save the knowledge under a name; it is there whole or not at all.

    Raises:
        WorkspaceError: It cannot be written.
    """
    version = Version(
        name=name,
        time=now.isoformat(timespec="microseconds"),
        batch=batch,
        hardware=frozenset(hardware),
        changelog=tuple(changelog),
    )
    draft = layout.versions / f".{name}.{os.getpid()}.new"
    try:
        draft.mkdir(parents=True)
        with gzip.open(draft / "knowledge.nt.gz", "wt", encoding="utf-8", compresslevel=6) as stream:
            stream.writelines(lines(knowledge_content(graph)))
        for path in _learned(layout):
            if path.is_file():
                shutil.copyfile(path, draft / path.name)
        write_json(draft / "version.json", {**version.to_json(), "hardware": sorted(version.hardware)})
        draft.rename(layout.versions / name)
    except OSError as error:
        shutil.rmtree(draft, ignore_errors=True)
        raise WorkspaceError(f"version {name} cannot be saved: {error.strerror or error}") from None
    return version


def content(layout: WorkspaceFiles, name: str) -> set[Triple]:
    """Return the triples of a saved version.

    Raises:
        UnknownEntityError: There is none of this name.
        WorkspaceError: It is damaged.
    """
    _read(layout, name)
    path = layout.versions / name / "knowledge.nt.gz"
    try:
        with gzip.open(path, "rb") as stream:
            return read_lines(stream)  # type: ignore[arg-type]  # it is read as bytes
    except (OSError, EOFError, InputError) as error:
        raise WorkspaceError(f"{path} is damaged: {error}", hint="choose another version") from None


def restore_learned(layout: WorkspaceFiles, name: str) -> None:
    """Put back what a version had learned of the workspace's own cases.

    Raises:
        WorkspaceError: It cannot be written.
    """
    try:
        for path in _learned(layout):
            saved = layout.versions / name / path.name
            if saved.is_file():
                beside = path.with_name(f"{path.name}.{os.getpid()}.new")
                shutil.copyfile(saved, beside)
                beside.replace(path)
            else:
                path.unlink(missing_ok=True)
    except OSError as error:
        raise WorkspaceError(f"what version {name} had learned cannot be put back: {error}") from None


def _learned(layout: WorkspaceFiles) -> tuple[Path, ...]:
    return (layout.components, layout.calibration, layout.similarity, layout.outlook)


def _read(layout: WorkspaceFiles, name: str) -> Version:
    path = layout.versions / name / "version.json"
    try:
        raw: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        return Version(
            name=name,
            time=str(raw["time"]),
            batch=int(raw["batch"]),
            hardware=frozenset(raw["hardware"]),
            changelog=tuple(raw["changelog"]),
        )
    except (FileNotFoundError, NotADirectoryError):
        names = [entry.name for entry in layout.versions.iterdir()] if layout.versions.is_dir() else []
        there = ", ".join(sorted(item for item in names if _NAME.fullmatch(item)))
        raise UnknownEntityError(
            f"no version {name!r}", hint=f"known: {there}" if there else "tunegraph evolve saves the first"
        ) from None
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise WorkspaceError(f"{path} is damaged: {error}", hint="choose another version") from None
