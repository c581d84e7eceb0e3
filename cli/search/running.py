"""Work of the verbs of ``tunegraph search`` beside parsing: files, logs, running, taking in."""

from __future__ import annotations

import os
import signal
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cli.context import open_workspace, settings
from cli.output import aside, say
from cli.values import span_s
from kg.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from types import FrameType

    import typer

    from recommender.search.logged_search import LoggedSearch
    from recommender.search.report.result import Result
    from recommender.search.run.task_file import TaskFile


def given_options(**options: object) -> dict[str, object]:
    """The options that were given."""
    return {key: item for key, item in options.items() if item is not None}


def add_stop(
    raw: dict[str, object],
    *,
    evaluations: int | None,
    time: str | None,
    cost: float | None,
    price: float | None,
    patience: int | None,
    gain: float | None,
) -> None:
    """Lay budgets over those of a file."""
    stop = raw.get("stop") or {}
    if not isinstance(stop, dict):
        raise InputError("stop: expected names and values")
    told = given_options(
        evaluations=evaluations,
        time_s=None if time is None else span_s(time),
        cost=cost,
        price_per_hour=price,
        patience=patience,
        minimum_gain=gain,
    )
    if told:
        raw["stop"] = {**stop, **told}


def add_metrics(raw: dict[str, object], metrics: Any, patterns: Any) -> None:
    """Metrics of the options: ``name=path:unit`` and ``name:unit=pattern``; they replace the file's."""
    found: dict[str, object] = {}
    for text in metrics:
        name, sign, rest = text.partition("=")
        path, _, symbol = rest.partition(":")
        if not sign or not path:
            raise InputError(f"--metric {text!r}: expected name=path:unit", hint="kernel_time=time_s:s")
        found[name.strip()] = {"path": path} | ({"unit": symbol} if symbol else {})
    for text in patterns:
        head, sign, expression = text.partition("=")
        name, _, symbol = head.partition(":")
        if not sign or not expression:
            raise InputError(f"--pattern {text!r}: expected name:unit=pattern")
        found[name.strip()] = {"pattern": expression} | ({"unit": symbol} if symbol else {})
    if found:
        raw["metrics"] = found
        raw.pop("objectives", None)


def begin(
    context: typer.Context,
    file: TaskFile,
    log: str | None,
    seed: int,
    *,
    cold: bool,
    accuracy: bool,
) -> LoggedSearch:
    """Look up what a search needs, say what was assumed, and begin its log."""
    from cli import output

    with open_workspace(context) as workspace:
        search = workspace.search(
            file,
            log=log or file.log_name,
            base=dict(os.environ),
            seed=seed,
            cold=cold,
            allow_unmeasured_accuracy=accuracy,
        )
    for text in search.log.metadata.notes:
        output.note(text)
    if sources := search.log.sources:
        similar = [item for item in sources if item.problem_id]
        if similar:
            best = similar[0]
            output.note(
                f"starting from {len(similar)} similar problems, nearest: {best.name}"
                f" (similarity {best.similarity:.2f}, {len(best.costs)} rows)"
            )
        if len(similar) < len(sources):
            output.note("starting from the estimate in the search file")
    return search


def is_log(text: str) -> bool:
    """True if a text names a log: a URL, or a file that is no YAML."""
    return "://" in text or (Path(text).is_file() and Path(text).suffix not in {".yaml", ".yml"})


def open_log(log: str, name: str) -> LoggedSearch:
    """A search that was begun."""
    from recommender.workspace.searches import SearchDesk

    return SearchDesk.open(log, name)


def own_log(log: str, name: str) -> LoggedSearch | None:
    """The search in a log; None if something else wrote it."""
    from kg.errors import TuningError

    try:
        return open_log(log, name)
    except TuningError:
        if "://" in log or name:
            raise
        return None


def go_on(
    context: typer.Context,
    search: LoggedSearch,
    more: Mapping[str, object] | None,
    *,
    ingest: bool,
    as_json: bool,
    variables: Mapping[str, str] | None = None,
) -> None:
    """Run a search to its end, print what it found, take it in.

    ``variables`` are those of its file, whose secrets the log has masked.
    """
    from cli.progress import ProgressDisplay

    base = {**os.environ, **(variables or {})}
    try:
        with ProgressDisplay() as display, interrupted_by_sigterm():
            search.run(base=base, on_progress=display.update, more=more)
    except KeyboardInterrupt:
        aside(f"Go on: tunegraph search resume {search.storage}")
        raise
    result = search.result()
    show_result(result, as_json=as_json)
    if ingest:
        _take_in(context, search)


@contextmanager
def interrupted_by_sigterm() -> Iterator[None]:
    """Make a request to terminate an interruption, after which a search can go on."""

    def stop(_number: int, _frame: FrameType | None) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGTERM, stop)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def _take_in(context: typer.Context, search: LoggedSearch) -> None:
    """Take what was measured into the workspace; of a database elsewhere, a copy of the search is read."""
    import tempfile

    from cli import output
    from kg.errors import WorkspaceError
    from recommender.workspace.workspace import Workspace

    chosen = settings(context)
    with tempfile.TemporaryDirectory() as folder:
        path = search.journal(Path(folder))
        try:
            with Workspace.editor(chosen.workspace, cache=chosen.cache, command="search") as editor:
                summary = editor.ingest([path])
        except WorkspaceError as fault:
            output.note(
                f"not taken into the workspace: {fault}; again: tunegraph search resume {search.storage}"
            )
            return
    output.note(f"{summary.added.rows} new rows in the workspace: the next search is warmer")


def show_result(result: Result, *, as_json: bool) -> None:
    """Print where a search stands."""
    from cli import output
    from cli.search import report as search_report

    if as_json:
        output.as_json(result.to_json())
    else:
        search_report.show(result)


def show_begun(search: LoggedSearch, *, as_json: bool) -> None:
    """Print that a search was begun, and how to join it."""
    from cli import output

    if as_json:
        output.as_json({"search": search.name, "log": search.storage})
    else:
        name, log = search.name, search.storage
        say(f"{name} is begun. Join: tunegraph search worker --storage {log} --name {name}")
        say(f"See: tunegraph search status {log} --name {name}")
