"""``tunegraph kb pull``: public corpora from where they are published into the workspace."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from cli.commands.ingest import LEARN_FROM_ROWS, learn_from
from cli.context import open_for_writing, open_workspace
from cli.options import JsonOption
from cli.output import aside, moving_line, say
from kg.errors import FetchError, InputError

if TYPE_CHECKING:
    from ingest.corpora.corpus import Corpus
    from recommender.store.ingestion import IngestSummary


def pull(
    context: typer.Context,
    names: Annotated[list[str] | None, typer.Argument(help="Names of corpora; --list shows them.")] = None,
    listed: Annotated[bool, typer.Option("--list", help="List the corpora; fetch nothing.")] = False,
    every: Annotated[bool, typer.Option("--all", help="Fetch every corpus that is not here yet.")] = False,
    catalogue: Annotated[
        Path | None, typer.Option("--catalogue", help="Corpora of your own (YAML), in place of ours.")
    ] = None,
    learn: Annotated[
        bool, typer.Option(help="Afterwards learn how operators respond, if many rows were new.")
    ] = True,
    as_json: JsonOption = False,
) -> None:
    """Fetch public corpora of measured cases; they are in whole or not.

    What broke off is gone on with by the same command.

    Example: tunegraph kb pull --list
    """
    from cli import output
    from ingest.corpora.corpus import choose

    pulled: dict[str, IngestSummary] = {}
    failed: FetchError | InputError | None = None
    with open_workspace(context) as workspace:
        state = {corpus.id: (corpus, is_here) for corpus, is_here in workspace.knowledge.corpora(catalogue)}
        if listed:
            _list([*state.values()], as_json=as_json)
            return
        if not names and not every:
            raise InputError("no corpus is named", hint=f"one or more of: {', '.join(state)}; or --all")
        wanted = choose({name: corpus for name, (corpus, _) in state.items()}, names or state)
        for corpus in wanted:
            if state[corpus.id][1]:
                aside(f"{corpus.id} is here already")
                continue
            progress = _Progress(corpus)
            try:
                pulled[corpus.id] = workspace.knowledge.pull(
                    corpus, on_fetch=progress.fetched, on_read=progress.read
                )
            except (FetchError, InputError) as error:
                if failed is not None:  # the last one ends the command
                    aside(f"tunegraph: {failed}")
                failed = error
            finally:
                progress.end()
            if not as_json and corpus.id in pulled:
                _tell(corpus, pulled[corpus.id])
    if as_json:
        output.as_json({"pulled": {name: summary.to_json() for name, summary in pulled.items()}})
    if learn and sum(summary.added.rows for summary in pulled.values()) >= LEARN_FROM_ROWS:
        with open_for_writing(context) as editor:
            if (stopped := learn_from(editor)) is not None:
                raise stopped
    if failed is not None:
        raise failed


class _Progress:
    """One line that moves on a terminal; nothing elsewhere."""

    def __init__(self, corpus: Corpus) -> None:
        self._corpus = corpus
        self._is_shown = sys.stderr.isatty()
        self._fetched = self._read = 0

    def fetched(self, count: int) -> None:
        self._fetched += count
        self._show("fetching", self._fetched)

    def read(self, count: int) -> None:
        self._read += count
        self._show("reading", self._read)

    def end(self) -> None:
        if self._is_shown and self._fetched:
            moving_line("")

    def _show(self, doing: str, count: int) -> None:
        if self._is_shown:
            of = f" of {self._corpus.size_bytes / 1e6:,.1f}" if self._corpus.files or self._read else ""
            moving_line(f"{doing} {self._corpus.id}: {count / 1e6:,.1f}{of} MB")


def _tell(corpus: Corpus, summary: IngestSummary) -> None:
    added = summary.added
    say(
        f"{corpus.id}: {added.rows:,} rows and {added.problems:,} problems are new, {added.repeated:,} rows "
        f"were known ({summary.duration_s:.1f} s)"
    )
    if summary.good != corpus.rows:
        aside(f"  {summary.good:,} rows were read, {corpus.rows:,} were expected, {summary.bad:,} were bad")


def _list(corpora: list[tuple[Corpus, bool]], *, as_json: bool) -> None:
    from cli import output

    if as_json:
        output.as_json(
            {
                "corpora": [
                    {
                        "id": corpus.id,
                        "title": corpus.title,
                        "source": corpus.source,
                        "commit": corpus.commit,
                        "licence": corpus.licence,
                        "reader": corpus.reader,
                        "rows": corpus.rows,
                        "bytes": corpus.size_bytes,
                        "here": is_here,
                    }
                    for corpus, is_here in corpora
                ]
            }
        )
        return
    output.table(
        ("corpus", "rows", "MB", "licence", "here", "what"),
        (
            (c.id, f"{c.rows:,}", f"{c.size_bytes / 1e6:,.1f}", c.licence, "yes" if here else "", c.title)
            for c, here in corpora
        ),
    )
    rows = sum(corpus.rows for corpus, _ in corpora)
    output.note(f"{len(corpora)} corpora, {rows:,} rows; all of them: tunegraph kb pull --all")
