"""What the verbs of ``tunegraph search`` do beside parsing: files, logs, running, taking in."""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cli.context import open_workspace, settings
from cli.values import span_s
from kg.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Mapping
    from types import FrameType

    import typer

    from recommender.search.log.study import SearchLog
    from recommender.search.report.result import Result
    from recommender.search.run.runner import Runner


def read_file(file: str) -> tuple[dict[str, object], Path]:
    """The content of a search file and the folder in which its commands run."""
    from recommender.search.run.task_file import read_task_file

    return read_task_file(file)


def given(**options: object) -> dict[str, object]:
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
    told = given(
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
    raw: Mapping[str, object],
    folder: Path,
    file: str,
    log: str | None,
    seed: int,
    *,
    cold: bool,
    accuracy: bool,
) -> SearchLog:
    """Look up what a search needs, say what was assumed, and begin its log."""
    from cli import output

    name = str(raw.get("name") or Path(file).stem)
    with open_workspace(context) as workspace:
        prepared = workspace.prepare_search(
            raw,
            name=name,
            folder=folder,
            base=dict(os.environ),
            seed=seed,
            cold=cold,
            allow_unmeasured_accuracy=accuracy,
        )
    for text in prepared.metadata.notes:
        output.note(text)
    if prepared.sources:
        best = prepared.sources[0]
        output.note(
            f"starting from {len(prepared.sources)} similar problems, nearest: {best.name}"
            f" (similarity {best.similarity:.2f}, {len(best.costs)} rows)"
        )
    return prepared.begin(log or f"{name}.journal")


def is_log(text: str) -> bool:
    """Whether a text names a log: a URL, or a file that is no YAML."""
    return "://" in text or (Path(text).is_file() and Path(text).suffix not in {".yaml", ".yml"})


def open_log(log: str, name: str) -> SearchLog:
    """A search that was begun."""
    from recommender.search.log.study import SearchLog

    return SearchLog.open(log, name=name)


def own_log(log: str, name: str) -> SearchLog | None:
    """The search in a log; None if something else wrote it."""
    from kg.errors import TuningError

    try:
        return open_log(log, name)
    except TuningError:
        if "://" in log or name:
            raise
        return None


def result_of(log: SearchLog) -> Result:
    """Where a search stands."""
    from recommender.search.report.result import Result
    from recommender.search.run.assembly import task_of

    return Result.of(log, task_of(log))


def compare(log: SearchLog, file: str) -> None:
    """Refuse to go on with a search whose file describes another space."""
    from recommender.search.run.compatibility import compare_file

    compare_file(log, read_file(file)[0], file)


def go_on(
    context: typer.Context,
    log: SearchLog,
    more: Mapping[str, object] | None,
    *,
    ingest: bool,
    plot: Path | None,
    as_json: bool,
    variables: Mapping[str, str] | None = None,
) -> None:
    """Run a search to its end, print what it found, take it in.

    ``variables`` are those of its file, whose secrets the log has masked.
    """
    from cli import output
    from cli.progress import ProgressDisplay
    from recommender.measuring.outcome import CancelledError
    from recommender.search.run.assembly import runner_of

    shown = ProgressDisplay()
    runner = runner_of(log, base={**os.environ, **(variables or {})}, on_progress=shown.update, more=more)
    shown.task = runner.task
    try:
        with shown:
            until_told(runner)
    except (KeyboardInterrupt, CancelledError):
        print(f"Go on: tunegraph search resume {log.storage}", file=sys.stderr)
        raise KeyboardInterrupt from None
    result = result_of(log)
    show_result(result, as_json=as_json)
    if plot is not None:
        from recommender.cost_model.plots import write
        from recommender.search.report.plots import history_svg

        write(plot, history_svg(result.history))
        output.note(f"wrote {plot}")
    if ingest:
        _take_in(context, log)


def until_told(runner: Runner) -> str:
    """Run, and why it ended; a request to terminate is an interruption, after which the search can go on."""

    def stop(_number: int, _frame: FrameType | None) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGTERM, stop)
    try:
        return runner.run()
    finally:
        signal.signal(signal.SIGTERM, before)


def _take_in(context: typer.Context, log: SearchLog) -> None:
    """Take what was measured into the workspace; of a database elsewhere, a copy of the search is read."""
    import tempfile

    from cli import output
    from kg.errors import WorkspaceError
    from recommender.workspace import Workspace

    path = Path(log.storage.removeprefix("sqlite:///"))
    chosen = settings(context)
    with tempfile.TemporaryDirectory() as folder:
        if not path.is_file():
            path = Path(folder) / f"{log.name}.journal"
            log.copy_to(path)
        try:
            with Workspace.editor(chosen.workspace, cache=chosen.cache, command="search") as editor:
                summary = editor.ingest([path])
        except WorkspaceError as fault:
            output.note(
                f"not taken into the workspace: {fault}; again: tunegraph search resume {log.storage}"
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


def show_begun(log: SearchLog, *, as_json: bool) -> None:
    """Print that a search was begun, and how to join it."""
    from cli import output

    if as_json:
        output.as_json({"search": log.name, "log": log.storage})
    else:
        print(f"{log.name} is begun. Join: tunegraph search worker --storage {log.storage} --name {log.name}")
        print(f"See: tunegraph search status {log.storage} --name {log.name}")
