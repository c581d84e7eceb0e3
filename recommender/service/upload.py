"""A profile that came over HTTP: written to a folder of its own, unpacked where it is a ZIP archive."""

from __future__ import annotations

import lzma
import re
import shutil
import zipfile
import zlib
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

from kg.errors import InputError
from recommender.service.access import MOST_UPLOAD_BYTES, UPLOAD_SECONDS, body_pieces

if TYPE_CHECKING:
    from starlette.requests import Request

MOST_UNPACKED_BYTES = 512 << 20
"""Of all files of an archive; traces pack by a factor of eight or more. A choice."""
MOST_FILES = 5_000
"""Of an archive; a choice."""
_NAME = re.compile(r"[\w][\w.+-]{0,120}", re.ASCII)
_PIECE = 1 << 20


async def received(request: Request, folder: Path, name: str) -> Path:
    """Write the body of a request into ``folder``; return the profile's path.

    Args:
        request: Its body is a file of a profiler, a log, or a ZIP archive of a folder.
        folder: An empty folder.
        name: Of the file, which tells its kind.

    Raises:
        InputError: The name is no plain file name, or the archive is damaged or hostile.
        RefusedError: The body is too large or too slow.
    """
    if _NAME.fullmatch(name) is None:
        raise InputError(f"{name[:60]!r} is no plain file name", hint="letters, digits, dots, - and _")
    path = folder / name
    with path.open("xb") as file:
        async for piece in body_pieces(request, MOST_UPLOAD_BYTES, UPLOAD_SECONDS):
            file.write(piece)
    return path


def unpacked(path: Path) -> Path:
    """The folder of a ZIP archive, unpacked beside it; any other file itself.

    Raises:
        InputError: The archive is damaged, too large, or has files outside of itself.
    """
    if path.suffix.lower() != ".zip":
        return path
    folder = path.parent / "profile"
    try:
        with zipfile.ZipFile(path) as archive:
            files = [item for item in archive.infolist() if not item.is_dir()]
            if len(files) > MOST_FILES:
                raise InputError(f"{path.name}: {len(files)} files; {MOST_FILES} are taken")
            room = MOST_UNPACKED_BYTES
            for item in files:
                room = _unpack(archive, item, folder, room)
    except (
        zipfile.BadZipFile,
        zipfile.LargeZipFile,
        zlib.error,
        lzma.LZMAError,
        NotImplementedError,
        EOFError,
        ValueError,
    ) as fault:
        if isinstance(fault, InputError):
            raise
        raise InputError(f"{path.name}: a damaged archive ({fault})") from None
    except RuntimeError:  # what zipfile raises where a password is needed
        raise InputError(f"{path.name}: an encrypted archive", hint="pack it without a password") from None
    if not files:
        raise InputError(f"{path.name}: an empty archive")
    top = list(folder.iterdir())
    return top[0] if len(top) == 1 else folder


def _unpack(archive: zipfile.ZipFile, item: zipfile.ZipInfo, folder: Path, room: int) -> int:
    """Write one file of an archive; return how many bytes may still follow."""
    inside = PurePosixPath(item.filename.replace("\\", "/"))
    is_outside = inside.is_absolute() or ".." in inside.parts or "\0" in item.filename
    if not inside.parts or is_outside or ":" in inside.parts[0]:
        raise InputError(f"the archive has a file outside of itself: {item.filename[:60]!r}")
    target = folder / Path(*inside.parts)
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        with archive.open(item) as source, target.open("xb") as file:
            while piece := source.read(_PIECE):
                room -= len(piece)
                if room < 0:
                    raise InputError(f"the archive unpacks to more than {MOST_UNPACKED_BYTES >> 20} MiB")
                file.write(piece)
    except OSError as fault:
        reason = fault.strerror or str(fault)
        raise InputError(f"the archive cannot be unpacked at {item.filename[:60]!r}: {reason}") from None
    return room


def discard(folder: Path) -> None:
    """Remove an upload."""
    shutil.rmtree(folder, ignore_errors=True)
