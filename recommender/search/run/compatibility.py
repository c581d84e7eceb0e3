"""Whether a machine can take part in a search that another one began: the same program, the same files.

What differs between workers would make their numbers differ without anybody seeing it, so it is refused and
named; that a machine is another is only said.
"""

from __future__ import annotations

import hashlib
import shlex
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kg.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from recommender.search.log.study import SearchLog
    from recommender.search.run.task import Task

MADE_BY = "made_by"
"""Key of what a search keeps of the program and the files that began it."""
_HEAD = 12
_PARTS = ("search", "space", "measuring")


def made_by(raw: Mapping[str, object], folder: Path) -> dict[str, object]:
    """What the workers of a search must have alike.

    Args:
        raw: Content of the search file.
        folder: Where its commands run and its paths start.

    Returns:
        ``version`` and ``code`` of this program, and ``files``: digests by name of what the command and the
        table of the file name in the folder.
    """
    return {"version": _version(), "code": _code(), "files": _files(raw, folder)}


def check(log: SearchLog, task: Task, folder: Path) -> None:
    """See that a search can be joined from here.

    Args:
        log: Of the search.
        task: What it searches, as this program reads it.
        folder: Where its commands would run.

    Raises:
        InputError: This program or a file differs from what the search was begun with, or a file or the
            folder is missing; the message names all of it.
    """
    began: dict[str, Any] = log.about.get(MADE_BY) or {}
    here = {"version": _version(), "code": _code()}
    if not began:
        raise InputError(
            f"{log.name}: begun by a version of tunegraph that had no workers",
            hint="begin a new search, or go on with it alone: tunegraph search resume",
        )
    if (began["version"], began["code"]) != (here["version"], here["code"]):
        raise InputError(
            f"{log.name}: begun by tunegraph {began['version']} (code {began['code']}), here is"
            f" {here['version']} (code {here['code']})",
            hint="install the same on all machines, or go on with it alone: tunegraph search resume",
        )
    if task.digest != log.about["digest"]:
        raise InputError(
            f"{log.name}: space, objectives or limits read differently here than where it was begun"
        )
    if not folder.is_dir():
        raise InputError(
            f"{log.name}: its commands run in {folder}, which is not on this machine",
            hint="say where its files are here: --folder",
        )
    found = _files(task.raw, folder)
    faults = [
        f"{name} is missing" if name not in found else f"{name} is another"
        for name, content in began["files"].items()
        if found.get(name) != content
    ]
    if faults:
        raise InputError(
            f"{log.name}: in {folder}, {', '.join(faults)}",
            hint="the same files on all machines; --folder says where they are here",
        )


def differences(log: SearchLog, environment: Mapping[str, object]) -> list[str]:
    """What of a machine is not as where the search was begun, in words: numbers may differ for that alone."""
    before: Mapping[str, Any] = log.about.get("environment") or {}
    return [
        f"{name}: {_text(environment.get(name))} here, {_text(before.get(name))} there"
        for name in sorted({*before, *environment})
        if before.get(name) != environment.get(name)
    ]


def _text(value: object) -> str:
    if isinstance(value, dict):
        return " ".join(f"{key} {item}" for key, item in value.items())
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value or "none")


def _version() -> str:
    try:
        return version("tunegraph")
    except PackageNotFoundError:  # run from its sources
        return "unknown"


@cache
def _code() -> str:
    """Digest of the sources that choose and measure."""
    found = hashlib.sha256()
    for part in _PARTS:
        folder = Path(__file__).parents[2] / part
        for source in sorted(folder.rglob("*.py")):
            found.update(str(source.relative_to(folder.parent)).encode() + b"\0" + source.read_bytes())
    return found.hexdigest()[:_HEAD]


def _files(raw: Mapping[str, object], folder: Path) -> dict[str, str]:
    """Digests of the files in the folder that command or table name; files elsewhere are the system's."""
    words = raw.get("command") or []
    if isinstance(words, str):
        words = _words(words)
    named = [str(word) for word in words] if isinstance(words, list) else []
    if raw.get("table"):
        named.append(str(raw["table"]))
    found = {}
    for name in named:
        path = folder / name
        if not Path(name).is_absolute() and "{" not in name and _is_file(path):
            found[name] = hashlib.sha256(path.read_bytes()).hexdigest()[:_HEAD]
    return found


def _words(line: str) -> list[str]:
    """A line for the shell as words."""
    try:
        return shlex.split(line)
    except ValueError:  # a quotation that does not end
        return line.split()


def _is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except (OSError, ValueError):  # a word that cannot be a path
        return False
