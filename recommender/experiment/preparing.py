"""The commands that measure the arms of an experiment, checked before anything runs."""

from __future__ import annotations

import shlex
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

import data
from kg.errors import InputError
from recommender.experiment.schemes import Scheme
from recommender.measuring.command import CommandObjective, placeholders
from recommender.measuring.process import Bounds
from recommender.measuring.shell_text import OPTIONS

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from recommender.experiment.design import ExperimentDesign
    from recommender.experiment.metadata import Runs
    from recommender.measuring.outcome import Evaluator


def evaluators_of(
    design: ExperimentDesign, runs: Runs, *, base: Mapping[str, str], mark: str
) -> dict[str, Sequence[Evaluator]]:
    """Make the evaluators of each arm, one an input.

    Args:
        design: The design.
        runs: How an arm is run.
        base: Environment of commands.
        mark: Marks its processes, so that they are found again.

    Raises:
        InputError: A placeholder has no value, a setting changes nothing, or a guard reads nothing.
    """
    known = {item.metric for item in runs.readings}
    for guard in design.guards:
        if guard.metric not in known:
            hint = f"--metric {guard.metric}=..." if guard.metric != "run_time" else ""
            raise InputError(f"the guard on {guard.metric} has nothing to read", hint=hint)
    if design.scheme is not Scheme.RANDOMISED:
        raise InputError("what was recorded cannot be run")
    parameters = sorted({key for settings in design.arms.values() for key in settings})
    if isinstance(runs.command, str) and runs.options and OPTIONS in placeholders(runs.command):
        named = {*placeholders(runs.command), *runs.environment}
        parameters = [name for name in parameters if name in named]
    found: dict[str, Sequence[Evaluator]] = {}
    for arm, settings in design.arms.items():
        commands = []
        for given in design.inputs:
            command = CommandObjective(
                command=str(settings["command"]) if runs.command is None else runs.command,
                options=tuple(shlex.split(runs.options.get(arm, ""))) if runs.options else None,
                readings=runs.readings,
                folder=runs.folder,
                base=base,
                inputs=(given,),
                bounds=Bounds(timeout_s=runs.timeout_s),
                environment=runs.environment,
                kernels=str(Path(str(data.resource("kernels/matmul.c"))).parent),
                mark=mark,
            )
            if runs.command is not None:
                command.check(parameters)
            commands.append(command)
        found[arm] = commands
    if isinstance(runs.command, tuple) and shutil.which(runs.command[0]) is None:
        raise InputError(f"cannot run {runs.command[0]!r}: there is no such program")
    return found
