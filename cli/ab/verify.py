"""``tunegraph recommend --verify``: the first three recommendations against what is set now, in one test."""

from __future__ import annotations

import secrets
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from cli.ab.commands import AlphaOption, GuardOption, MetricOption, PatternOption
from cli.ab.consent import AllowTrustOption, AllowValueOption, ask_for_distrusted
from kg.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from kg.nouns.entities import Problem
    from recommender.answers.answer import Answer
    from recommender.workspace import Workspace

__all__ = [
    "AllowTrustOption",
    "AllowValueOption",
    "AlphaOption",
    "BudgetOption",
    "ExploreOption",
    "GuardOption",
    "MetricOption",
    "PairsOption",
    "PatternOption",
    "SeedOption",
    "VerifyOption",
]

ExploreOption = Annotated[
    bool,
    typer.Option(
        "--explore", help="Draw what to try by how likely it is best, hypotheses too; tells the price."
    ),
]
SeedOption = Annotated[int | None, typer.Option("--seed", help="Of --explore; drawn if not given.")]
VerifyOption = Annotated[
    str,
    typer.Option(
        "--verify",
        help="Run this command with the first three against what is set now; {name} for a setting, {options} "
        "for flags.",
    ),
]
BudgetOption = Annotated[str, typer.Option("--verify-time", help="Time of all runs at most: 90s, 30min, 2h.")]
PairsOption = Annotated[int, typer.Option("--verify-pairs", help="Pairs at most.")]


@dataclass(frozen=True, slots=True, kw_only=True)
class VerificationRequest:
    """How recommendations are to be verified.

    Attributes:
        command: A text for the shell; empty for not at all.
        metrics: Where the command prints its metrics, as for ``ab run``.
        patterns: The same by regular expression.
        guards: What must not get worse.
        alpha: Chance that a verdict is wrong.
        pairs: Pairs at most.
        time: Time of all runs at most; empty without bound.
        allowed: Values of cases that may run although they are not plain.
        allows_low_trust: Configurations of low-trust sources run unasked.
    """

    command: str
    metrics: Sequence[str] = ()
    patterns: Sequence[str] = ()
    guards: Sequence[str] = ()
    alpha: float = 0.01
    pairs: int = 200
    time: str = ""
    allowed: Sequence[str] = ()
    allows_low_trust: bool = False

    def __post_init__(self) -> None:
        """Refuse what says how to verify and not what.

        Raises:
            InputError: There is no command.
        """
        if not self.command and (self.metrics or self.patterns or self.guards):
            raise InputError("--metric, --pattern and --guard are for --verify COMMAND")


def explored(
    workspace: Workspace, problem: Problem, k: int, notes: Sequence[str], seed: int | None
) -> Answer:
    """The answer by Thompson sampling; its last note tells the price."""
    import numpy as np

    return workspace.explore(problem, k, rng=np.random.default_rng(seed), notes=notes).answer


def verified(
    context: typer.Context,
    answer: Answer,
    raw: Mapping[str, object],
    wanted: VerificationRequest,
    *,
    as_json: bool,
) -> None:
    """Run the test, tell the graph what came out, and print the verdicts.

    Raises:
        InputError: The question does not say what is set now, or the command can try nothing.
    """
    from cli import output
    from cli.ab import running as ab_running
    from kg.nouns.values import Settings
    from recommender.experiment.design import CONTROL, ExperimentDesign, Guard
    from recommender.experiment.metrics import readings_of
    from recommender.experiment.preparing import Runs, evaluators_of
    from recommender.experiment.verification import Candidate, verification
    from recommender.search.run.task_file import seconds

    control = answer.problem.current
    if control is None:
        raise InputError("--verify compares with what is set now", hint="say it: --current name=value,...")
    candidates = [
        Candidate(
            id=item.id,
            configuration=item.configuration,
            flags=tuple(item.flags),
            strategy=item.strategy,
            bottleneck=item.bottleneck,
            trust=item.trust,
        )
        for item in answer
    ]
    sizes = Settings(answer.problem.workload.shape)
    made = verification(candidates, Settings(control), wanted.command, sizes, wanted.allowed)
    for text in made.left_out:
        output.note(text)
    if not wanted.allows_low_trust:
        ask_for_distrusted(made.tried, wanted.command)
    readings = readings_of(wanted.metrics, wanted.patterns, better="")
    design = ExperimentDesign(
        metric=readings[0].metric,
        better=readings[0].better,
        unit=readings[0].objective.unit,
        arms={CONTROL: Settings(control), **made.arms},
        alpha=wanted.alpha,
        guards=tuple(Guard.parse(text) for text in wanted.guards),
        pairs=wanted.pairs,
        budget_s=seconds(wanted.time) if wanted.time else None,
        inputs=(sizes,),
        seed=secrets.randbelow(2**31),
    )
    runs = Runs(
        command=wanted.command,
        readings=readings,
        folder=Path().absolute(),
        environment=made.environment,
        options=made.options,
    )
    evaluators_of(design, runs, base={}, mark="")  # what cannot be run leaves no log behind
    arms = {
        arm: {"recommendation": item.id, "strategy": item.strategy, "bottleneck": item.bottleneck}
        for arm, item in made.tried.items()
    }
    about: dict[str, object] = {"runs": runs.to_json(), "tried": {"question": dict(raw), "arms": arms}}
    logged = ab_running.begin(context, "", design, about, keeps_seed=False)
    ab_running.go_on(context, logged, None, tell=True, as_json=as_json, runs=runs)
