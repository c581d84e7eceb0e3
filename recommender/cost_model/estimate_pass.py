"""One pass of a served model and what follows it: what each operator takes, and what bounds it."""

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Self

import numpy as np

from kg.errors import InputError
from kg.nouns.codec import JsonNoun
from recommender.cost_model.facts.physics import PHYSICS
from recommender.cost_model.machine import Machine
from recommender.cost_model.operators.kinds import Operators, shipped
from recommender.cost_model.operators.network import Target
from recommender.cost_model.question import Question
from recommender.cost_model.settings.engine_defaults import engine_defaults
from recommender.cost_model.settings.plans import CHOICES, GROUPS, Columns, columns
from recommender.cost_model.workloads.block import PassSizes
from recommender.cost_model.workloads.forward_pass import drafting_us, forward_pass
from recommender.cost_model.workloads.inference import feeds_forward
from recommender.cost_model.workloads.launching import between_us
from recommender.cost_model.workloads.products import OperatorCalls
from recommender.cost_model.workloads.serving import complete_columns
from recommender.cost_model.workloads.serving_flow import step_plan
from recommender.cost_model.workloads.vision_tower import Pictures, tower_of, tower_us

BOUNDS = {
    "waiting for the host": "launch", "attention to earlier chunks": "compute", "drafting": "memory",
    "host between steps": "launch", "vision tower": "compute",
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

    @property
    def bounds(self) -> dict[str, float]:
        """Share of the pass by what bounds its operators, the largest first."""
        shares = dict.fromkeys((one.bound for one in self.operators), 0.0)
        for one in self.operators:
            shares[one.bound] += one.share
        return dict(sorted(shares.items(), key=lambda item: -item[1]))


_PICTURES = re.compile(r"(?:(\d{1,6})\s?[x*]\s?)?(\d{1,6})\s?[x*]\s?(\d{1,6})")
_COUNTS = ("batch", "chunk", "context")


@dataclass(frozen=True, slots=True, kw_only=True)
class PassShape:
    """One pass that somebody asks for; what is None is as the configuration has it.

    Attributes:
        phase: ``"prefill"`` or ``"decode"``.
        batch: Sequences of one engine.
        chunk: Tokens of each in this pass, those of its pictures among them.
        context: Positions of each that are there before.
        pictures: Of each sequence, which the vision tower reads in this pass.
    """

    phase: str
    batch: float | None = None
    chunk: float | None = None
    context: float | None = None
    pictures: Pictures | None = None

    @classmethod
    def of(cls, stated: Mapping[str, object]) -> Self:
        """The shape in the words of ``--pass``.

        Raises:
            InputError: An unknown phase or name, or a value that is none.
        """
        phase = str(stated.get("phase", ""))
        if phase not in {"prefill", "decode"}:
            raise InputError(
                f"--pass {phase!r}: prefill or decode, such as --pass prefill,batch=8,chunk=1024"
            )
        if unknown := stated.keys() - {"phase", "images", *_COUNTS}:
            raise InputError(
                f"--pass: no {', '.join(sorted(unknown))}", hint=f"known: {', '.join((*_COUNTS, 'images'))}"
            )
        counts = {}
        for name in stated.keys() & {*_COUNTS}:
            value, least = stated[name], 0 if name == "context" else 1
            is_number = isinstance(value, int | float) and not isinstance(value, bool)
            if not is_number or not least <= float(str(value)) < math.inf:
                raise InputError(f"--pass {name}={value}: a number from {least} on")
            counts[name] = float(str(value))
        pictures = None
        if "images" in stated:
            sizes = _PICTURES.fullmatch(str(stated["images"]))
            if sizes is None or not all(int(one or 1) for one in sizes.groups()):
                raise InputError(f"--pass images={stated['images']}: pictures and their size, as 2x1080x1920")
            if phase == "decode":
                raise InputError("--pass decode: pictures are read in a prefill")
            number, height, width = (float(one or 1) for one in sizes.groups())
            pictures = Pictures(number=number, height=height, width=width)
        return cls(phase=phase, pictures=pictures, **counts)


def estimate_pass(
    question: Question, settings: Mapping[str, object], shape: PassShape, operators: Operators | None = None
) -> PricedPass:
    """One forward pass of a configuration, by physics alone.

    Args:
        question: What is asked.
        settings: Of the configuration.
        shape: The pass: what is open in it is that of a usual step.
        operators: Calibrated operators; the shipped ones if None.

    Raises:
        InputError: An unknown setting, an impossible layout, a precision that the device lacks.
        MissingFactError: A fact that the price needs is unknown.
    """
    model, machine, phase = question.model, question.machine, shape.phase
    defaults = engine_defaults("serving", question.engine, question.version)
    told = columns([settings], {**defaults, "precision": machine.device.sixteen_bit})
    s = complete_columns(model, told, np.array([float(machine.count)]))
    sequences, queries, cached = _usual(s, machine, phase)
    sequences = sequences if shape.batch is None else shape.batch
    cached = cached if shape.context is None else shape.context
    tower = tower_of(model.id) if shape.pictures else None
    seen = shape.pictures.tokens(tower) if shape.pictures and tower else 0.0
    queries = queries + seen if shape.chunk is None else shape.chunk
    many, rows, held = (np.array([value]) for value in (sequences, queries, cached))
    decode = phase == "decode"
    on = Target(operators or shipped(), machine.device, machine.network)
    sizes = PassSizes(
        tokens=many * rows,
        sequences=many,
        length=held + rows / 2 if decode else rows,
        phase=phase,
        span=(held, held + rows),
    )
    done = forward_pass(on, model, s, sizes, many * rows if decode else many)
    # later chunks attend to earlier ones
    history = 0.0 if decode else model.layers * done.block.growing_us * 2 * held / rows
    busy = done.device_us + done.wire_us + history
    drafted = drafting_us(on, model, s, done, many)
    between, pictured = between_us(machine.device, s), 0.0 * busy
    if shape.pictures and tower:
        pictured = tower_us(on, tower, shape.pictures, s, sequences)
    time = float((np.maximum(busy, done.host_us) + drafted * decode + between + pictured)[0]) / 1e6
    late = OperatorCalls(name="waiting for the host", count=1.0, us=np.maximum(done.host_us - busy, 0.0))
    before = OperatorCalls(name="attention to earlier chunks", count=model.layers, us=history + 0 * busy)
    after = (
        OperatorCalls(name="drafting", count=s["speculative_tokens"], us=drafted * decode),
        OperatorCalls(name="host between steps", count=1.0, us=between),
        OperatorCalls(name="vision tower", count=sequences, us=pictured),
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
    question: Question,
    settings: Mapping[str, object],
    operators: Operators | None = None,
    shape: PassShape | None = None,
) -> tuple[PricedPass, ...]:
    """A decode step and a prefill of one configuration of a question, by physics alone.

    Args:
        question: What is asked.
        settings: Of the configuration.
        operators: Calibrated operators; the shipped ones if None.
        shape: The one pass that is wanted, in the place of both.

    Raises:
        InputError: Its work has no such passes.
        MissingFactError: A fact that the price needs is unknown.
    """
    if question.phase != "serving" or feeds_forward(question.model, question.phase):
        option = "--pass" if shape else "--operators"
        raise InputError(f"{option}: the passes of a served language model alone are priced")
    shapes = [shape] if shape else [PassShape(phase=phase) for phase in ("decode", "prefill")]
    return tuple(estimate_pass(question, settings, one, operators) for one in shapes)


def _usual(s: Columns, machine: Machine, phase: str) -> tuple[float, float, float]:
    """Sequences of a usual pass on one engine, tokens of each, and positions that were there before."""
    plan = step_plan(s, machine.device)
    usual = (plan.together, plan.chunk, s["input_len"] - plan.fresh)
    if phase == "decode":
        flight = s["batch"] / np.minimum(s["pipeline_parallel"], s["batch"])
        usual = (flight, 1 + s["speculative_tokens"], s["input_len"] + s["output_len"] / 2)
    return float(usual[0][0]), float(usual[1][0]), float(usual[2][0])


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
    elif floors[bound] < PHYSICS["bound_share"] * took:
        bound = "launch"
    return PassOperator(
        name=calls.name, count=_one(calls.count), time_s=took, share=took / pass_s, bound=bound
    )


def _one(values: object) -> float:
    return float(np.ravel(np.asarray(values))[0])
