"""A/B tests of what the graph knows: of an answer, its start and first recommendations, or of a strategy."""

from __future__ import annotations

import secrets
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from kg.errors import InputError, UnknownEntityError
from kg.nouns.entities import Trust
from kg.nouns.knowledge import Strategy
from kg.nouns.setting import SettingPlace
from kg.nouns.values import Settings
from kg.triples.serialisation import from_graph
from recommender.experiment.design import CONTROL, ExperimentDesign, Guard
from recommender.experiment.metadata import ArmSubject, ExperimentSubject, Runs
from recommender.experiment.metrics import readings_of
from recommender.experiment.preparing import PreparedTest
from recommender.experiment.verification import Candidate, verification
from recommender.ranking.paste import export_lines, field_lines, flag_words, object_words

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from kg.nouns.entities import Configuration, Problem
    from kg.triples.graph import GraphStore
    from recommender.answers.answer import Answer


@dataclass(frozen=True, slots=True, kw_only=True)
class VerificationRequest:
    """A request to verify recommendations by a command.

    Attributes:
        command: A text for the shell; empty for not at all.
        metrics: Where the command prints its metrics, as for ``ab run``.
        patterns: The same by regular expression.
        guards: Metrics that must not get worse.
        alpha: Chance that a verdict is wrong.
        pairs: Pairs at most.
        budget_s: Time of all runs at most; None without bound.
        allowed: Values of cases that may run although a shell could take them for more than a value.
    """

    command: str
    metrics: Sequence[str] = ()
    patterns: Sequence[str] = ()
    guards: Sequence[str] = ()
    alpha: float = 0.01
    pairs: int = 200
    budget_s: float | None = None
    allowed: Sequence[str] = ()

    def __post_init__(self) -> None:
        """Refuse a request that says how to verify and not what.

        Raises:
            InputError: There is no command.
        """
        if not self.command and (self.metrics or self.patterns or self.guards):
            raise InputError("--metric, --pattern and --guard are for --verify COMMAND")


def prepare_verification(
    answer: Answer, raw: Mapping[str, object], request: VerificationRequest
) -> PreparedTest:
    """The test of the start and the first recommendations that a command can try.

    Args:
        answer: The recommendations.
        raw: The question as people put it, so that the graph learns from the outcome.
        request: Command, metrics and budget.

    Raises:
        InputError: The question does not say what is set now, or the command can try nothing.
    """
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
    start = _start(answer, control)
    made = verification(candidates, Settings(control), request.command, sizes, request.allowed, start)
    readings = readings_of(request.metrics, request.patterns, better="")
    design = ExperimentDesign(
        metric=readings[0].metric,
        better=readings[0].better,
        unit=readings[0].objective.unit,
        arms={CONTROL: Settings(control), **made.arms},
        alpha=request.alpha,
        guards=tuple(Guard.parse(text) for text in request.guards),
        pairs=request.pairs,
        budget_s=request.budget_s,
        inputs=(sizes,),
        seed=secrets.randbelow(2**31),
    )
    runs = Runs(
        command=request.command,
        readings=readings,
        folder=Path().absolute(),
        environment=made.environment,
        options=made.options,
    )
    arms = {
        arm: ArmSubject(
            recommendation=item.id,
            strategy=item.strategy,
            bottleneck=item.bottleneck,
            recipes=item.recipes,
            layout=item.layout,
        )
        for arm, item in made.tried.items()
    }
    return PreparedTest(
        design=design,
        runs=runs,
        subject=ExperimentSubject(question=dict(raw), arms=arms),
        is_seed_free=False,
        notes=made.left_out,
        distrusted={arm: item.configuration for arm, item in made.tried.items() if item.trust is Trust.LOW},
    )


def _start(answer: Answer, control: Configuration) -> Candidate | None:
    """The start of the plan as a command takes it; None where there is none, or it is written in files."""
    start = next(iter(answer.starts), None)
    if start is None or field_lines(start.settings):
        return None
    carried = [
        item
        for item in start.settings
        if item.where is SettingPlace.JSON or control.get(item.name) != item.value
    ]
    flags = (*export_lines(carried), *flag_words(carried), *object_words(carried))
    return Candidate(
        id=start.id,
        configuration=start.configuration,
        flags=flags,
        recipes=start.recipes,
        layout=Settings({} if start.layout is None else start.layout.to_json()),
    )


def problem_subject(
    graph: GraphStore, question: Mapping[str, object], problem: Problem, strategy: str = ""
) -> ExperimentSubject:
    """The subject of a test on a problem, of a strategy or of settings.

    Args:
        graph: Knows strategies.
        question: The problem as people put it.
        problem: The problem itself.
        strategy: Id of the strategy; empty for settings alone.

    Raises:
        UnknownEntityError: The graph has no such strategy.
    """
    if not strategy:
        return ExperimentSubject(question=dict(question))
    try:
        from_graph(graph, Strategy, strategy)
    except UnknownEntityError:
        hint = "tunegraph kb query strategies-against, or kb add strategy"
        raise UnknownEntityError(f"no strategy named {strategy!r}", hint=hint) from None
    bottlenecks = list(problem.bottlenecks)
    bottleneck = bottlenecks[0] if len(bottlenecks) == 1 else ""
    return ExperimentSubject(
        question=dict(question), single=ArmSubject(strategy=strategy, bottleneck=bottleneck)
    )
