"""The place of a written file: it holds the old content or the new one, never half of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kg import whole_files
from kg.errors import InputError

if TYPE_CHECKING:
    from pathlib import Path


def write_bytes(path: Path, content: bytes) -> None:
    """Write a file beside its place, then move it there.

    Raises:
        InputError: It cannot be written there.
    """
    if path.is_dir():
        raise InputError(f"{path}: is a folder", hint="name the file to write, such as report.html")
    try:
        whole_files.write_bytes(path, content)
    except OSError as fault:
        raise InputError(
            f"{path}: cannot be written ({fault.strerror or fault})", hint="name another place"
        ) from None
