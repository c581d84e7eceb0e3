"""The outcome of an experiment told to the graph, and the recommendation or problem that it belongs to."""

from __future__ import annotations

import json
import shlex
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cli.context import open_for_writing, open_workspace, settings
from kg.errors import InputError, UnknownEntityError
from kg.nouns.values import Settings

if TYPE_CHECKING:
    from collections.abc import Sequence

    import typer

    from recommender.experiment.journal import Logged
    from recommender.experiment.standing import ExperimentState


def tried(
    context: typer.Context, recommendation: str, problem: Path | None, strategy: str
) -> dict[str, object]:
    """What an experiment tries, as its log keeps it; empty if it was not told.

    Raises:
        UnknownEntityError: No such recommendation is remembered, or no such strategy known.
        InputError: Both a recommendation and a problem are given, or a strategy without either.
    """
    if recommendation:
        if problem is not None or strategy:
            raise InputError("a recommendation has its problem and strategy", hint="leave those options out")
        from recommender.files import WorkspaceFiles
        from recommender.store import answered_questions as asked

        found = asked.chosen(WorkspaceFiles(settings(context).workspace).asked, recommendation)
        return {
            "recommendation": found.id,
            "question": json.loads(found.question),
            "configuration": found.configuration.to_json(),
            "strategy": found.strategy,
            "bottleneck": found.bottleneck,
        }
    if problem is None:
        if strategy:
            raise InputError("--strategy needs to know on what it was tried", hint="--problem FILE")
        return {}
    from ingest.questions.problems import read_problem_file
    from kg.nouns.knowledge import Strategy
    from kg.triples.serialisation import from_graph

    raw = read_problem_file(problem)
    with open_workspace(context) as workspace:
        question, _ = workspace.problem(raw)
        if strategy:
            try:
                from_graph(workspace.graph, Strategy, strategy)
            except UnknownEntityError:
                hint = "tunegraph kb query strategies-against, or kb add strategy"
                raise UnknownEntityError(f"no strategy named {strategy!r}", hint=hint) from None
    bottlenecks = list(question.bottlenecks)
    return {
        "question": raw,
        "strategy": strategy,
        "bottleneck": bottlenecks[0] if strategy and len(bottlenecks) == 1 else "",
    }


def changed(control: Settings, told: dict[str, object]) -> Settings:
    """The control with what a recommendation says to set."""
    configuration = told["configuration"]
    if not isinstance(configuration, dict):
        raise InputError("the recommendation sets nothing")
    return Settings({**control, **configuration})


def ask_before(
    context: typer.Context, recommendation: str, sets: Settings, allowed: Sequence[str], *, unasked: bool
) -> None:
    """See that the user knows what a recommendation runs: values that are not plain, sources of low trust.

    Raises:
        InputError: A value needs the user's word, or the user says no.
    """
    from cli.ab.consent import ask_for_distrusted
    from kg.nouns.values import show
    from recommender.experiment.verification import Candidate, is_plain

    for name, value in sets.items():
        if not is_plain(show(value), allowed):
            raise InputError(
                f"{name}={show(value)!r} is from a case and not plain",
                hint=f"to run it: --allow-value {shlex.quote(show(value))}",
            )
    if unasked:
        return
    with open_workspace(context) as workspace, suppress(UnknownEntityError):
        item = workspace.explain(recommendation).item
        candidate = Candidate(id=item.id, configuration=item.configuration, trust=item.trust)
        ask_for_distrusted({"the treatment": candidate}, "the command of this test")


def told(context: typer.Context, logged: Logged, state: ExperimentState) -> str | None:
    """Tell the graph the outcome; in a line what came of it, None where there is nothing to tell.

    An experiment that was cut short is told once it has run to its end.
    """
    about: Any = logged.about.get("tried") or {}
    if not about or logged.design.is_self_test:
        return None
    is_over = bool(state.stop) or "runs" not in logged.about
    if not is_over or max(item.interval.pairs or item.failures.treatment for item in state.comparisons) < 1:
        return None
    from recommender.experiment.concluding import TestedChange, conclude

    with open_workspace(context) as workspace:
        problem, _ = workspace.problem(about["question"])
    now = datetime.now(UTC)
    treatments = logged.design.treatments
    # What was tried is told of each arm; where it was told once, it is that of the only one.
    by_arm = about.get("arms") or {arm: about if len(treatments) == 1 else {} for arm in treatments}
    conclusions, strategies = [], []
    for item in state.comparisons:
        if not item.interval.pairs and not item.failures.treatment:
            continue  # an arm that was beaten before it was measured
        tried_here = by_arm.get(item.arm, {})
        what = TestedChange(
            problem=problem,
            strategy=tried_here.get("strategy") or "",
            bottleneck=tried_here.get("bottleneck") or about.get("bottleneck") or "",
            recommendation=tried_here.get("recommendation") or about.get("recommendation") or "",
            arm=item.arm,
        )
        conclusions.append(conclude(logged, what, now))
        strategies += [what.strategy] if what.strategy else []
    with open_for_writing(context) as editor:
        added = editor.add_outcomes(conclusions).rows
    if not added:
        return "the graph knew this outcome already"
    if strategies:
        return f"the graph has learned from this: {', '.join(strategies)}"
    return "the graph has this case now"
