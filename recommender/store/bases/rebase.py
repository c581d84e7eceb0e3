"""A workspace put on the newest state of its base: what came from there is renewed, what is its own stays.

The new workspace is made beside the old one: a clone of the base, and on it the own records, replayed batch
by batch through the one writer with the times they had. Then the two folders are exchanged in one step. A
crash leaves the old workspace or the new one, and the base is only read. Where base and workspace both
changed a node of the knowledge, the workspace's description stays and the difference is told.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from contextlib import ExitStack
from datetime import datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

from kg.errors import InputError, WorkspaceError
from kg.lock import WriterLock
from kg.nouns.provenance import Batch
from kg.rows.trials_file import copy_database
from kg.triples.serialisation import all_of
from kg.triples.snapshots import newest_number, open_newest
from recommender.files import WorkspaceFiles
from recommender.store import creation
from recommender.store.base import Base
from recommender.store.bases.clone import INDEX, clone
from recommender.store.bases.places import canonical_place, is_current, lay_out
from recommender.store.bases.replay import RebaseResult, replay
from recommender.store.encoding import prepare
from recommender.store.upkeep.exchange import put_in_place

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping


def create_on(
    layout: WorkspaceFiles, cache: Path, place: str, *, clock: Callable[[], datetime], token: str = ""
) -> Base:
    """Make a workspace that rests on another one; it is one once this returns.

    Args:
        layout: Where.
        cache: The user's cache directory.
        place: Folder of the other one, a backup of it, or its address.
        clock: Tells the time.
        token: What the server asks for; empty for nothing.

    Raises:
        InputError: There is no such base, or it is damaged.
        FetchError: It did not arrive.
        WorkspaceError: There is a workspace already, or the base is of another version.
    """
    place = canonical_place(place)
    if Path(place).resolve() == layout.root.resolve():
        raise InputError(f"{place} cannot rest on itself", hint="name the new one with --workspace")
    layout.prepare()
    with tempfile.TemporaryDirectory(dir=layout.root, prefix="base-") as scratch:
        source, digest = lay_out(place, Path(scratch), lambda _: None, token)
        manifest = clone(source, layout, place, digest=digest)
        prepare(cache, creation.text_model(manifest), lambda _: None)
        base = Base.read(layout)
    layout.create({**manifest, "created": clock().isoformat(timespec="seconds")})
    if base is None:
        raise AssertionError("a clone keeps its base")
    return base


def rebase(
    layout: WorkspaceFiles,
    cache: Path,
    place: str | None,
    *,
    clock: Callable[[], datetime],
    token: str = "",
    again: bool = False,
) -> RebaseResult:
    """Put a workspace on the newest state of its base, or on another base.

    Args:
        layout: The workspace.
        cache: The user's cache directory.
        place: The new base; None for the one that it has.
        clock: Tells the time.
        token: What the server asks for; empty for nothing.
        again: Do so even if the base is as it was.

    Raises:
        InputError: The base is gone, or damaged; nothing was changed.
        FetchError: It did not arrive; nothing was changed.
        WorkspaceError: Another process is writing, or the base is of another version; nothing was changed.
    """
    manifest = layout.read(for_writing=True)
    model = creation.text_model(manifest)
    with creation.editor(layout, cache, model, clock, command="kb rebase", durable=False):
        pass  # what a crash left is swept, and readers see what was acknowledged
    before = Base.read(layout)
    then = before or _guessed(layout, manifest)
    at = then.place if place is None else canonical_place(place)
    if at and Path(at).resolve() == layout.root.resolve():
        raise InputError(f"{at} cannot rest on itself")
    if before is not None and at == then.place and not again and is_current(then, token):
        return RebaseResult(base=then, is_new=False)
    root = layout.root.resolve()
    with ExitStack() as stack:
        lock = stack.enter_context(WriterLock(layout.lock, command="tunegraph kb rebase"))
        if lock.was_left:
            raise WorkspaceError(f"{root} was written to meanwhile", hint="run the command again")
        for left in root.parent.glob(f".{root.name}-rebase-*"):
            shutil.rmtree(left, ignore_errors=True)
        try:
            scratch = Path(
                stack.enter_context(
                    tempfile.TemporaryDirectory(dir=root.parent, prefix=f".{root.name}-rebase-")
                )
            )
        except OSError as error:
            raise WorkspaceError(f"{root.parent} cannot be written to: {error.strerror}") from None
        draft = WorkspaceFiles(scratch / "workspace")
        draft.root.mkdir(mode=0o700)
        source, digest = lay_out(at, scratch, _shipped_maker(cache, model, clock), token)
        after = newest_number(layout.graph)
        fresh = clone(source, draft, at, digest=digest, after=after)
        draft.create({**fresh, "created": manifest.get("created")})
        result = replay(layout, draft, then, cache, keeps_graph=before is not None)
        _carry_files(layout, draft)
        draft.root.chmod(root.stat().st_mode & 0o777)
        os.sync()  # against loss of power: all of the new one is on the disk before it takes the place
        lock.finish()
        aside = put_in_place(draft.root, root)
    if aside is not None:
        shutil.rmtree(aside, ignore_errors=True)
    return result


def _shipped_maker(
    cache: Path, model: str | None, clock: Callable[[], datetime]
) -> Callable[[WorkspaceFiles], None]:
    def make(files: WorkspaceFiles) -> None:
        creation.create(files, cache, text_model=model, with_shipped=True, clock=clock)

    return make


def _guessed(layout: WorkspaceFiles, manifest: Mapping[str, object]) -> Base:
    """What a workspace of an earlier program began with: the batches up to the time when it was made.

    Raises:
        WorkspaceError: The manifest does not say when that was.
    """
    try:
        made = datetime.fromisoformat(str(manifest["created"])) + timedelta(seconds=1)  # it has whole seconds
    except (KeyError, ValueError):
        raise WorkspaceError(f"{layout.manifest} does not say when the workspace was made") from None
    shipped = str(manifest.get("shipped") or "")
    with open_newest(layout.graph) as graph:
        numbers = [item.number for item in all_of(graph, Batch) if item.time <= made] if shipped else []
    return Base(place="", batch=max(numbers, default=0), seal="", snapshot=0, shipped=shipped)


def _carry_files(layout: WorkspaceFiles, draft: WorkspaceFiles) -> None:
    """Copy what is no record of the graph: tests, questions asked, carbon series, and what is not ours."""
    made = {path.name for path in (layout.lock, layout.graph, layout.manifest, layout.base, layout.versions)}
    made |= {path.name for path in (layout.generations, layout.models, layout.imports, layout.completions)}
    made |= {INDEX, *(path.name for path in layout.learned(0).paths)}
    for path in layout.root.iterdir():
        if path.name in made or path.name.startswith(
            (layout.trials.name, layout.vectors.name, layout.texts.name)
        ):
            continue
        if path == layout.questions:
            copy_database(path, draft.questions)
        elif path.is_dir():
            shutil.copytree(path, draft.root / path.name)
        elif not path.name.startswith(layout.questions.name):
            shutil.copy2(path, draft.root / path.name)
