"""The engines of a decision: one kind that does all, or one that prefills and one that decodes."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from kg.nouns.codec import JsonNoun, in_json
from kg.nouns.values import Settings
from kg.terms.purposes import Purpose, purpose
from recommender.ranking.deployments.deployment import DECODE, PREFILL
from recommender.ranking.starts.flags.layout_flags import layout_settings

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from kg.nouns.entities import Problem
    from recommender.ranking.deployments.deployment import RatedDeployment
    from recommender.ranking.deployments.disaggregation import Disaggregation
    from recommender.ranking.plan_setting import PlanSetting
    from recommender.ranking.start import StartConfiguration
    from recommender.ranking.starts.situation import StartSituation

_SIZES = "kv_transfer_config.kv_connector_extra_config"


@dataclass(frozen=True, slots=True, kw_only=True)
class Engine(JsonNoun):
    """Engines of one kind.

    Attributes:
        start: What each is launched with.
        devices: Devices of one.
        servers: Servers that one is on.
        role: ``"prefill"`` or ``"decode"``; empty where it does both.
        instances: How many of them.
    """

    start: StartConfiguration = field(metadata=in_json("paste", write=lambda start: start.paste_lines))
    devices: int
    servers: int = 1
    role: str = ""
    instances: int = 1


def role_problems(
    problem: Problem, situation: StartSituation, apart: Disaggregation, precision: str
) -> Iterator[tuple[str, int, Problem]]:
    """The question of either role, its layout held as it was priced.

    Args:
        problem: The question for both.
        situation: Knows the program and the model.
        apart: The engines of either role.
        precision: Of the weights, as both are priced.

    Yields:
        Role, number of engines, and the question for one of them.
    """
    for role, count, rated in (
        (PREFILL, apart.prefills, apart.prefill),
        (DECODE, apart.decodes, apart.decode),
    ):
        yield role, count, _of_role(problem, situation, role, rated, precision)


def both_sizes(engines: Sequence[Engine]) -> tuple[Engine, ...]:
    """The engines, each told the sizes of both roles where its connector asks for them."""
    sizes = {
        item.key: item
        for engine in engines
        for item in engine.start.settings
        if item.key.startswith(f"{_SIZES}.{engine.role}.")
    }
    return tuple(replace(engine, start=_with_sizes(engine.start, sizes)) for engine in engines)


def _with_sizes(start: StartConfiguration, sizes: Mapping[str, PlanSetting]) -> StartConfiguration:
    kept = [item for item in start.settings if item.key not in sizes]
    needs = tuple(line for line in start.needs if "alike on both sides" not in line)
    return replace(start, settings=(*kept, *sizes.values()), needs=needs) if sizes else start


def _of_role(
    problem: Problem, situation: StartSituation, role: str, rated: RatedDeployment, precision: str
) -> Problem:
    layout = rated.step.layout
    if layout.dp > 1 and situation.splits_attention(anew=True):
        layout = replace(layout, tp=layout.tp * layout.dp, dp_attention=True)
    divided = layout_settings(
        layout,
        situation.framework.id,
        experts=bool(situation.model.is_mixture),
        layers=situation.number("layers"),
        release=situation.framework.version,
    )
    kept = {
        name: value for name, value in (problem.current or {}).items() if purpose(name) is not Purpose.LAYOUT
    }
    traits = {**problem.workload.traits, "role": role, "disaggregated": True}
    traits.pop("concurrency", None)
    if role == DECODE:
        traits["concurrency"] = int(rated.deployment.concurrency)
    limits = tuple(item for item in problem.limits if item.metric.startswith("tpot") == (role == DECODE))
    return replace(
        problem,
        hardware=replace(problem.hardware, count=rated.devices),
        current=Settings({**kept, **{item.key: item.value for item in divided}}),
        limits=limits,
        workload=replace(
            problem.workload,
            traits=Settings(traits),
            precision=problem.workload.precision or precision,
        ),
    )
