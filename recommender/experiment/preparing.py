"""An experiment put together: from what people give to a design and a log, and from a log to what runs it."""

from __future__ import annotations

import shlex
import shutil
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import data
from kg.errors import InputError, WorkspaceError
from kg.nouns.entities import Better
from recommender.experiment.schemes import Scheme
from recommender.measuring.command import CommandObjective, placeholders
from recommender.measuring.masking import has_mask, masked, masked_environment, masked_words
from recommender.measuring.process import Bounds
from recommender.measuring.readings import OutputReading
from recommender.measuring.shell_text import OPTIONS

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from kg.nouns.values import Settings
    from recommender.experiment.design import ExperimentDesign
    from recommender.experiment.journal import Logged
    from recommender.measuring.outcome import Evaluator


@dataclass(frozen=True, slots=True, kw_only=True)
class Runs:
    """How an arm is run.

    Attributes:
        command: Program and arguments, or a text for the shell; None where each arm is a command itself.
        readings: Where its metrics stand; the first decides.
        folder: Where it runs.
        timeout_s: Time of one run at most.
        environment: Variables, which may hold placeholders.
        options: Flags of each arm, which stand for ``{options}`` in a text for the shell.
        secret_commands: Commands of arms that are commands, where they hold secrets; never written.
    """

    command: tuple[str, ...] | str | None
    readings: tuple[OutputReading, ...]
    folder: Path
    timeout_s: float = 600.0
    environment: Mapping[str, str] = field(default_factory=dict)
    options: Mapping[str, str] = field(default_factory=dict)
    secret_commands: Mapping[str, str] = field(default_factory=dict)

    def to_json(self) -> dict[str, object]:
        """Plain content, secrets masked."""
        command = self.command
        return {
            "command": masked_words(list(command))
            if isinstance(command, tuple)
            else command and masked(command),
            "readings": [
                {
                    "metric": item.metric,
                    "better": str(item.better),
                    "unit": item.unit,
                    "path": item.path,
                    "pattern": item.pattern,
                }
                for item in self.readings
            ],
            "folder": str(self.folder),
            "timeout_s": self.timeout_s,
            "environment": masked_environment(self.environment),
            **(
                {"options": {arm: masked(text) for arm, text in self.options.items()}} if self.options else {}
            ),
        }

    @classmethod
    def of(cls, logged: Logged) -> Runs:
        """How the arms of a log are run.

        Raises:
            InputError: It was recorded, not run; or it was run with a secret, which no log keeps.
            WorkspaceError: Its first line is damaged.
        """
        told: Any = logged.about.get("runs")
        if not told:
            raise InputError(f"{logged.name} was recorded: nothing here can run it")
        if has_mask(told, *(dict(arm) for arm in logged.design.arms.values())):
            raise InputError(
                f"{logged.name} was run with a secret, which its log does not keep",
                hint=f"go on with it: the same tunegraph ab run as before, with --name {logged.name}",
            )
        try:
            return cls(
                command=tuple(told["command"]) if isinstance(told["command"], list) else told["command"],
                readings=tuple(
                    OutputReading(
                        metric=item["metric"],
                        better=Better(item["better"]),
                        unit=item["unit"],
                        path=item["path"],
                        pattern=item["pattern"],
                    )
                    for item in told["readings"]
                ),
                folder=Path(told["folder"]),
                timeout_s=float(told["timeout_s"]),
                environment=dict(told["environment"]),
                options=dict(told.get("options", {})),
            )
        except (KeyError, TypeError, ValueError) as fault:
            raise WorkspaceError(f"{logged.name}: the first line of its log is damaged ({fault})") from None


def evaluators_of(
    design: ExperimentDesign, runs: Runs, *, base: Mapping[str, str], mark: str
) -> dict[str, Sequence[Evaluator]]:
    """What measures each arm, one an input.

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
                command=_command(runs, arm, settings),
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


def _command(runs: Runs, arm: str, settings: Settings) -> tuple[str, ...] | str:
    if runs.command is not None:
        return runs.command
    return runs.secret_commands.get(arm) or str(settings["command"])
