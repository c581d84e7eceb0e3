"""The conditions under which a machine may join a search that another one began: same program, same files.

A difference between workers would change their numbers unnoticed, so it is refused and named; that the
machine is another is only reported.
"""

import hashlib
import shlex
from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path

import data
from kg.errors import InputError
from recommender.search.log.metadata import ProgramStamp
from recommender.search.log.study import SearchLog
from recommender.search.run.task import NumberSource, Task, TaskCommand
from recommender.search.run.task_file import TaskFile
from recommender.search.run.task_reader import read_task

_HEAD = 12
_PARTS = ("search", "space", "measuring")


def program_stamp(source: NumberSource | None, folder: Path) -> ProgramStamp:
    """The program here, and the files in a folder that a command names."""
    return ProgramStamp(version=data.__version__, code=_code(), files=_files(source, folder))


def check(log: SearchLog, task: Task, folder: Path) -> None:
    """Refuse to join a search from here where the program or a file differs.

    Args:
        log: Of the search.
        task: What it searches, as this program reads it.
        folder: Where its commands would run.

    Raises:
        InputError: This program or a file differs from what the search was begun with, or a file or the
            folder is missing; the message names all of it.
    """
    began, here = log.metadata.program, program_stamp(task.number_source, folder)
    if began is None:
        raise InputError(
            f"{log.name}: begun by a version of tunegraph that had no workers",
            hint="begin a new search, or go on with it alone: tunegraph search resume",
        )
    if (began.version, began.code) != (here.version, here.code):
        raise InputError(
            f"{log.name}: begun by tunegraph {began.version} (code {began.code}), here is"
            f" {here.version} (code {here.code})",
            hint="install the same on all machines, or go on with it alone: tunegraph search resume",
        )
    if task.digest != log.metadata.digest:
        raise InputError(
            f"{log.name}: space, objectives or limits read differently here than where it was begun"
        )
    if not folder.is_dir():
        raise InputError(
            f"{log.name}: its commands run in {folder}, which is not on this machine",
            hint="say where its files are here: --folder",
        )
    faults = [
        f"{name} is missing" if name not in here.files else f"{name} is another"
        for name, content in began.files.items()
        if here.files.get(name) != content
    ]
    if faults:
        raise InputError(
            f"{log.name}: in {folder}, {', '.join(faults)}",
            hint="the same files on all machines; --folder says where they are here",
        )


def compare_file(log: SearchLog, file: TaskFile) -> None:
    """Refuse to go on with a search whose file has changed its space, objectives or limits.

    Args:
        log: Of the search.
        file: As it is now.

    Raises:
        InputError: It has; the message says which changed.
    """
    metadata = log.metadata
    facts = {key: metadata.file[key] for key in ("cost_model",) if key in metadata.file}
    before, now = (
        read_task(one, allow_unmeasured_accuracy=metadata.allow_unmeasured_accuracy)
        for one in (TaskFile(metadata.file), file.having(**facts))
    )
    if now.digest != metadata.digest:
        raise InputError(
            f"{file.name} is not what {log.storage} searches: {_change(before, now)}",
            hint="go on without --file to search the old space, or begin a new search with --log",
        )


def _change(before: Task, now: Task) -> str:
    old = {item.name: item for item in before.space.parameters}
    new = {item.name: item for item in now.space.parameters}
    if changed := sorted(name for name in {*old, *new} if old.get(name) != new.get(name)):
        return f"the parameter{'s' * (len(changed) > 1)} {', '.join(changed)} changed"
    if set(map(str, before.space.constraints)) != set(map(str, now.space.constraints)):
        return "the constraints changed"
    return "objectives or limits changed"


def differences(log: SearchLog, environment: Mapping[str, object]) -> list[str]:
    """Differences between this machine and the one where the search began, in words; numbers may differ."""
    before = log.metadata.environment
    return [
        f"{name}: {_text(environment.get(name))} here, {_text(before.get(name))} there"
        for name in sorted({*before, *environment})
        if before.get(name) != environment.get(name)
    ]


def _text(value: object) -> str:
    if isinstance(value, dict):
        return " ".join(f"{key} {item}" for key, item in value.items())
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value or "none")


@cache
def _code() -> str:
    """Digest of the sources that choose and measure."""
    code = hashlib.sha256()
    for part in _PARTS:
        folder = Path(__file__).parents[2] / part
        for source in sorted(folder.rglob("*.py")):
            code.update(str(source.relative_to(folder.parent)).encode() + b"\0" + source.read_bytes())
    return code.hexdigest()[:_HEAD]


def _files(source: NumberSource | None, folder: Path) -> dict[str, str]:
    """Digests of the files in the folder that a command names; files elsewhere are the system's."""
    names: Iterable[str] = ()
    if isinstance(source, TaskCommand):
        names = _words(source.words) if isinstance(source.words, str) else source.words
    digests = {}
    for name in names:
        path = folder / name
        if not Path(name).is_absolute() and "{" not in name and _is_file(path):
            digests[name] = hashlib.sha256(path.read_bytes()).hexdigest()[:_HEAD]
    return digests


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
