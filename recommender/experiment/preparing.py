"""A/B tests that can begin, checked before anything runs: arms, guardrails, commands."""

import re
import shlex
import shutil
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import data
from kg.errors import InputError
from kg.nouns.values import Settings, show
from recommender.experiment.design import CONTROL, ExperimentDesign, treatments_named
from recommender.experiment.metadata import ExperimentSubject, Runs
from recommender.experiment.schemes import Scheme
from recommender.measuring.command import CommandObjective, placeholders
from recommender.measuring.outcome import Evaluator
from recommender.measuring.process import Bounds
from recommender.measuring.shell_text import OPTIONS, PLAIN

_EXPORT = "export "
_LOADS_CODE = re.compile(
    r"(?:LD|DYLD|BASH|JAVA)_\w+|(?:PYTHON|PERL|RUBY)\w+|(?:F|LIB|SHLIB_)?PATH|ENV|IFS|PS4|SHELLOPTS|ZDOTDIR"
)
"""Variables by which a loader, a shell or an interpreter runs other code: from ``initial_badenv_table`` in
``plugins/sudoers/env.c`` of sudo, and ``PATH``."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PreparedTest:
    """An experiment that can begin.

    Attributes:
        design: Arms, metric, guardrails and budget.
        runs: How an arm is run.
        subject: What is tried on which problem; None if the graph is to learn nothing.
        is_seed_free: Whether an experiment of the same name may keep its own seed.
    """

    design: ExperimentDesign
    runs: Runs
    subject: ExperimentSubject | None = None
    is_seed_free: bool = True

    def __post_init__(self) -> None:
        """Refuse commands that cannot run, before a log is begun.

        Raises:
            InputError: A placeholder has no value, a setting changes nothing, or a guard reads nothing.
        """
        evaluators_of(self.design, self.runs, base={}, mark="")


def arms_of(
    control: Settings,
    treatments: Sequence[Settings],
    subject: ExperimentSubject | None = None,
    allowed: Collection[str] = (),
) -> dict[str, Settings]:
    """The arms of a test; without a treatment its recommendation, whose values are plain or allowed.

    Raises:
        InputError: The recommendation sets nothing, or what a shell could take for more than a value.
    """
    if not treatments and subject is not None and subject.single.id:
        treatments = [subject.changed(control)]
        known = {*allowed, *map(show, control.values())}
        for name, value in treatments[0].items():
            text = show(value)
            is_plain = all(map(PLAIN.fullmatch, text.split(" "))) and not _LOADS_CODE.fullmatch(name)
            if text not in known and not is_plain:
                raise InputError(
                    f"{name}={text!r} is the value of a case and not plain",
                    hint=f"to run it: --allow-value {shlex.quote(text)}",
                )
    return {CONTROL: control, **treatments_named(treatments)}


def with_flags(runs: Runs, subject: ExperimentSubject | None) -> Runs:
    """The runs whose command gets the flags of a recommendation for ``{options}``, and its variables.

    Raises:
        InputError: It has none: it is written in files, or takes a switch away.
    """
    if subject is None or not isinstance(runs.command, str) or OPTIONS not in placeholders(runs.command):
        return runs
    if subject.single.id and not subject.single.flags:
        hint = "a whole command for each: --control and --treatment"
        raise InputError("no flag sets what the recommendation changes", hint=hint)
    flags = [flag for flag in subject.single.flags if flag.startswith("-")]
    exported = [flag.removeprefix(_EXPORT).partition("=")[0] for flag in subject.single.flags]
    return replace(
        runs,
        options={CONTROL: "", "treatment": " ".join(flags)},
        environment={name: f"{{{name}}}" for name in exported if not name.startswith("-")},
    )


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
