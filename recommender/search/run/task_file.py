"""Search files: read from a path, or shipped ones by their name."""

from __future__ import annotations

from pathlib import Path

import data
from ingest.files.content import ContentError
from ingest.files.safe_yaml import load_yaml
from kg.errors import CaseFormatError, Fault, InputError

FOLDER = "spaces"


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
