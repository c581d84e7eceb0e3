"""One pass of a served model and what follows it: what each operator takes, and what bounds it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from kg.errors import InputError
from kg.nouns.codec import JsonNoun
from recommender.cost_model.operators.kinds import shipped
from recommender.cost_model.settings.engine_defaults import engine_defaults
from recommender.cost_model.settings.plans import CHOICES, GROUPS, columns
from recommender.cost_model.workloads.forward_pass import drafting_us, forward_pass
from recommender.cost_model.workloads.inference import feeds_forward
from recommender.cost_model.workloads.launching import between_us
from recommender.cost_model.workloads.products import OperatorCalls
from recommender.cost_model.workloads.serving import complete_columns
from recommender.cost_model.workloads.serving_flow import step_plan

if TYPE_CHECKING:
    from collections.abc import Mapping

    from recommender.cost_model.facts.model import ModelSizes
    from recommender.cost_model.machine import Machine
    from recommender.cost_model.operators.kinds import Operators
    from recommender.cost_model.question import Question
    from recommender.cost_model.settings.plans import Columns
    from recommender.cost_model.workloads.forward_pass import Floats

MOSTLY = 0.5
"""Share of its time from which work or traffic at the peak bounds an operator; else its start does."""

BOUNDS = {
    "waiting for the host": "launch", "attention to earlier chunks": "compute", "drafting": "memory",
    "host between steps": "launch",
}  # fmt: skip
"""Bounds of the parts of a pass that are neither kernels with known traffic nor exchanges."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PassOperator(JsonNoun):
    """One operator of a pass.

    Attributes:
        name: What it computes.
        count: Calls.
        time_s: Of all of them.
        share: Of the pass.
        bound: ``"compute"``, ``"memory"``, ``"link"``, or ``"launch"`` where none of these is near its limit.
    """

    name: str
    count: float
    time_s: float
    share: float
    bound: str


@dataclass(frozen=True, slots=True, kw_only=True)
class PricedPass(JsonNoun):
    """One forward pass with its operators.

    Attributes:
        phase: ``"prefill"`` or ``"decode"``.
        sequences: In the pass, on one engine.
        queries: Tokens of each.
        cached: Positions of each that were there before.
        time_s: From its start to that of the next step: with what drafts after it, and the host between them.
        host_s: What the launches of the host take; they decide where the rest is shorter.
        operators: The longest first.
    """

    phase: str
    sequences: float
    queries: float
    cached: float
    time_s: float
    host_s: float
    operators: tuple[PassOperator, ...]


def estimate_pass(
    *,
    model: ModelSizes,
    machine: Machine,
    phase: str,
    settings: Mapping[str, object],
    sequences: float,
    queries: float,
    cached: float = 0.0,
    operators: Operators | None = None,
    engine: str = "",
    version: str = "",
) -> PricedPass:
    """A forward pass by physics alone.

    Args:
        model: What runs.
        machine: The machine that runs it.
        phase: ``"prefill"`` or ``"decode"``.
        settings: Of serving.
        sequences: Of one engine.
        queries: Tokens of each: all of a prompt or chunk, or the last token and those drafted after it.
        cached: Positions of each that were there before.
        operators: Calibrated operators; the shipped ones if None.
        engine: Engine that runs it; empty if not stated.
        version: Its release; empty if not stated.

    Raises:
        InputError: An unknown setting, an impossible layout, a precision that the device lacks.
        MissingFactError: A fact that the price needs is unknown.
    """
    defaults = {**engine_defaults("serving", engine, version), "precision": machine.device.sixteen_bit}
    s = complete_columns(model, columns([settings], defaults), np.array([float(machine.count)]))
    many, rows, held = (np.array([float(value)]) for value in (sequences, queries, cached))
    decode = phase == "decode"
    done = forward_pass(
        operators or shipped(),
        machine.device,
        machine.network,
        model,
        s,
        tokens=many * rows,
        sequences=many,
        length=held + rows / 2 if decode else rows,
        phase=phase,
        logits=many * rows if decode else many,
        span=(held, held + rows),
    )
    # later chunks attend to earlier ones
    history = 0.0 if decode else model.layers * done.block.growing_us * 2 * held / rows
    busy = done.device_us + done.wire_us + history
    drafted = drafting_us(operators or shipped(), machine.device, model, s, done, many)
    between = between_us(machine.device, s)
    time = float((np.maximum(busy, done.host_us) + drafted * decode + between)[0]) / 1e6
    late = OperatorCalls(name="waiting for the host", count=1.0, us=np.maximum(done.host_us - busy, 0.0))
    before = OperatorCalls(name="attention to earlier chunks", count=model.layers, us=history + 0 * busy)
    after = (
        OperatorCalls(name="drafting", count=s["speculative_tokens"], us=drafted * decode),
        OperatorCalls(name="host between steps", count=1.0, us=between),
    )
    parts = sorted((*done.calls, before, late, *after), key=lambda one: -_one(one.us))
    return PricedPass(
        phase=phase,
        sequences=sequences,
        queries=queries,
        cached=cached,
        time_s=time,
        host_s=float(done.host_us[0]) / 1e6,
        operators=tuple(_operator(one, machine, s, time) for one in parts if _one(one.us) > 0),
    )


def passes_of(
    question: Question, settings: Mapping[str, object], operators: Operators | None = None
) -> tuple[PricedPass, ...]:
    """A decode step and a prefill of one configuration of a question, by physics alone.

    Raises:
        InputError: Its work has no such passes.
        MissingFactError: A fact that the price needs is unknown.
    """
    if question.phase != "serving" or feeds_forward(question.model, question.phase):
        raise InputError("--operators: the passes of a served language model alone are listed")
    defaults = engine_defaults("serving", question.engine, question.version)
    s = columns([settings], {**defaults, "precision": question.machine.device.sixteen_bit})
    plan = step_plan(s, question.machine.device)
    drafted, middle = s["speculative_tokens"], s["input_len"] + s["output_len"] / 2
    flight = s["batch"] / np.minimum(s["pipeline_parallel"], s["batch"])
    asked: tuple[tuple[str, Floats, Floats, Floats], ...] = (
        ("decode", flight, 1 + drafted, middle),
        ("prefill", plan.together, plan.chunk, s["input_len"] - plan.fresh),
    )
    return tuple(
        estimate_pass(
            model=question.model,
            machine=question.machine,
            phase=phase,
            settings=settings,
            sequences=float(many[0]),
            queries=float(rows[0]),
            cached=float(held[0]),
            operators=operators,
            engine=question.engine,
            version=question.version,
        )
        for phase, many, rows, held in asked
    )


def _operator(calls: OperatorCalls, machine: Machine, s: Columns, pass_s: float) -> PassOperator:
    """One operator with what bounds it."""
    device, took = machine.device, _one(calls.us) / 1e6
    known = s[calls.group][0] if calls.group in GROUPS else None
    computed = device.sixteen_bit if known is None else CHOICES["precision"][int(known)]
    peak = device.peak(device.computed_precision(computed))
    floors = {"compute": _one(calls.flops) / peak, "memory": _one(calls.traffic) / device.memory_bandwidth}
    bound = max(floors, key=lambda name: floors[name])
    if not _one(calls.traffic):
        bound = BOUNDS.get(calls.name, "link")
    elif floors[bound] < MOSTLY * took:
        bound = "launch"
    return PassOperator(
        name=calls.name, count=_one(calls.count), time_s=took, share=took / pass_s, bound=bound
    )


def _one(values: object) -> float:
    return float(np.ravel(np.asarray(values))[0])
