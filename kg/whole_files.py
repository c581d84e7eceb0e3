"""Files as a whole: written so that a reader sees the old content or the new one, and their digest."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path


def write_bytes(path: Path, content: bytes) -> None:
    """Write a file beside its place, then move it there.

    Raises:
        OSError: It cannot be written; what was there is there.
    """
    beside = path.with_name(f".{path.name}.{os.getpid()}.new")
    try:
        with beside.open("wb") as stream:
            stream.write(content)
            stream.flush()
            os.fsync(stream.fileno())
        beside.replace(path)
    except OSError as error:
        with suppress(OSError):
            beside.unlink(missing_ok=True)
        error.filename = str(path)  # the name that was given, not that of the file beside it
        raise


def write_text(path: Path, text: str) -> None:
    """Write a text in UTF-8; see ``write_bytes``."""
    write_bytes(path, text.encode("utf-8"))


def write_json(path: Path, content: Mapping[str, object]) -> None:
    """Write JSON for people too: indented, keys in order; see ``write_bytes``."""
    write_text(path, json.dumps(content, ensure_ascii=False, indent=2, sort_keys=True) + "\n")


def sha256_of(path: Path) -> str:
    """Return the SHA-256 of a file, in hexadecimal.

    Raises:
        OSError: It cannot be read.
    """
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def sync_folder(folder: Path) -> None:
    """Make a rename in ``folder`` survive a power cut."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
