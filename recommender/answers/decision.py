"""What a decision settles of the question of an estimate: settings, load, facts that it assumes."""

import math
from collections.abc import Mapping
from dataclasses import replace

from kg.nouns.entities import Problem
from kg.nouns.layout import DEGREES
from kg.nouns.situation import StatedFact
from recommender.cost_model.question import Question
from recommender.cost_model.settings.engine_defaults import engine_defaults
from recommender.cost_model.settings.plans import canonical_name
from recommender.ranking.starts.starts import Starts

_OF_STATES = ("zero_stage", "recompute", "offload")
"""Settings of training that a decision adds where a launch does not fit without."""


def beyond_launch(problem: Problem, asked: Question, decided: Question) -> str:
    """What the decision sets that a training launch does not, as text; empty for nothing."""
    if not problem.situation.has_script or decided.phase != "training":
        return ""
    usual = engine_defaults("training", asked.engine, asked.version)
    is_alone = decided.settings.get("data_parallel") == 1
    added = [
        f"{name}={value}"
        for name in _OF_STATES
        if name not in asked.settings
        and (value := decided.settings.get(name, usual[name])) != usual[name]
        and not (name == "zero_stage" and is_alone)  # one copy has nobody to share with
    ]
    return f"not in your launch, but in the start that recommend gives: {', '.join(added)}" if added else ""


def decided_question(asked: Question, starts: Starts | None, stated: frozenset[str], server: str) -> Question:
    """The question with all that it leaves open as the decision for it has it: no command guesses anew.

    Args:
        asked: What the question states.
        starts: The decision; None where there is none.
        stated: Canonical names of settings that somebody states beside the question.
        server: Id of the server around the devices; empty if it is not stated.
    """
    if starts is None or starts.question is None:
        return asked
    decided = starts.question
    settings = dict(decided.settings)
    if not stated.isdisjoint(DEGREES.values()):
        settings = {name: value for name, value in settings.items() if name not in DEGREES.values()}
    machine = asked.machine if server else decided.machine
    return replace(decided, machine=machine, settings=settings, ignored=asked.ignored)


def shared_load(change: Mapping[str, object], starts: Starts | None) -> dict[str, object]:
    """A change with the decision's load shared among the engines that it states."""
    named = {canonical_name(name): value for name, value in change.items()}
    question = None if starts is None else starts.question
    batch, engines = (named.get(name) for name in ("batch", "data_parallel"))
    if question is None or batch is not None or named.keys().isdisjoint(DEGREES.values()):
        return dict(change)
    load, copies = (question.settings.get(name) for name in ("batch", "data_parallel"))
    if not (isinstance(load, int | float) and isinstance(copies, int | float)):
        return dict(change)
    each = load * copies / (engines if isinstance(engines, int | float) and engines >= 1 else 1)
    return {**change, "batch": math.ceil(each)}


def still_assumed(starts: Starts | None, stated: frozenset[str]) -> tuple[StatedFact, ...]:
    """Facts that a decision assumes and that the question does not state."""
    if starts is None or starts.question is None:
        return ()
    named = stated | ({"concurrency"} if "batch" in stated else frozenset())
    return tuple(fact for fact in starts.assumed if fact.name.rpartition(".")[2] not in named)
