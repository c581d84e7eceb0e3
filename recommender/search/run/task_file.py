"""Search files: read from a path, or shipped ones by their name, with checked access to their values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from difflib import get_close_matches
from pathlib import Path

import data
from ingest.files.content import ContentError
from ingest.files.safe_yaml import MAXIMUM_BYTES, load_yaml
from kg.atomic_files import read_start
from kg.errors import CaseFormatError, Fault, InputError
from kg.nouns.values import Settings
from recommender.space.space import SearchSpace
from recommender.space.space_file import read_space

FOLDER = "spaces"
SPACE_KEYS = ("parameters", "constraints")


def shipped_names() -> list[str]:
    """Names of the search files that ship with the program."""
    return [Path(name).stem for name in data.files(FOLDER, ".yaml")]


def read_task_file(file: str) -> TaskFile:
    """A search file; its commands run in its folder, those of a shipped one where the user is.

    Args:
        file: A path; where there is none, the name of a shipped file.

    Raises:
        InputError: There is no such file.
        CaseFormatError: It is no mapping in YAML or JSON.
    """
    path = Path(file)
    if path.is_file():
        raw, folder = read_start(path, MAXIMUM_BYTES), path.resolve().parent
    elif path.stem in shipped_names() and path.name in {path.stem, f"{path.stem}.yaml"}:
        raw, folder = data.resource(f"{FOLDER}/{path.stem}.yaml").read_bytes(), Path.cwd()
    else:
        known = ", ".join(shipped_names())
        raise InputError(f"no search file {file}", hint=f"a YAML file (docs/search.md), or one of: {known}")
    try:
        content = load_yaml(raw)
    except ContentError as fault:
        raise CaseFormatError(file, [Fault(place="", reason=str(fault))]) from fault
    if not isinstance(content, dict):
        reason = "a search file is names and values, such as parameters"
        raise CaseFormatError(file, [Fault(place="", reason=reason)])
    return TaskFile({str(key): item for key, item in content.items()}, name=path.stem, folder=folder)


def check_keys(keys: tuple[str, ...], content: Mapping[str, object], where: str) -> None:
    """Refuse keys that nothing reads.

    Raises:
        InputError: There is one; the hint names the nearest key.
    """
    for key in content:
        if key not in keys:
            near = get_close_matches(str(key), keys, n=1)
            hint = f"did you mean {near[0]}?" if near else f"known: {', '.join(keys)}"
            raise InputError(f"a search file has no key {where}{key!r}", hint=hint)


def number(key: str, value: object, *, least: float = 0.0) -> float:
    """A number that is not below ``least``.

    Raises:
        InputError: The value is none.
    """
    if isinstance(value, bool) or not isinstance(value, int | float) or not value >= least:
        raise InputError(f"{key}: {str(value)[:40]} is no number of at least {least:g}")
    return float(value)


def log_name(search: str) -> str:
    """The file of the log of a search, in whatever folder: a name leads out of none."""
    return f"{Path(search).name}.journal"


@dataclass(frozen=True, slots=True)
class TaskFile:
    """One search file, read; each access raises InputError where the value is of another kind.

    Attributes:
        raw: Its names and values, as YAML or the log has them.
        name: What to call the search where the file does not say.
        folder: Where its commands run and its paths start.
    """

    raw: Mapping[str, object]
    name: str = "search"
    folder: Path = Path()

    @property
    def space(self) -> SearchSpace:
        """The space that it declares."""
        return read_space({key: self.raw[key] for key in SPACE_KEYS if key in self.raw})

    @property
    def log_name(self) -> str:
        """The file of its log."""
        return log_name(str(self.raw.get("name") or self.name))

    def having(self, **content: object) -> TaskFile:
        """The same with other content under some keys."""
        return replace(self, raw={**self.raw, **content})

    def table(self, key: str) -> dict[str, object]:
        """The mapping of a key, empty if it is not there."""
        content = self.raw.get(key)
        if content is None:
            return {}
        if not isinstance(content, dict):
            raise InputError(f"{key}: expected names and values, not {str(content)[:60]!r}")
        return {str(name): item for name, item in content.items()}

    def number(self, key: str, default: float, *, least: float = 0.0) -> float:
        """The number of a key that is not below ``least``; ``default`` if it is not there."""
        return number(key, self.raw.get(key, default), least=least)

    def count(self, key: str, default: int, *, least: int) -> int:
        """The whole number of a key."""
        value = self.number(key, default, least=least)
        if value % 1:
            raise InputError(f"{key}: {value:g} is not whole")
        return int(value)

    def settings(self, key: str) -> Settings | None:
        """The configuration of a key; None if it is not there."""
        if self.raw.get(key) is None:
            return None
        try:
            return Settings(self.table(key))
        except ValueError as fault:
            raise InputError(f"{key}: {fault}") from None

    def problem(self) -> dict[str, object] | None:
        """The question that the search answers, as a problem file states it; None if it is not there."""
        if self.raw.get("problem") is None:
            return None
        if not isinstance(self.raw["problem"], dict):
            raise InputError("problem: expected what a problem file says", hint="op, shape, hardware ...")
        return self.table("problem")
