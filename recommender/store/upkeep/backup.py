"""A workspace copied to one file and back, all of it or nothing.

The file is a tar archive followed by a line with its SHA-256, so any cut or changed byte shows. A backup
holds all acknowledged batches, and the files up to the newest; caches, such as the graph, are left out. No
lock is needed for it. It gets its name once it is checked and on the disk.

A restore unpacks beside the workspace, checks all of it, and then exchanges the two folders in one step. The
old one is renamed, not deleted.
"""

import json
import os
import shutil
import tarfile
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from hashlib import file_digest, sha256
from pathlib import Path

from kg.archives import unpack_tar
from kg.errors import InputError, WorkspaceError
from kg.lock import WriterLock
from kg.rows import batches
from kg.rows.trials import TrialStore
from kg.rows.trials_file import copy_database
from kg.triples.snapshots import newest_number
from recommender.experiment.journal import MARK
from recommender.files import WorkspaceFiles, folder_beside
from recommender.store.graph_cache import make_graph
from recommender.store.upkeep.checkup import truth_faults
from recommender.store.upkeep.exchange import put_in_place
from recommender.store.versions import versions

NOTE = "backup.json"
"""First member of a backup: what it is of."""

FORM = "tunegraph backup 2"
_TRAILER = b"\nsha256 "
_TRAILER_BYTES = len(_TRAILER) + 64 + 1
"""Length of the last line, which holds the digest."""
_CHUNK_BYTES = 1 << 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Backup:
    """A backup that was written or restored.

    Attributes:
        batch: Newest batch in it.
        rows: Rows in it.
        size_bytes: Of the file.
        replaced: Where the workspace lies now that was there before; None if there was none.
    """

    batch: int
    rows: int
    size_bytes: int
    replaced: Path | None = None


def back_up(layout: WorkspaceFiles, target: Path) -> Backup:
    """Copy a workspace to a file, as readers see it now, while others read and write.

    Args:
        layout: The workspace.
        target: The file to write; only its owner may read it.

    Raises:
        InputError: There is something at ``target`` already, or it cannot be written.
        WorkspaceError: The workspace is damaged, so nothing was written.
    """
    if target.exists():
        raise InputError(f"{target} is there already", hint="give another name, or delete it first")
    try:
        with folder_beside(target, "backup") as place:
            draft = WorkspaceFiles(Path(place) / "workspace")
            batch = _copy_parts(layout, draft)
            if faults := truth_faults(draft):
                raise WorkspaceError(f"{layout.root} is damaged: {faults[0]}", hint="tunegraph doctor")
            with TrialStore(draft.trials, read_only=True) as trials:
                rows = batches.rows_up_to(trials.file, batch)
            packed = Path(place) / "packed"
            size = _pack(draft.root, packed, {"form": FORM, "batch": batch, "rows": rows})
            packed.rename(target)
    except OSError as error:
        raise InputError(f"{target} cannot be written: {error.strerror or error}") from None
    return Backup(batch=batch, rows=rows, size_bytes=size)


def restore(layout: WorkspaceFiles, source: Path) -> Backup:
    """Put a backup in the place of a workspace; readers go on with what they have open.

    Args:
        layout: Where; what is there is renamed.
        source: A file that :func:`back_up` wrote.

    Raises:
        InputError: The file is no backup, or is damaged; nothing was changed.
        WorkspaceError: Another process is writing, or the folder holds something else than a workspace.
    """
    size = _check_digest(source)
    root = layout.root.absolute()
    if not layout.exists() and root.exists() and any(root.iterdir()):
        raise WorkspaceError(
            f"{root} is neither empty nor a workspace", hint="give another directory with --workspace"
        )
    try:
        root.parent.mkdir(parents=True, exist_ok=True)
        with ExitStack() as stack:
            if layout.exists():
                stack.enter_context(WriterLock(layout.lock, command="tunegraph workspace restore"))
            place = stack.enter_context(folder_beside(root, "restore"))
            draft = WorkspaceFiles(Path(place) / "workspace")
            note = _unpack(source, draft.root)
            faults = truth_faults(draft)
            if faults:
                raise InputError(f"{source} is damaged: {faults[0]}", hint="restore another backup")
            make_graph(draft, after=newest_number(layout.graph))
            draft.root.chmod(root.stat().st_mode & 0o777 if root.exists() else 0o700)
            replaced = put_in_place(draft.root, root)
    except OSError as error:
        raise WorkspaceError(f"cannot restore to {root}: {error.strerror or error}") from None
    batch, rows = (int(str(note[name])) for name in ("batch", "rows"))
    return Backup(batch=batch, rows=rows, size_bytes=size, replaced=replaced)


def unpack_backup(source: Path, root: Path) -> None:
    """Unpack a backup into a new folder, to be read as a workspace.

    Raises:
        InputError: The file is no backup, or is damaged.
        WorkspaceError: The folder cannot be written.
    """
    _check_digest(source)
    try:
        _unpack(source, root)
    except OSError as error:
        raise WorkspaceError(f"{root} cannot be written: {error.strerror or error}") from None
    make_graph(WorkspaceFiles(root))


def _copy_parts(layout: WorkspaceFiles, draft: WorkspaceFiles) -> int:
    """Copy what readers see into a draft; returns the newest batch of it."""
    draft.root.mkdir()
    copy_database(layout.trials, draft.trials)
    with TrialStore(draft.trials) as trials:
        batch, _ = batches.newest(trials.file)
    if layout.questions.exists():
        copy_database(layout.questions, draft.questions)
    for path, name in _files(layout, batch):
        (draft.root / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(path, draft.root / name)
    draft.write(layout.read())
    return batch


def _files(layout: WorkspaceFiles, batch: int) -> Iterator[tuple[Path, str]]:
    """Yield the plain files of a workspace up to a batch, each with its name in the workspace."""
    folders = [layout.models, layout.experiments, layout.green, *layout.tunes.glob("*")]  # not below these
    folders += [layout.versions / item.name for item in versions(layout, batch)]
    if layout.generations.is_dir():
        numbered = (folder for folder in layout.generations.iterdir() if folder.name.isdecimal())
        folders += [folder for folder in numbered if int(folder.name) <= batch]
    paths = [*layout.learned(0).paths, *(path for folder in folders for path in folder.glob("*"))]
    paths += [layout.anchors, *layout.base.rglob("*")]
    paths.sort(key=lambda path: path.suffix != MARK)  # before the logs, which may grow meanwhile
    for path in paths:
        if path.is_file() and not path.name.endswith(".new"):
            yield path, path.relative_to(layout.root).as_posix()


def _pack(root: Path, target: Path, note: dict[str, object]) -> int:
    """Write a folder as a backup that only its owner may read, and wait for the disk; return its size."""
    described = root.parent / NOTE
    described.write_text(json.dumps(note), encoding="utf-8")
    descriptor = os.open(target, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "w+b") as stream:
        with tarfile.open(fileobj=stream, mode="w", format=tarfile.PAX_FORMAT) as archive:
            archive.add(described, NOTE, filter=_anonymous)
            for path in sorted(root.rglob("*")):
                if path.is_file():
                    archive.add(path, path.relative_to(root).as_posix(), filter=_anonymous)
        stream.seek(0)
        digest = file_digest(stream, "sha256").hexdigest()
        stream.write(_TRAILER + digest.encode() + b"\n")
        stream.flush()
        os.fsync(stream.fileno())
        return stream.tell()


def _anonymous(member: tarfile.TarInfo) -> tarfile.TarInfo:
    member.uid = member.gid = 0
    member.uname = member.gname = ""
    member.mode = 0o600
    return member


def _check_digest(source: Path) -> int:
    """Compare a backup with the digest in its last line; return its size.

    Raises:
        InputError: They differ, or the file has no such line or cannot be read.
    """
    try:
        with source.open("rb") as stream:
            size = os.fstat(stream.fileno()).st_size
            stream.seek(max(0, size - _TRAILER_BYTES))
            trailer = stream.read(_TRAILER_BYTES)
            stream.seek(0)
            is_ours = trailer.startswith(_TRAILER)  # a file that is none may be of any size
            left, digest = size - _TRAILER_BYTES if is_ours else 0, sha256()
            while left > 0 and (chunk := stream.read(min(_CHUNK_BYTES, left))):
                digest.update(chunk)
                left -= len(chunk)
    except OSError as error:
        raise InputError(f"{source} cannot be read: {error.strerror}") from None
    if trailer != _TRAILER + digest.hexdigest().encode() + b"\n":
        raise InputError(
            f"{source} is no backup, or it is cut or damaged: its digest is not the one at its end",
            hint="nothing was changed; copy the file again, or restore another backup",
        )
    return size


def _unpack(source: Path, root: Path) -> dict[str, object]:
    """Unpack a backup whose digest is right into a new folder; return its note."""
    root.mkdir(mode=0o700)
    try:
        with source.open("rb") as stream:
            size = os.fstat(stream.fileno()).st_size  # members are not packed: none is longer than the file
            for _ in unpack_tar(stream, root, lambda name: name, most_bytes=size, durable=True):
                pass
        described = root / NOTE
        note: dict[str, object] = json.loads(described.read_text(encoding="utf-8"))
        described.unlink()
    except (OSError, ValueError) as error:
        if isinstance(error, OSError) and not isinstance(error, FileNotFoundError | FileExistsError):
            raise
        raise InputError(f"{source} is no backup: {error}") from None
    if note.get("form") != FORM:
        raise InputError(
            f"{source} is a backup of form {note.get('form')!r}, this program reads {FORM!r}",
            hint="use the version of tunegraph that wrote it",
        )
    return note
