"""An experiment of the command line: its log begun, run to its end, and its result told."""

from __future__ import annotations

import os
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from cli.context import settings
from kg.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Sequence
    from types import FrameType

    from recommender.experiment.design import ExperimentDesign
    from recommender.experiment.impact import Prices
    from recommender.experiment.journal import Logged
    from recommender.experiment.preparing import Runs
    from recommender.experiment.samples import Sample
    from recommender.experiment.standing import ExperimentState

UNDECIDED = 5
"""Exit code of a test without a verdict: a result, not an error."""


def folder(context: typer.Context) -> Path:
    """Folder of the experiments of a workspace."""
    from recommender.files import WorkspaceFiles

    return WorkspaceFiles(settings(context).workspace).experiments


def find(context: typer.Context, name: str) -> Logged:
    """An experiment by its name."""
    from recommender.experiment import journal

    return journal.find(folder(context), name)


def stands(logged: Logged) -> ExperimentState:
    """How an experiment stands."""
    from recommender.experiment.standing import standing

    return standing(logged.samples, logged.design)


def begin(
    context: typer.Context, name: str, design: ExperimentDesign, about: dict[str, object], *, keeps_seed: bool
) -> Logged:
    """The log of an experiment, made if it is not there; one of the same name goes on if it is the same."""
    from dataclasses import replace

    from recommender.experiment.journal import ExperimentJournal, path_of, read
    from recommender.measuring.environment import capture

    name = name or f"ab-{datetime.now(UTC):%Y%m%d-%H%M%S}"
    path = path_of(folder(context), name)
    if path.is_file() and path.stat().st_size:
        before = read(path)
        if keeps_seed:
            design = replace(design, seed=before.design.seed)
        if before.about.get("runs") != about["runs"]:
            raise InputError(
                f"experiment {name} runs another command", hint="give another --name, or --resume it as it is"
            )
    with ExperimentJournal(path, design, {**about, "machine": capture({})}):
        pass
    return read(path)


def keep(
    context: typer.Context,
    name: str,
    design: ExperimentDesign,
    samples: Sequence[Sample],
    about: dict[str, object],
) -> Logged:
    """The log of what was recorded; told twice, it is there once."""
    from recommender.experiment.journal import ExperimentJournal, path_of, read

    path = path_of(folder(context), name)
    wanted = list(samples)
    with ExperimentJournal(path, design, about) as journal:
        if journal.samples and journal.samples != wanted:
            raise InputError(f"experiment {name} holds other measurements", hint="give another --name")
        if not journal.samples:
            journal.add(*wanted)
    return read(path)


def go_on(
    context: typer.Context,
    logged: Logged,
    prices: Prices | None,
    *,
    tell: bool,
    as_json: bool,
    runs: Runs | None = None,
) -> None:
    """Run an experiment to its end, or to Ctrl-C, and tell its result.

    ``runs`` is how its arms are run; None to take that from its log, which has no secrets.
    """
    import signal
    import threading

    from cli.ab import output as ab_output
    from kg.nouns.values import digest
    from recommender.experiment.journal import ExperimentJournal, path_of, read
    from recommender.experiment.preparing import Runs, evaluators_of
    from recommender.experiment.running import Experiment
    from recommender.measuring.process import kill_marked

    path = path_of(folder(context), logged.name)
    runs = runs or Runs.of(logged)
    mark = digest("experiment", str(path.resolve()))
    evaluators = evaluators_of(logged.design, runs, base=dict(os.environ), mark=mark)
    shown = ab_output.ExperimentProgress(logged.design, prices)
    with ExperimentJournal(path, logged.design, logged.about) as journal, shown:
        kill_marked(mark)  # a run that outlived a killed session would disturb this one
        experiment = Experiment(
            design=logged.design, evaluators=evaluators, journal=journal, on_round=shown.update
        )

        def stop(_number: int, _frame: FrameType | None) -> None:
            raise KeyboardInterrupt

        before = signal.signal(signal.SIGTERM, stop)
        try:
            state = experiment.run(threading.Event())
        except KeyboardInterrupt:
            print(f"Go on: tunegraph ab run --resume {logged.name}", file=sys.stderr)
            raise
        finally:
            signal.signal(signal.SIGTERM, before)
        journal.conclude(state.to_json())
    finish(context, read(path), prices, tell=tell, as_json=as_json)


def finish(
    context: typer.Context, logged: Logged, prices: Prices | None, *, tell: bool, as_json: bool
) -> None:
    """Tell the graph and the user what came out; exit code 5 where there is no verdict."""
    from cli.ab import outcome as ab_outcome
    from cli.ab import output as ab_output

    state = stands(logged)
    told = ab_outcome.told(context, logged, state) if tell else None
    ab_output.result(logged, state, prices, as_json=as_json, told=told)
    if not state.is_decided:
        raise typer.Exit(UNDECIDED)
