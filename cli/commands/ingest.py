"""``tunegraph ingest``: files and folders into the workspace."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from cli.context import open_for_writing, open_workspace
from cli.options import JsonOption
from cli.output import aside, say
from kg.errors import MissingDependencyError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from recommender.store.editor import Editor
    from recommender.store.ingestion import IngestSummary

PARTIAL = 2
SHOWN_FAULTS = 10

LEARN_FROM_ROWS = 5_000
"""New rows from which on learning again is worth its minutes."""


def ingest(
    context: typer.Context,
    paths: Annotated[list[Path], typer.Argument(help="Files and folders of cases and recipes.")],
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Read and report; write nothing.")] = False,
    keep_going: Annotated[
        bool, typer.Option("--keep-going", help="End with 0 although rows were bad.")
    ] = False,
    hardware: Annotated[str, typer.Option("--hardware", help="Hardware of runs whose files name none.")] = "",
    model: Annotated[str, typer.Option("--model", help="Model of runs whose files name none.")] = "",
    from_command: Annotated[
        str | None,
        typer.Option("--from-command", help="Script, log or manifest of the launch whose results these are."),
    ] = None,
    mapping: Annotated[
        Path | None, typer.Option("--mapping", help="What the columns of plain CSV tables are (YAML).")
    ] = None,
    source: Annotated[
        str, typer.Option("--source", help="Published address of files that do not name one.")
    ] = "",
    suggest_mapping: Annotated[
        bool, typer.Option("--suggest-mapping", help="Draft a mapping for each CSV table; take in nothing.")
    ] = False,
    trust: Annotated[
        Literal["low", "medium", "high"] | None,
        typer.Option("--trust", help="Trust in these sources; medium if never set."),
    ] = None,
    again: Annotated[
        bool, typer.Option("--again", help="Also read files that were taken in whole before.")
    ] = False,
    learn: Annotated[
        bool, typer.Option(help="Afterwards learn how operators respond, if many rows were new.")
    ] = True,
    as_json: JsonOption = False,
) -> None:
    """Read result files into the workspace.

    Good rows stay if others are bad; the same file twice changes nothing.

    Example: tunegraph ingest results/
    """
    from cli import output
    from kg.nouns.entities import Trust
    from recommender.store.ingestion import Options

    if suggest_mapping:
        _suggest(paths)
        return
    options = Options(
        hardware=hardware,
        mapping=mapping,
        trust=Trust(trust) if trust else None,
        again=again,
        source=source,
        launch=_launch(from_command, model),
    )
    stopped: KeyboardInterrupt | None = None
    with _progress(paths) as advance:
        if dry_run:
            with open_workspace(context) as workspace:
                summary = workspace.knowledge.try_out(paths, on_progress=advance, options=options)
        else:
            with open_for_writing(context) as editor:
                summary = editor.ingest(paths, on_progress=advance, options=options)
                if summary.added.rows >= LEARN_FROM_ROWS and learn:
                    stopped = learn_from(editor)
    if as_json:
        output.as_json(summary.to_json())
    else:
        _report(summary)
    is_nothing = all(report.skipped for report in summary.files)
    if is_nothing:
        aside("tunegraph: nothing there could be read")
    if stopped is not None:
        raise stopped
    if (summary.bad or is_nothing) and not keep_going:
        raise typer.Exit(PARTIAL)


def _launch(from_command: str | None, model: str) -> dict[str, object]:
    """The question of the launch, and the model, that were told with the files."""
    told: dict[str, object] = {"model": model} if model else {}
    if from_command is None:
        return told
    from cli.options import facts_at_hand
    from ingest.questions.launches.launch_facts import merge_facts

    return merge_facts(facts_at_hand(from_command=from_command, config_json=None, smi=None)) | told


def _suggest(paths: list[Path]) -> None:
    from ingest.formats.cases.mapping import mapping_beside
    from ingest.formats.cases.mapping_draft import suggest_mapping

    for path in paths:
        print(suggest_mapping(path), end="")
        aside(f"save it as {mapping_beside(path)}, or name it with --mapping")


def learn_from(editor: Editor) -> KeyboardInterrupt | None:
    """Learn from what was taken in; what stopped it, if somebody did."""
    try:
        aside("learning how operators respond to configurations ...")
        aside(f"learned: {', '.join(editor.learn()) or 'nothing'}")
    except MissingDependencyError as missing:
        aside(f"nothing is learned from these rows: {missing.hint}")
    except KeyboardInterrupt as stopped:
        aside("learning was stopped: what was learned before stays")
        return stopped
    return None


def _report(summary: IngestSummary) -> None:
    read = [report for report in summary.files if not report.skipped and not report.is_known]
    for report in summary.files:
        path = _shown(report.path)
        if report.skipped:
            aside(f"{path}: skipped, {report.skipped}")
            continue
        for fault in report.faults[:SHOWN_FAULTS]:
            aside(f"{path}: {fault}")
        if report.bad > SHOWN_FAULTS:
            aside(f"{path}: ... {report.bad:,} in all; --json lists the first hundred")
    guesses = dict.fromkeys(guess for report in read for guess in report.guesses)
    for guess in list(guesses)[:SHOWN_FAULTS]:
        aside(f"assumed: {guess}")
    if len(guesses) > SHOWN_FAULTS:
        aside(f"assumed: ... {len(guesses)} things in all; --json lists them")
    good = sum(report.good for report in read)
    rate = good / summary.duration_s if summary.duration_s else 0
    if summary.known_files:
        aside(f"{summary.known_files} files were taken in before; --again reads them")
    say(
        f"{good:,} rows of {len(read)} files in {summary.duration_s:.1f} s ({rate:,.0f} rows/s)"
        + (f", {summary.bad:,} bad" if summary.bad else "")
    )
    if summary.dry_run:
        say("dry run: nothing was written")
    else:
        added = summary.added
        say(
            f"{added.rows:,} rows and {added.problems:,} problems are new, {added.repeated:,} rows were known"
        )
        if summary.recipes:
            say(f"{summary.recipes:,} recipes are in the knowledge: tunegraph kb list recipes")


def _shown(path: Path) -> str:
    """A path on one line, whatever is in its name: nothing in it moves the cursor or breaks the line."""
    return "".join(letter if letter.isprintable() else repr(letter)[1:-1] for letter in str(path))


class _progress:  # noqa: N801  a context manager used like a function
    """Shows bytes read, rate and time left on a terminal; nothing elsewhere."""

    def __init__(self, paths: list[Path]) -> None:
        self._paths = paths
        self._bar: object = None

    def __enter__(self) -> Callable[[int], None] | None:
        if not sys.stderr.isatty():
            return None
        from rich.console import Console
        from rich.progress import (
            BarColumn,
            DownloadColumn,
            Progress,
            TimeRemainingColumn,
            TransferSpeedColumn,
        )

        from cli.output import raw

        total = sum(size for size in _sizes(self._paths))
        bar = Progress(
            "reading",
            BarColumn(),
            DownloadColumn(),
            TransferSpeedColumn(),
            TimeRemainingColumn(),
            console=Console(file=raw(sys.stderr)),
            transient=True,
        )
        task = bar.add_task("reading", total=total)
        bar.start()
        self._bar = bar
        return lambda count: bar.advance(task, count)

    def __exit__(self, *_: object) -> None:
        stop = getattr(self._bar, "stop", None)
        if stop is not None:
            stop()


def _sizes(paths: list[Path]) -> Iterator[int]:
    for path in paths:
        if path.is_file():
            yield path.stat().st_size
        elif path.is_dir():
            yield from (item.stat().st_size for item in path.rglob("*") if item.is_file())
