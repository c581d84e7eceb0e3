"""The answer to a question: its engines, and that of both roles from those of each."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from kg.errors import InputError
from recommender.ranking.deployments.engines import Engine
from recommender.ranking.starts.flags.layout_flags import of_one_server

if TYPE_CHECKING:
    from recommender.answers.answer import Answer


def engine_of(answer: Answer, role: str = "", instances: int = 1) -> Engine:
    """The engine that the start of an answer is.

    Raises:
        InputError: It has none that could be launched.
    """
    plan = answer.plan
    if plan is None or not plan.fits or plan.start.layout is None:
        raise InputError("no files follow from this answer: it is no plan for a model that fits")
    one, copies = of_one_server(plan.start.layout, plan.start.framework)
    return Engine(
        start=plan.start,
        devices=one.devices,
        servers=max(int(str(plan.understood.get("nodes", 1))) // copies, 1),
        role=role,
        instances=instances * copies,
    )


def of_roles(both: Answer, decode: Answer, engines: tuple[Engine, ...]) -> Answer:
    """The answer to a question for both roles.

    Args:
        both: The answer for engines that do both.
        decode: The answer for those that decode: theirs are the changes.
        engines: Of either role.
    """
    load = 0.0 if both.separation is None else both.separation.at_once
    assumed = tuple(
        replace(fact, value=round(load), words=f"{load:,.0f} requests at once")
        if fact.name == "traits.concurrency"
        else fact
        for fact in both.assumed
    )
    plan = decode.plan
    if plan is not None:
        plan = replace(plan, start=engines[-1].start, alternatives=())
    return replace(
        decode,
        problem=both.problem,
        plan=plan,
        notes=both.notes,
        assumed=assumed,
        separation=both.separation,
        engines=engines,
    )
