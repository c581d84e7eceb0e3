"""Places where a base may be: a folder, a backup file, an address, or the program itself."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from kg.errors import FetchError, InputError
from kg.triples.snapshots import newest
from kg.web import is_address
from recommender.files import WorkspaceFiles
from recommender.store import shipped_knowledge as shipped
from recommender.store.base import Base
from recommender.store.upkeep.backup import TRAILER_BYTES, digest_in, unpack_backup

if TYPE_CHECKING:
    from collections.abc import Callable

MOST_BYTES = 64 << 30
"""Of a backup that is fetched: more than any workspace that this program is for."""
_GONE = "nothing was changed; tunegraph kb rebase --base PLACE says where it is now"
SNAPSHOT = "/v1/snapshot"
"""Where ``tunegraph serve`` gives out its newest published state."""


def canonical_place(place: str) -> str:
    """The place as a workspace remembers it: an absolute path, or an address with the path of the snapshot.

    Raises:
        InputError: Nothing is there.
    """
    if is_address(place):
        return f"{place.rstrip('/')}{SNAPSHOT}" if urlsplit(place).path in {"", "/"} else place
    path = Path(place)
    if not path.exists():
        raise InputError(f"{place}: nothing is there", hint="a workspace, a backup of one, or its address")
    return str(path.resolve())


def is_current(base: Base, token: str = "") -> bool:
    """Whether a base is still what its place has.

    Raises:
        InputError: The place is gone, or no base any more.
        FetchError: It does not answer.
        WorkspaceError: It is damaged, or of another version.
    """
    if not base.place:
        return base.shipped == shipped.version()
    if is_address(base.place):
        from ingest.corpora.download import fetch_end

        try:
            end = fetch_end(base.place, TRAILER_BYTES, token=token)
        except FetchError as error:
            raise FetchError(str(error), hint=_GONE) from None
        return digest_in(end) == base.digest != ""
    path = Path(base.place)
    if not path.exists():
        raise InputError(f"{path}: the base is not there any more", hint=_GONE)
    if path.is_file():
        with path.open("rb") as stream:
            stream.seek(-TRAILER_BYTES, 2)
            return digest_in(stream.read()) == base.digest != ""
    files = WorkspaceFiles(path)
    manifest, folder = files.read(), newest(files.graph)
    return folder is not None and Base.of(folder, base.place, manifest.get("shipped")) == base


def lay_out(
    place: str, scratch: Path, make_shipped: Callable[[WorkspaceFiles], None], token: str = ""
) -> tuple[WorkspaceFiles, str]:
    """Give a base as a workspace to read, and the digest of the backup that it came in, if it came in one.

    Args:
        place: As :func:`canonical_place` has it; empty for what the program ships.
        scratch: A folder for what must be fetched, unpacked or made first.
        make_shipped: Makes a workspace of the shipped knowledge.
        token: What a server asks for; empty for nothing.

    Raises:
        InputError: There is no such thing, or it is damaged.
        FetchError: It did not arrive.
        WorkspaceError: It is no workspace, or of another version.
    """
    files = WorkspaceFiles(scratch / "base")
    if not place:
        make_shipped(files)
        return files, ""
    packed = Path(place)
    if is_address(place):
        from ingest.corpora.download import download

        packed = scratch / "base.backup"
        try:
            download(place, packed, most_bytes=MOST_BYTES, token=token)
        except FetchError as error:
            raise FetchError(str(error), hint=_GONE) from None
    if packed.is_dir():
        return WorkspaceFiles(packed), ""
    if not packed.is_file():
        raise InputError(f"{place}: the base is not there any more", hint=_GONE)
    digest = unpack_backup(packed, files.root)
    return files, digest
