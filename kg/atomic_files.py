"""Files as a whole: written so that a reader sees the old content or the new one, and their digest."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from kg.errors import InputError


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
            beside.unlink()
        error.filename = str(path)  # the name that was given, not that of the file beside it
        raise


def write_text(path: Path, text: str) -> None:
    """Write a text in UTF-8; see ``write_bytes``."""
    write_bytes(path, text.encode("utf-8"))


def write_json(path: Path, content: Mapping[str, object]) -> None:
    """Write JSON for people too: indented, keys in order; see ``write_bytes``."""
    write_text(path, json.dumps(content, ensure_ascii=False, indent=2, sort_keys=True) + "\n")


def read_start(path: Path, most_bytes: int) -> bytes:
    """The content of a file; of one larger than allowed, a byte more than that: a device has no end.

    Raises:
        OSError: It cannot be read.
    """
    with path.open("rb") as stream:
        return stream.read(most_bytes + 1)


def read_text(path: Path, most_bytes: int) -> str:
    """The text of a file in UTF-8, with plain line ends.

    Raises:
        InputError: It cannot be read, is larger than allowed, or is no such text.
    """
    try:
        raw = read_start(path, most_bytes)
        text = raw.decode("utf-8-sig")
    except OSError as error:
        raise InputError(f"{path}: {error.strerror}") from None
    except UnicodeDecodeError as error:
        raise InputError(f"{path}: not UTF-8: {error.reason}") from None
    if len(raw) > most_bytes:
        raise InputError(f"{path}: larger than {most_bytes >> 20} MiB", hint="a part of it may do")
    return text.replace("\r\n", "\n")


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
