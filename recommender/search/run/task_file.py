"""Search files: read from a path, or shipped ones by their name."""

from __future__ import annotations

import re
from pathlib import Path

import data
from ingest.files.content import ContentError
from ingest.files.safe_yaml import load_yaml
from kg.errors import CaseFormatError, Fault, InputError

FOLDER = "spaces"
_SPAN = re.compile(r"\s*(\d+(?:\.\d+)?)\s*(ms|s|sec|min|m|h|hours?|d)?\s*", re.IGNORECASE)
_SECONDS = {
    "ms": 1e-3,
    "s": 1.0,
    "sec": 1.0,
    "min": 60.0,
    "m": 60.0,
    "h": 3600.0,
    "hour": 3600.0,
    "hours": 3600.0,
    "d": 86400.0,
}


def shipped_names() -> list[str]:
    """Names of the search files that ship with the program."""
    return [Path(name).stem for name in data.files(FOLDER, ".yaml")]


def read_task_file(file: str) -> tuple[dict[str, object], Path]:
    """The content of a search file and the folder in which its commands run.

    Args:
        file: A path; where there is none, the name of a shipped file.

    Raises:
        InputError: There is no such file.
        CaseFormatError: It is no mapping in YAML or JSON.
    """
    path = Path(file)
    if path.is_file():
        raw, folder = path.read_bytes(), path.resolve().parent
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
    return {str(key): item for key, item in content.items()}, folder


def seconds(text: str) -> float:
    """A span of time as people write it: ``90``, ``30min``, ``1.5h``.

    Raises:
        InputError: It is none.
    """
    found = _SPAN.fullmatch(text)
    if found is None or not float(found.group(1)) > 0:
        raise InputError(f"{text!r} is no time", hint="such as 90s, 30min or 1h")
    return float(found.group(1)) * _SECONDS[(found.group(2) or "s").lower()]
