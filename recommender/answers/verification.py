"""A/B tests of what the graph knows: of an answer, its start and first recommendations, or of a strategy."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from kg.errors import InputError, UnknownEntityError
from kg.nouns.entities import Trust
from kg.nouns.knowledge import Strategy
from kg.nouns.setting import SettingPlace
from kg.nouns.values import Settings
from kg.triples.serialisation import from_graph
from recommender.experiment.metadata import ExperimentSubject
from recommender.experiment.preparing import PreparedTest
from recommender.experiment.verification import verification
from recommender.ranking.change import Change
from recommender.ranking.paste import export_lines, field_lines, flag_words, object_words

if TYPE_CHECKING:
    from collections.abc import Mapping

    from kg.nouns.entities import Configuration, Problem
    from kg.triples.graph import GraphStore
    from recommender.answers.answer import Answer
    from recommender.experiment.preparing import ExperimentRequest


def prepare_verification(
    answer: Answer, raw: Mapping[str, object], request: ExperimentRequest
) -> PreparedTest:
    """The test of the start and the first recommendations that a command can try.

    Args:
        answer: The recommendations.
        raw: The question as people put it, so that the graph learns from the outcome.
        request: Command, a text for the shell; metrics and budget.

    Raises:
        InputError: The question does not say what is set now, or the command can try nothing.
    """
    control = answer.problem.current
    if control is None:
        raise InputError("--verify compares with what is set now", hint="say it: --current name=value,...")
    sizes = Settings(answer.problem.workload.shape)
    command, start = str(request.command), _start(answer, control)
    made = verification(list(answer), Settings(control), command, sizes, request.allowed, start)
    request = replace(request, control=Settings(control), inputs=(sizes,))
    readings = request.readings()
    return PreparedTest(
        design=request.design(readings[0], made.arms),
        runs=replace(request.runs(readings), environment=made.environment, options=made.options),
        subject=ExperimentSubject(question=dict(raw), arms=made.tried),
        is_seed_free=False,
        notes=made.left_out,
        distrusted={arm: item.configuration for arm, item in made.tried.items() if item.trust is Trust.LOW},
    )


def _start(answer: Answer, control: Configuration) -> Change | None:
    """The start of the plan as a command takes it; None where there is none, or it is written in files."""
    start = next(iter(answer.starts), None)
    if start is None or field_lines(start.settings):
        return None
    carried = [
        item
        for item in start.settings
        if item.where is SettingPlace.JSON or control.get(item.name) != item.value
    ]
    return Change(
        id=start.id,
        configuration=start.configuration,
        flags=(*export_lines(carried), *flag_words(carried), *object_words(carried)),
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
    return ExperimentSubject(question=dict(question), single=Change(strategy=strategy, bottleneck=bottleneck))
