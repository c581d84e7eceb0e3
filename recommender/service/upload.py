"""A profile that came over HTTP: written to a folder of its own, unpacked where it is a ZIP archive."""

from __future__ import annotations

import re
import shutil
from typing import TYPE_CHECKING

from kg.archives import unpack_zip
from kg.errors import InputError
from recommender.service import reply
from recommender.service.access import MOST_UPLOAD_BYTES, UPLOAD_SECONDS, body_pieces

if TYPE_CHECKING:
    from pathlib import Path

    from starlette.requests import Request

    from recommender.service.reply import Reply
    from recommender.workspace.workspace import Workspace

MOST_UNPACKED_BYTES = 512 << 20
"""Largest content of an archive; traces pack by a factor of eight or more. A choice."""
MOST_FILES = 5_000
"""Most files of an archive; a choice."""
_NAME = re.compile(r"[\w][\w.+-]{0,120}", re.ASCII)


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
    if not unpack_zip(path, folder, most_bytes=MOST_UNPACKED_BYTES, most_files=MOST_FILES):
        raise InputError(f"{path.name}: an empty archive")
    top = list(folder.iterdir())
    return top[0] if len(top) == 1 else folder


def diagnose_upload(workspace: Workspace, path: Path, *, hardware: str, model: str, least: float) -> Reply:
    """Reply to an upload of a profile or a log."""
    return reply.diagnose(workspace, unpacked(path), hardware=hardware, model=model, least=least)


def discard(folder: Path) -> None:
    """Remove an upload."""
    shutil.rmtree(folder, ignore_errors=True)
