"""A/B tests that are asked for, checked before anything runs: arms, metrics, guardrails, budget, commands."""

from __future__ import annotations

import secrets
import shlex
import shutil
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import data
from kg.errors import InputError
from kg.nouns.values import Settings, show
from recommender.experiment.design import CONTROL, ExperimentDesign, Guard, treatments_named
from recommender.experiment.metadata import Runs
from recommender.experiment.metrics import readings_of
from recommender.experiment.schemes import Scheme
from recommender.experiment.verification import check_values
from recommender.measuring.command import CommandObjective, placeholders
from recommender.measuring.process import Bounds
from recommender.measuring.shell_text import OPTIONS

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from recommender.experiment.metadata import ExperimentSubject
    from recommender.measuring.outcome import Evaluator
    from recommender.measuring.readings import OutputReading


@dataclass(frozen=True, slots=True, kw_only=True)
class PreparedTest:
    """An experiment that can begin.

    Attributes:
        design: Arms, metric, guardrails and budget.
        runs: How an arm is run.
        subject: What is tried on which problem; None if the graph is to learn nothing.
        is_seed_free: Whether an experiment of the same name may keep its own seed.
        notes: What was left out, and why.
        distrusted: Settings of the arms that come from sources of low trust alone.
    """

    design: ExperimentDesign
    runs: Runs
    subject: ExperimentSubject | None = None
    is_seed_free: bool = True
    notes: tuple[str, ...] = field(default=())
    distrusted: Mapping[str, Settings] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Refuse commands that cannot run, before a log is begun.

        Raises:
            InputError: A placeholder has no value, a setting changes nothing, or a guard reads nothing.
        """
        evaluators_of(self.design, self.runs, base={}, mark="")


@dataclass(frozen=True, slots=True, kw_only=True)
class ExperimentRequest:
    """A request for an A/B test.

    Attributes:
        control: What is set now; where there is no command, the command itself.
        folder: Where the command runs.
        treatments: What is tried; the recommendation of the subject if empty.
        command: Program and arguments, or a text for the shell; None where each arm is a command itself.
        subject: What is tried on which problem; None if the graph is to learn nothing.
        metrics: ``METRIC=PATH:UNIT`` in the JSON that the command prints; the first decides.
        patterns: ``METRIC:UNIT=PATTERN`` with one group.
        better: ``lower`` or ``higher``, where the metric's name does not tell.
        guards: What must not get worse, such as ``peak_memory<=+5%``.
        alpha: Chance that a verdict is wrong.
        margin: Log ratio that does not matter.
        pairs: Pairs at most.
        budget_s: Time of all runs at most; None without bound.
        timeout_s: Time of one run at most.
        warmup: First rounds that do not count.
        repeats: Runs of an arm in each round.
        drop: Runs after each switch that do not count.
        inputs: Values of other placeholders, one set after the other.
        seed: Of the order; drawn if None.
        is_self_test: The treatment is the control again: a test of the set-up.
        allowed: Values of cases that may run although a shell could take them for more than a value.
    """

    control: Settings = field(default_factory=Settings)
    folder: Path = Path()
    treatments: Sequence[Settings] = ()
    command: tuple[str, ...] | str | None = None
    subject: ExperimentSubject | None = None
    metrics: Sequence[str] = ()
    patterns: Sequence[str] = ()
    better: str = ""
    guards: Sequence[str] = ()
    alpha: float = 0.01
    margin: float = 0.01
    pairs: int = 200
    budget_s: float | None = None
    timeout_s: float = 600.0
    warmup: int = 1
    repeats: int = 1
    drop: int = 0
    inputs: Sequence[Settings] = (Settings(),)
    seed: int | None = None
    is_self_test: bool = False
    allowed: Sequence[str] = ()

    def prepare(self) -> PreparedTest:
        """The test, ready to begin.

        Raises:
            InputError: Arms, metrics or guardrails are wrong, or the command cannot run them.
        """
        readings = self.readings()
        design = self.design(readings[0], treatments_named(self._arms()))
        return PreparedTest(
            design=design,
            runs=self.runs(readings),
            subject=self.subject,
            is_seed_free=self.seed is None,
        )

    def readings(self) -> tuple[OutputReading, ...]:
        """Where the metrics stand; the first decides."""
        return readings_of(self.metrics, self.patterns, better=self.better)

    def design(self, reading: OutputReading, treatments: Mapping[str, Settings]) -> ExperimentDesign:
        """The design of a test of treatments by what a reading tells."""
        return ExperimentDesign(
            metric=reading.metric,
            better=reading.better,
            unit=reading.objective.unit,
            arms={CONTROL: self.control, **treatments},
            alpha=self.alpha,
            margin=self.margin,
            guards=tuple(Guard.parse(text) for text in self.guards),
            pairs=self.pairs,
            budget_s=self.budget_s,
            warmup=self.warmup,
            repeats=self.repeats,
            drop=self.drop,
            inputs=tuple(self.inputs),
            seed=secrets.randbelow(2**31) if self.seed is None else self.seed,
            is_self_test=self.is_self_test,
        )

    def runs(self, readings: tuple[OutputReading, ...]) -> Runs:
        """How the command of the request is run."""
        return Runs(
            command=self.command, readings=readings, folder=self.folder.absolute(), timeout_s=self.timeout_s
        )

    def _arms(self) -> list[Settings]:
        """The treatments; those of a recommendation only with plain values."""
        if self.is_self_test:
            return [self.control]
        if self.treatments or self.subject is None or not self.subject.single.id:
            return list(self.treatments)
        changed = self.subject.changed(self.control)
        check_values(changed, [*self.allowed, *map(show, self.control.values())])
        return [changed]


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
