"""An older workspace put on the knowledge that ships now: that is renewed, and what is its own stays.

The new workspace is made beside the old one: what ships now, and on it the own records, replayed batch by
batch through the one writer with the times they had. Then the two folders are exchanged in one step. A crash
leaves the old workspace or the new one. Where both changed a node of the knowledge, the workspace's
description stays and the difference is told.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from textwrap import shorten
from typing import TYPE_CHECKING

from kg.errors import WorkspaceError
from kg.lock import WriterLock
from kg.nouns.outcomes import Outcome
from kg.nouns.provenance import Batch
from kg.rows.cases import cases_by_batch, trusts_after
from kg.rows.joining import LISTED, compare
from kg.rows.layering import changed_nodes, described_knowledge, knowledge_layer, left_over
from kg.rows.trials import TrialStore
from kg.rows.trials_file import copy_database
from kg.triples.graph import GraphStore
from kg.triples.iris import outcome_iri
from kg.triples.serialisation import all_of, newest_batch
from kg.triples.snapshots import newest_number, open_newest, publish
from kg.triples.vocabulary import NAMESPACE
from recommender.files import WorkspaceFiles, folder_beside
from recommender.store import creation, versions
from recommender.store.base import Base, open_base_graph
from recommender.store.merging import SHOWN_CHARACTERS, Conflict, conflicts_of, effects_to_join
from recommender.store.upkeep.exchange import put_in_place
from recommender.store.upkeep.learned import keep_learned
from recommender.store.writing.writer import Additions

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from kg.nouns.entities import Case, Trust
    from kg.rows.layering import KnowledgeLayer
    from recommender.store.writing.writer import Writer

INDEX = "index"
"""Folder of the index of vectors; see ``embeddings.index``."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RenewalResult:
    """Result of a renewal.

    Attributes:
        base: What the workspace rests on now.
        is_new: Whether anything was done; False where that is as it was.
        added: Own rows and problems that were put on it; ``repeated`` are those that ship by now.
        nodes: Names of the nodes of the knowledge that are the workspace's own.
        changed: Names of the nodes that ship otherwise than before.
        conflicts: The first hundred things that both say differently; ours stays.
        conflict_count: How many there are.
    """

    base: Base
    is_new: bool
    added: Additions = field(default_factory=Additions)
    nodes: tuple[str, ...] = ()
    changed: tuple[str, ...] = ()
    conflicts: tuple[Conflict, ...] = ()
    conflict_count: int = 0

    def to_json(self) -> dict[str, object]:
        """Return the content as JSON-ready values."""
        return {
            "base": {"batch": self.base.batch, "shipped": self.base.shipped},
            "is_new": self.is_new,
            "own": {
                "rows": self.added.rows,
                "rows_in_base": self.added.repeated,
                "problems": self.added.problems,
                "knowledge": list(self.nodes),
            },
            "changed": list(self.changed),
            "conflicts": [item.to_json() for item in self.conflicts],
            "conflict_count": self.conflict_count,
        }


def renew(
    layout: WorkspaceFiles,
    cache: Path,
    *,
    version: str,
    make: Callable[[WorkspaceFiles], None],
    clock: Callable[[], datetime],
    anyhow: bool = False,
) -> RenewalResult:
    """Put a workspace on the knowledge that ships now.

    Args:
        layout: The workspace.
        cache: The user's cache directory.
        version: Of the shipped knowledge.
        make: Makes a workspace of it with the text model of this one.
        clock: Tells the time.
        anyhow: Renew it although it has that knowledge.

    Raises:
        WorkspaceError: Another process is writing, or the folder above cannot be written to; nothing was
            changed.
    """
    manifest = layout.read(for_writing=True)
    with creation.editor(layout, cache, creation.text_model(manifest), clock, command="workspace renew"):
        pass  # what a crash left is swept, and readers see what was acknowledged
    then = Base.read(layout)
    if then.shipped == version and not anyhow:
        return RenewalResult(base=then, is_new=False)
    root = layout.root.resolve()
    with ExitStack() as stack:
        lock = stack.enter_context(WriterLock(layout.lock, command="tunegraph workspace renew"))
        if lock.was_left:
            raise WorkspaceError(f"{root} was written to meanwhile", hint="run the command again")
        for left in root.parent.glob(f".{root.name}-renew-*"):
            shutil.rmtree(left, ignore_errors=True)
        try:
            scratch = stack.enter_context(folder_beside(root, "renew"))
            draft = WorkspaceFiles(Path(scratch) / "workspace")
            make(draft)
            with GraphStore(draft.live) as graph:
                publish(graph, draft.graph, after=newest_number(layout.graph))
            draft.write({**draft.read(), "created": manifest.get("created")})
            result = _replay(layout, draft, then, cache)
            _carry_files(layout, draft)
            draft.root.chmod(root.stat().st_mode & 0o777)
            os.sync()  # against loss of power: all of the new one is on the disk before it takes the place
            lock.finish()
            aside = put_in_place(draft.root, root)
        except OSError as error:
            reason = error.strerror or "not all files can be copied"
            raise WorkspaceError(f"{root.parent} cannot be written to: {reason}", hint="make room") from None
    if aside is not None:
        shutil.rmtree(aside, ignore_errors=True)
    return result


def _carry_files(layout: WorkspaceFiles, draft: WorkspaceFiles) -> None:
    """Copy what is no record of the graph: tests, questions asked, carbon series, and what is not ours."""
    made = {path.name for path in (layout.lock, layout.graph, layout.manifest, layout.base, layout.versions)}
    made |= {path.name for path in (layout.generations, layout.models, layout.completions)}
    made |= {INDEX, *(path.name for path in layout.learned(0).paths)}
    for path in layout.root.iterdir():
        if path.name in made or path.name.startswith((layout.trials.name, layout.texts.name)):
            continue
        if path == layout.questions:
            copy_database(path, draft.questions)
        elif path.is_dir():
            shutil.copytree(path, draft.root / path.name)
        elif not path.name.startswith(layout.questions.name):
            shutil.copy2(path, draft.root / path.name)


def _replay(layout: WorkspaceFiles, draft: WorkspaceFiles, then: Base, cache: Path) -> RenewalResult:
    """Put the own records of a workspace on a draft of what ships now.

    Args:
        layout: The workspace; it is only read.
        draft: A workspace of what ships now.
        then: The base that the workspace rests on so far.
        cache: The user's cache directory.

    Raises:
        WorkspaceError: One of them is damaged, or the draft cannot be written.
    """
    base = Base.read(draft)
    clock = _RecordedClock(datetime.now(UTC))
    with ExitStack() as stack:
        graph = stack.enter_context(open_newest(layout.graph))
        newest = newest_batch(graph)
        trials = stack.enter_context(TrialStore(layout.trials, read_only=True, acknowledged=newest))
        fresh = stack.enter_context(open_base_graph(draft))
        was = stack.enter_context(open_base_graph(layout))
        older, newer = described_knowledge(was), described_knowledge(fresh)
        layer = knowledge_layer(described_knowledge(graph), older, newer)
        changed = changed_nodes(older, newer)
        rows = compare(draft.trials, layout.trials, acknowledged=(base.batch, newest), since=then.batch)
        own = OwnRecords(graph=graph, trials=trials, after=then.batch, base=was)
        model = creation.text_model(draft.read())
        writer = stack.enter_context(creation.writer(draft, cache, model, clock, command="workspace renew"))
        added = _write(own, layer, writer, clock)
        if own.has_foreign_effects or layer.nodes:  # cases leave nothing behind
            writer.change_knowledge((), left_over(graph, was, writer.graph))
        _carry_learned(layout, draft, then, (newest, writer.batch))
    conflicts = [
        Conflict(about=item.about, ours=_brief(item.come), theirs=_brief(item.gone))
        for item in layer.conflicts
    ]
    conflicts += conflicts_of(rows.contradictions)
    return RenewalResult(
        base=base,
        is_new=True,
        added=added,
        nodes=layer.nodes,
        changed=tuple(node.value.removeprefix(NAMESPACE) for node in changed),
        conflicts=tuple(conflicts[:LISTED]),
        conflict_count=len(layer.conflicts) + rows.contradiction_count,
    )


@dataclass(slots=True)
class _RecordedClock:
    """A clock that shows the time of an event while it is replayed.

    Attributes:
        time: That time.
    """

    time: datetime

    def __call__(self) -> datetime:
        return self.time


def _write(own: OwnRecords, layer: KnowledgeLayer, writer: Writer, clock: _RecordedClock) -> Additions:
    if layer.nodes:
        writer.change_knowledge(layer.removed, layer.added)
    added = Additions()
    for item in own.batches():
        clock.time = item.batch.time
        added += writer.add(
            item.cases,
            item.batch.files,
            completed=item.completed,
            origin=item.batch.origin,
            about=item.outcomes,
        )
    trusts = {key: trust for key, trust in own.trusts().items() if writer.trials.trust_of(key) is not trust}
    if trusts:
        writer.revise((), (), trusts, mark="trust", prepare=lambda *_: None)
    if own.has_foreign_effects:
        effects, marks, _ = effects_to_join(writer.graph, writer.trials, own.graph, own.trials)
        if effects:
            writer.add_effects(effects, completed=marks)
    return added


def _carry_learned(
    layout: WorkspaceFiles, draft: WorkspaceFiles, then: Base, newest: tuple[int, int]
) -> None:
    """Take over versions, and what was learned here since the workspace was put on its base."""
    here, there = newest
    for version in versions.versions(layout, here):
        content, learned = versions.content(layout, version.name), versions.learned_then(layout, version.name)
        versions.save(draft, replace(version, since=there), content, learned)
    folder = layout.learned(here).folder
    contents = layout.learned(here).contents()
    if contents and (folder == layout.root or int(folder.name) > then.batch):
        keep_learned(draft, there, contents)
    if layout.models.is_dir() and here > then.batch:
        shutil.rmtree(draft.models, ignore_errors=True)
        shutil.copytree(layout.models, draft.models)


def _brief(texts: Sequence[str]) -> str:
    return shorten("; ".join(texts), SHOWN_CHARACTERS, placeholder=" ...") or "nothing more"


_OF_THIS_WORKSPACE = ("import/", "undo/", "version/", "effect/", "calibration")
"""Beginnings of marks that mean something in the workspace that made them alone."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnBatch:
    """A batch that is no part of the base.

    Attributes:
        batch: Its description.
        cases: Its cases, in the order in which they came.
        completed: Marks of files that it took in whole.
        outcomes: Outcomes of the tests that its cases are from.
    """

    batch: Batch
    cases: list[Case]
    completed: tuple[str, ...]
    outcomes: list[Outcome]


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnRecords:
    """The records of a workspace that did not come from its base.

    Attributes:
        graph: Its graph.
        trials: Its rows.
        after: Newest batch of the base.
        base: Graph of the base.
    """

    graph: GraphStore
    trials: TrialStore
    after: int
    base: GraphStore

    def batches(self) -> Iterator[OwnBatch]:
        """Yield the batches that brought cases, or took in files whole, oldest first."""
        cases = dict(cases_by_batch(self.graph, self.trials, self.after))
        outcomes = {item.source.id: item for item in self.outcomes()}
        for batch in self._batches():
            its = cases.get(batch.number, [])
            marks = tuple(mark for mark in batch.completed if not mark.startswith(_OF_THIS_WORKSPACE))
            if its or marks:
                sources = dict.fromkeys(case.source.id for case in its)
                about = [outcomes[key] for key in sources if key in outcomes]
                yield OwnBatch(batch=batch, cases=its, completed=marks, outcomes=about)

    def outcomes(self) -> list[Outcome]:
        """The outcomes that the base did not have."""
        return [
            item for item in all_of(self.graph, Outcome) if not any(self.base.triples(outcome_iri(item.id)))
        ]

    def trusts(self) -> dict[str, Trust]:
        """Trust of sources that was set here, by id."""
        return trusts_after(self.trials, self.after)

    @property
    def has_foreign_effects(self) -> bool:
        """True if effects came in without their cases, from another workspace or an imported graph."""
        marks = (mark for item in self._batches() for mark in item.completed)
        return any(mark.startswith(("effect/", "import/")) for mark in marks)

    def _batches(self) -> list[Batch]:
        """The batches that the base did not have, oldest first."""
        own = (batch for batch in all_of(self.graph, Batch) if batch.number > self.after)
        return sorted(own, key=lambda batch: batch.number)
