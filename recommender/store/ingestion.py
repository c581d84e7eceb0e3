"""Files into a workspace, batch by batch, with a summary of what became of each."""

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from pathlib import Path

from ingest.completion import Completion, mark, read_marks
from ingest.door.context import IngestContext
from ingest.reading import FileReport, read
from kg.nouns.codec import plain
from kg.nouns.entities import Case, Trust
from kg.nouns.recipe import Recipe
from kg.nouns.values import digest
from kg.triples.finders import completion_marks, name_keys
from kg.triples.graph import GraphStore
from kg.triples.hardware_tree import HardwareTree
from kg.triples.names import Names
from recommender.measuring.environment import here
from recommender.store.writing.writer import BATCH_ROWS, Additions, Writer, rare_collections

BATCH_SECONDS = 2.0
"""A batch is closed after so long even if it is small, so that slow reading is acknowledged too."""


@dataclass(frozen=True, slots=True, kw_only=True)
class IngestSummary:
    """The result of an ingest.

    Attributes:
        files: What became of each file.
        added: Rows and problems taken in; zero in a dry run.
        known_files: Files that were taken in before and not read again.
        duration_s: How long it took, in seconds.
        dry_run: Nothing was written.
        recipes: Recipes read; one that was there is replaced.
    """

    files: tuple[FileReport, ...]
    added: Additions
    duration_s: float
    dry_run: bool
    recipes: int = 0

    @property
    def known_files(self) -> int:
        """Files that were taken in before and not read again."""
        return sum(report.is_known for report in self.files)

    @property
    def good(self) -> int:
        """Rows that are cases."""
        return sum(report.good for report in self.files)

    @property
    def bad(self) -> int:
        """Rows that are not."""
        return sum(report.bad for report in self.files)

    def to_json(self) -> dict[str, object]:
        """Return the content as JSON-ready values."""
        return {
            "dry_run": self.dry_run,
            "duration_s": round(self.duration_s, 3),
            "rows_good": self.good,
            "rows_bad": self.bad,
            **self.added.to_json(),
            "recipes": self.recipes,
            "files": [
                {
                    "path": str(report.path),
                    "format": report.format or None,
                    "known": report.is_known,
                    "rows_good": report.good,
                    "rows_bad": report.bad,
                    "faults": plain(report.faults),
                    "guesses": list(report.guesses),
                    "skipped": report.skipped or None,
                }
                for report in self.files
            ],
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Options(IngestContext):
    """The user's statements about the files of an ingest.

    Attributes:
        trust: How far their sources are trusted; None to leave that as it is.
        again: Also read files that were taken in before.
        origin: What their batches are called in the provenance; empty for nothing but their names.
        mark: What the last batch notes when all of them are in; empty for nothing.
    """

    trust: Trust | None = None
    again: bool = False
    origin: str = ""
    mark: str = ""


def ingest_files(
    paths: Iterable[Path],
    graph: GraphStore,
    writer: Writer | None,
    *,
    on_progress: Callable[[int], None] | None = None,
    on_batch: Callable[[Additions], None] | None = None,
    batch_rows: int = BATCH_ROWS,
    batch_s: float = BATCH_SECONDS,
    options: Options | None = None,
) -> IngestSummary:
    """Read files and folders and add their cases and recipes.

    Args:
        paths: Files and folders.
        graph: Knows the names of hardware and models.
        writer: Takes the cases; None for a dry run.
        on_progress: Told the bytes read since it was last told.
        on_batch: Told what each batch added, once it is acknowledged.
        batch_rows: Rows in a batch.
        batch_s: Seconds after which a batch is closed even if it is small.
        options: What the user says of the files; None for nothing.

    Raises:
        InputError: A path does not exist, or is a file that nothing reads; nothing was read.
        WorkspaceError: The workspace cannot be written; what was acknowledged is kept.
    """
    started = time.monotonic()
    given = options or Options()
    completion = None if writer is None else _completion(graph, given)
    completed: list[str] = []
    reports: list[FileReport] = []
    waiting: list[Case] = []
    recipes: dict[str, Recipe] = {}
    origins: dict[str, None] = {}
    total = Additions()
    counted: set[str] = set()
    since = time.monotonic()

    def close_batch() -> None:
        nonlocal total, since
        if recipes and writer is not None:
            writer.add_knowledge(recipes.values())
        counted.update(recipes)
        recipes.clear()
        if (waiting or completed) and writer is not None:
            added = writer.add(waiting, origins, completed=completed, trust=given.trust, origin=given.origin)
            total += added
            if on_batch is not None:
                on_batch(added)
        waiting.clear()
        origins.clear()
        completed.clear()
        since = time.monotonic()

    def take(item: Case | Recipe | FileReport) -> None:
        nonlocal total
        if isinstance(item, FileReport):
            reports.append(item)
            if item.is_known:
                total += Additions(repeated=item.good)
                return
            if waiting:
                origins[item.path.name] = None
            # the mark goes with the last rows of its file: after a crash before that the file is read again
            if completion is not None and item.key and item.key not in completion.rows_by_file:
                completed.append(mark(item.key, item.good))
        elif isinstance(item, Recipe):
            recipes[item.id] = item
        else:
            waiting.append(item)
            if len(waiting) >= batch_rows or time.monotonic() - since > batch_s:
                close_batch()

    tree = HardwareTree(graph)
    items = read(
        paths,
        Names(graph, tree),
        on_progress=on_progress,
        context=replace(given, hardware=here(given.hardware)),
        facts=tree.facts,
        completed=completion,
    )
    with rare_collections():
        for item in items:
            take(item)
        if given.mark:
            completed.append(given.mark)
        close_batch()
    return IngestSummary(
        files=tuple(reports),
        added=total,
        duration_s=time.monotonic() - started,
        dry_run=writer is None,
        recipes=len(counted),
    )


def _completion(graph: GraphStore, options: Options) -> Completion:
    """Return the files completed before, under the names that are known now."""
    return Completion(
        rows_by_file=read_marks(completion_marks(graph)),
        setting=digest(
            name_keys(graph),
            options.hardware,
            str(options.mapping or ""),
            options.source,
            *([repr(options.launch)] if options.launch else []),
        ),
        again=options.again or options.trust is not None,
    )
