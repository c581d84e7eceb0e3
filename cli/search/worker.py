"""``tunegraph search worker``: take part in a search from any machine."""

from __future__ import annotations

import logging
import os
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from cli.options import JsonOption
from cli.search.options import JobsOption, NameOption
from cli.values import span_s

if TYPE_CHECKING:
    from recommender.search.log.study import SearchLog
    from recommender.search.run.runner import Runner


def worker(
    storage: Annotated[
        str, typer.Option("--storage", help="URL of the database that holds the search; or its journal.")
    ],
    name: NameOption = "",
    jobs: JobsOption = None,
    folder: Annotated[
        Path | None,
        typer.Option(
            "--folder", help="Where its commands run here; by default where they do where it was begun."
        ),
    ] = None,
    file: Annotated[
        str | None, typer.Option("--file", help="The search file: see that this search is of the same space.")
    ] = None,
    wait: Annotated[
        str, typer.Option("--wait", help="How long to wait for a storage that is away, such as 10min.")
    ] = "10min",
    as_json: JsonOption = False,
) -> None:
    """Join a search that search run --log URL began; several may, on any machines."""
    from cli import output
    from cli.search.running import compare, open_log, until_told
    from recommender.measuring.outcome import CancelledError

    patience_s = span_s(wait)
    log = open_log(storage, name)
    log.patience_s = patience_s
    if file is not None:
        compare(log, file)
    _speak()
    runner = _runner(log, folder, jobs)
    try:
        reason = until_told(runner)
    except (KeyboardInterrupt, CancelledError):
        raise KeyboardInterrupt from None
    told = {
        "search": log.name,
        "log": log.storage,
        "evaluated": runner.ended,
        "requeued": runner.queue.requeued,
        "dropped": runner.dropped,
        "evaluations": len(runner.search.evaluations),
        "stop_reason": reason,
    }
    if as_json:
        output.as_json(told)
    else:
        print(f"{runner.ended} of {told['evaluations']} evaluations were done here. Ended: {reason}.")


def _runner(log: SearchLog, folder: Path | None, jobs: int | None) -> Runner:
    """This machine's part in the search, after seeing that it can have one."""
    from cli import output
    from cli.progress import ProgressDisplay
    from recommender.measuring.environment import capture
    from recommender.search.run.assembly import runner_of, task_of
    from recommender.search.run.compatibility import check, differences
    from recommender.search.run.task import TaskCommand

    task = task_of(log)
    place = (folder or Path(log.metadata.folder)).resolve()
    check(log, task, place)
    shown = ProgressDisplay(brief=False)
    runner = runner_of(log, base=dict(os.environ), on_progress=shown.update, folder=place)
    shown.task = runner.task
    if jobs is not None:  # of this worker alone
        runner.task = replace(runner.task, jobs=jobs)
    if isinstance(task.number_source, TaskCommand):
        for text in differences(log, capture(task.versions)):
            output.note(f"this machine is not like the one where the search was begun: {text}")
    done = sum(trial.evaluation is not None for trial in log.trials())
    output.note(f"joined {log.name} in {log.storage}, of which {done} evaluations have ended")
    return runner


def _speak() -> None:
    """Have what a worker does beside evaluating told on stderr."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(logging.Formatter("%(message)s"))
    own = logging.getLogger("recommender.search")
    own.addHandler(handler)
    own.setLevel(logging.INFO)
    own.propagate = False
