"""An A/B test on the command line: run it with its progress shown, print its result, teach the graph."""

from __future__ import annotations

import os
import signal
from typing import TYPE_CHECKING

import typer

from cli.context import open_workspace, settings
from cli.output import aside
from kg.errors import InputError

if TYPE_CHECKING:
    from pathlib import Path
    from types import FrameType

    from recommender.experiment.impact import Prices
    from recommender.experiment.journal import Logged
    from recommender.experiment.metadata import ExperimentSubject
    from recommender.experiment.preparing import PreparedTest
    from recommender.store.experiments import StoredExperiments

UNDECIDED = 5
"""Exit code of a test without a verdict: a result, not an error."""


def experiments(context: typer.Context) -> StoredExperiments:
    """The experiments of the workspace, which is not opened for them."""
    from recommender.store.experiments import StoredExperiments

    return StoredExperiments.at(settings(context).workspace)


def subject_of(
    context: typer.Context, recommendation: str, problem: Path | None, strategy: str
) -> ExperimentSubject | None:
    """The subject that the options name; None where they name none.

    Raises:
        InputError: Both a recommendation and a problem are given, or a strategy without either.
    """
    if recommendation:
        if problem is not None or strategy:
            raise InputError("a recommendation has its problem and strategy", hint="leave those options out")
        return experiments(context).of_recommendation(recommendation)
    if problem is None:
        if strategy:
            raise InputError("--strategy needs to know on what it was tried", hint="--problem FILE")
        return None
    from ingest.questions.problem_file import read_problem_file

    question = read_problem_file(problem)
    with open_workspace(context) as workspace:
        return workspace.experiments.of_problem(question, strategy)


def begin_and_run(
    context: typer.Context,
    test: PreparedTest,
    prices: Prices | None = None,
    *,
    name: str = "",
    tell: bool = True,
    as_json: bool,
) -> None:
    """Begin a test and run it to its end."""
    logged = experiments(context).begin(test, name)
    run(context, logged, prices, tell=tell, as_json=as_json, test=test)


def run(
    context: typer.Context,
    logged: Logged,
    prices: Prices | None,
    *,
    tell: bool,
    as_json: bool,
    test: PreparedTest | None = None,
) -> None:
    """Run an experiment to its end, or to Ctrl-C, and print its result; ``test`` is what was just begun."""
    from cli.ab.output import ExperimentProgress

    def stop(_number: int, _frame: FrameType | None) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGTERM, stop)
    try:
        stored, base = experiments(context), dict(os.environ)
        with ExperimentProgress(logged.design, prices) as progress:
            logged = stored.run(logged, base=base, on_round=progress.update, test=test)
    except KeyboardInterrupt:
        aside(f"Go on: tunegraph ab run --resume {logged.name}")
        raise
    finally:
        signal.signal(signal.SIGTERM, before)
    finish(context, logged, prices, tell=tell, as_json=as_json)


def finish(
    context: typer.Context, logged: Logged, prices: Prices | None, *, tell: bool, as_json: bool
) -> None:
    """Teach the graph and print the result; exit code 5 where there is no verdict."""
    from cli.ab import output as ab_output

    stored = experiments(context)
    state, lesson = stored.state(logged), None
    if tell and stored.is_conclusive(logged):
        with open_workspace(context) as workspace:
            lesson = workspace.experiments.tell(logged)
    ab_output.result(logged, state, prices, as_json=as_json, lesson=lesson)
    if not state.is_decided:
        raise typer.Exit(UNDECIDED)
