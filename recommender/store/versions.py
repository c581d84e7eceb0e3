"""Named versions of the knowledge: saved with a changelog, compared, gone back to.

A version holds what is known (hardware, models, bottlenecks, causes, strategies, trust of sources) and what
was learned of the workspace's own cases. It holds no evidence: problems, rows, outcomes and the effects
counted from them are what was measured, and going back to an older version does not unmeasure it.
"""

import gzip
import json
import re
import shutil
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from io import BytesIO
from typing import Any

from kg.archives import gunzip
from kg.errors import InputError, UnknownEntityError, WorkspaceError
from kg.nouns.codec import NOT_IN_JSON, JsonNoun
from kg.nouns.values import load_json
from kg.triples.graph import Triple
from kg.triples.knowledge_content import lines, read_lines
from recommender.files import LearnedFiles, WorkspaceFiles, write_folder

NOW = "now"
"""Name of the knowledge as it stands."""

_KNOWLEDGE, _DESCRIPTION = "knowledge.nt.gz", "version.json"
_NAME = re.compile(r"[A-Za-z0-9][\w.-]{0,63}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Version(JsonNoun):
    """A saved version.

    Attributes:
        name: Its name.
        time: When it was saved, as ISO text.
        batch: Newest batch of the graph at that time.
        since: Batch that acknowledges it; without it the version does not exist.
        hardware: Ids of the hardware that it knows.
        changelog: What changed and why, a line each.
    """

    name: str
    time: str
    batch: int
    since: int = field(metadata=NOT_IN_JSON)
    hardware: frozenset[str] = field(metadata=NOT_IN_JSON)
    changelog: tuple[str, ...]


def versions(layout: WorkspaceFiles, batch: int) -> list[Version]:
    """Return the versions that are saved up to a batch, oldest first.

    Raises:
        WorkspaceError: One is damaged.
    """
    if not layout.versions.is_dir():
        return []
    names = [entry.name for entry in layout.versions.iterdir() if _NAME.fullmatch(entry.name)]
    found = (_read(layout, name) for name in names)
    return sorted(
        (item for item in found if item.since <= batch), key=lambda item: (item.since, item.batch, item.name)
    )


def free_name(taken: Iterable[Version], wanted: str = "") -> str:
    """Return a name for a new version: the one wanted, or the next of ``v0``, ``v1`` and so on.

    Raises:
        InputError: The name is none, or is taken.
    """
    names = {item.name for item in taken}
    if not wanted:
        number = max((int(name[1:]) for name in names if re.fullmatch(r"v\d+", name)), default=-1)
        return f"v{number + 1}"
    if not _NAME.fullmatch(wanted) or wanted == NOW:
        raise InputError(f"{wanted!r} is no name for a version", hint="letters, digits, - _ and .")
    if wanted in names:
        raise InputError(f"there is a version {wanted} already", hint=f"known: {', '.join(sorted(names))}")
    return wanted


def save(
    layout: WorkspaceFiles, version: Version, knowledge: Iterable[Triple], learned: Mapping[str, bytes]
) -> None:
    """Save a version; it counts once its batch is acknowledged.

    Args:
        layout: The workspace.
        version: Its description.
        knowledge: What is known.
        learned: Content of each file of what was learned, by its name.

    Raises:
        WorkspaceError: It cannot be written.
    """
    described = {**version.to_json(), "since": version.since, "hardware": sorted(version.hardware)}
    contents = {
        **learned,
        _KNOWLEDGE: gzip.compress("".join(lines(knowledge)).encode(), compresslevel=6, mtime=0),
        _DESCRIPTION: json.dumps(described, ensure_ascii=False, indent=2, sort_keys=True).encode(),
    }
    try:
        write_folder(layout.versions / version.name, contents)
    except OSError as error:
        raise WorkspaceError(f"version {version.name} cannot be saved: {error.strerror or error}") from None


def sweep_versions(layout: WorkspaceFiles, batch: int) -> None:
    """Remove versions whose batch was never acknowledged; only the writer may."""
    if not layout.versions.is_dir():
        return
    for folder in layout.versions.iterdir():
        if folder.name.startswith("."):
            shutil.rmtree(folder, ignore_errors=True)
            continue
        with suppress(WorkspaceError, UnknownEntityError):  # what cannot be read is left to be looked at
            if _read(layout, folder.name).since > batch:
                shutil.rmtree(folder, ignore_errors=True)


def content(layout: WorkspaceFiles, name: str) -> set[Triple]:
    """Return the triples of a saved version.

    Raises:
        UnknownEntityError: There is none of this name.
        WorkspaceError: It is damaged.
    """
    _read(layout, name)
    path = layout.versions / name / _KNOWLEDGE
    try:
        return read_lines(BytesIO(gunzip(path)))
    except (OSError, InputError) as error:
        raise WorkspaceError(f"{path} is damaged: {error}", hint="choose another version") from None


def learned_then(layout: WorkspaceFiles, name: str) -> dict[str, bytes]:
    """Return the content of each file of what a version had learned of the workspace's own cases.

    Raises:
        WorkspaceError: It cannot be read.
    """
    try:
        return LearnedFiles(layout.versions / name).contents()
    except OSError as error:
        raise WorkspaceError(f"what version {name} had learned cannot be read: {error}") from None


def _read(layout: WorkspaceFiles, name: str) -> Version:
    path = layout.versions / name / _DESCRIPTION
    try:
        raw: dict[str, Any] = load_json(path.read_text(encoding="utf-8"))
        return Version(
            name=name,
            time=str(raw["time"]),
            batch=int(raw["batch"]),
            since=int(raw.get("since", raw["batch"])),
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
