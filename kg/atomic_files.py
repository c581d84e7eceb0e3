"""Files as a whole: written so that a reader sees the old content or the new one, and their digest."""

import errno
import hashlib
import io
import json
import os
import select
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from stat import S_ISFIFO

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


_PATIENCE_S = 5.0
"""How long a pipe may say nothing: a command that writes to it is started beside this one. A choice."""


def read_start(path: Path, most_bytes: int) -> bytes:
    """The content of a file; of one larger than allowed, a byte more than that: a device has no end.

    Raises:
        OSError: It cannot be read, or is a pipe to which nobody writes.
    """
    with open(path, "rb", buffering=0, opener=_at_once) as stream:
        if S_ISFIFO(os.fstat(stream.fileno()).st_mode):
            return _of_pipe(stream, most_bytes + 1, path)
        os.set_blocking(stream.fileno(), True)
        with io.BufferedReader(stream) as whole:
            return whole.read(most_bytes + 1)


def _at_once(path: str, flags: int) -> int:
    """Open a file; a pipe without a writer too."""
    return os.open(path, flags | os.O_NONBLOCK)


def _of_pipe(stream: io.FileIO, most_bytes: int, path: Path) -> bytes:
    found = b""
    while len(found) < most_bytes:
        if not select.select([stream], [], [], _PATIENCE_S)[0]:
            raise TimeoutError(errno.ETIMEDOUT, "a pipe to which nobody writes", str(path))
        part = stream.read(most_bytes - len(found))
        if not part:
            break
        found += part
    return found


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
