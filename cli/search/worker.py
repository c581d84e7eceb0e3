"""``tunegraph search worker``: take part in a search from any machine."""

from __future__ import annotations

import logging
import os
import sys
from pathlib import Path
from typing import Annotated

import typer

from cli.options import JsonOption
from cli.output import say
from cli.search.options import JobsOption, NameOption
from cli.values import span_s


def worker(
    storage: Annotated[
        str, typer.Option("--storage", help="URL of the database that holds the search; or its journal.")
    ],
    name: NameOption = "",
    jobs: JobsOption = None,
    folder: Annotated[
        Path | None,
        typer.Option("--folder", help="Folder for its commands; by default the one in which it began."),
    ] = None,
    file: Annotated[
        str | None, typer.Option("--file", help="Search file: check that this search has the same space.")
    ] = None,
    wait: Annotated[
        str, typer.Option("--wait", help="How long to wait for an unreachable storage, such as 10min.")
    ] = "10min",
    as_json: JsonOption = False,
) -> None:
    """Join a search that search run --log URL began.

    Several workers may join, on any machines.
    """
    from cli import output
    from cli.progress import ProgressDisplay
    from cli.search.running import interrupted_by_sigterm, open_log

    patience_s = span_s(wait)
    search = open_log(storage, name)
    if file is not None:
        search.check_file(file)
    _speak()
    with interrupted_by_sigterm():
        part = search.join(
            base=dict(os.environ),
            folder=folder,
            jobs=jobs,
            patience_s=patience_s,
            on_note=output.note,
            on_progress=ProgressDisplay(brief=False).update,
        )
    if as_json:
        output.as_json({"search": search.name, "log": search.storage, **part.to_json()})
    else:
        say(f"{part.evaluated} of {part.evaluations} evaluations were done here. Ended: {part.stop_reason}.")


def _speak() -> None:
    """Have what a worker does beside evaluating told on stderr."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(logging.Formatter("%(message)s"))
    logger = logging.getLogger("recommender.search")
    logger.addHandler(handler)
    logger.setLevel(logging.INFO)
    logger.propagate = False
