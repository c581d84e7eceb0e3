"""Cost of one or many configurations of a workload: the entry of the cost model.

``estimate`` takes facts, not stores: whoever asks reads model and hardware from the graph.
"""

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from kg.errors import InputError
from kg.nouns.layout import ParallelLayout
from recommender.cost_model.anchors import StepKey
from recommender.cost_model.facts.model import NETWORK, ModelSizes
from recommender.cost_model.facts.physics import PHYSICS, physics_of
from recommender.cost_model.layout_domain import UNEVEN, fullest
from recommender.cost_model.machine import Machine
from recommender.cost_model.operators.kinds import Operators, shipped
from recommender.cost_model.operators.network import Target
from recommender.cost_model.question import Question, check_phase
from recommender.cost_model.settings.engine_defaults import engine_defaults, releases_of
from recommender.cost_model.settings.plans import columns
from recommender.cost_model.workloads.inference import feeds_forward, inference_step
from recommender.cost_model.workloads.serving import serving_step
from recommender.cost_model.workloads.serving_flow import MOST_REPLAYED
from recommender.cost_model.workloads.steps import Steps, scaled
from recommender.cost_model.workloads.training import training_step

LEAST_MOVE = 0.01
"""Log throughput from which an assumption moved the answer."""
GPU_ENGINES = frozenset({"vllm", "sglang", "tensorrt-llm", "atom"})
"""Engines of which published tables of GPUs measured served steps."""


def estimate(
    *,
    model: ModelSizes,
    machine: Machine,
    phase: str,
    settings: Sequence[Mapping[str, object]],
    operators: Operators | None = None,
    engine: str = "",
    version: str = "",
) -> Steps:
    """Costs of configurations of one workload, anchored on measured steps.

    Args:
        model: What runs.
        machine: The machine that runs it.
        phase: ``"training"`` or ``"serving"``.
        settings: One mapping per configuration; names as in ``recommender.cost_model.settings.plans``.
        operators: Calibrated operators and measured steps; the shipped ones if None.
        engine: Engine or framework that runs it; empty if not stated.
        version: Its version; empty if not stated.

    Raises:
        InputError: An unknown setting, an impossible layout, a precision that the device lacks.
        MissingFactError: A fact that the answer needs is unknown.
    """
    check_phase(phase)
    if not settings:
        raise InputError("no configuration to estimate")
    own = engine_defaults(phase, engine, version, settings)
    defaults = {**own, "precision": machine.device.sixteen_bit}
    held = columns(settings, defaults)
    if phase != "training" and engine in UNEVEN and len(spread := {*held.get("expert_parallel", ())}) == 1:
        model = fullest(model, ParallelLayout(ep=int(spread.pop())))
    devices = np.full(len(settings), float(machine.count))
    calibrated = operators or shipped()
    facts = (Target(calibrated, machine.device, machine.network), model, held, devices)
    key = step_key(model, machine, phase, engine=engine)
    usual = class_spread(model, machine, phase, engine)
    anchor = calibrated.anchors.correction(key, usual)
    if phase != "training" and not feeds_forward(model, phase):
        steps = serving_step(*facts, factor=anchor.factor if anchor else 1.0)
    elif phase == "training":
        steps = training_step(*facts, factor=anchor.factor if anchor else 1.0)
    else:
        steps = inference_step(*facts)
        steps = scaled(steps, anchor.factor) if anchor else steps
    if anchor:
        return replace(steps, spread=anchor.spread, basis=anchor.basis)
    return steps if model.kind == NETWORK else replace(steps, spread=usual)


def class_spread(model: ModelSizes, machine: Machine, phase: str, engine: str) -> float:
    """Standard deviation of the log of a time where no measured step anchors it."""
    device = machine.device
    if model.kind == NETWORK or device.ascend:
        return PHYSICS["spread"]
    is_gpu, unlike = device.amd or device.nvidia, physics_of("unlike_engine_spread")
    if not is_gpu:  # none of the tables measured it
        return unlike.get(engine, PHYSICS["spread"])
    if phase != "serving":
        return PHYSICS["gpu_spread"]
    if engine in GPU_ENGINES:
        served = physics_of("gpu_served_spread")
        return served["amd"] if device.amd else served["nvidia"]
    return unlike.get(engine, PHYSICS["gpu_spread"])


def step_key(model: ModelSizes, machine: Machine, phase: str, *, engine: str = "") -> StepKey:
    """The properties that measured steps must share with a workload.

    Networks without blocks share nothing with others, nor do GPUs with Ascend devices: physics is off by more
    on these, and elsewhere.
    """
    kind = model.kind
    work = f"{phase} of networks" if kind == NETWORK else phase
    return StepKey(
        phase=work if machine.device.ascend else f"{work} on GPUs",
        engine=engine,
        device=machine.device.id,
        architecture=kind,
        model=model.id,
    )


def estimate_question(
    question: Question, changes: Sequence[Mapping[str, object]] = ({},), operators: Operators | None = None
) -> Steps:
    """Costs of a question, once for each of ``changes`` laid over its settings; as :func:`estimate`.

    Measured runs near the question correct the prices of the shipped operators, which is what they were held
    against.
    """
    settings = [question.configuration(item) for item in changes]
    steps = estimate(
        model=question.model,
        machine=question.machine,
        phase=question.phase,
        settings=settings,
        operators=operators,
        engine=question.engine,
        version=question.version,
    )
    if operators is not None or question.measured.is_empty:
        return steps
    return question.measured.corrected(steps, [question.place(one) for one in settings])


def over_releases(
    question: Question, changes: Sequence[Mapping[str, object]], operators: Operators | None, steps: Steps
) -> tuple[Steps, str]:
    """The steps of a release that nobody told, as wide as the releases of its engine differ.

    The newest stays in the middle: the start that is recommended is written for it. Each other one from which
    a default of the engine holds is as likely.

    Args:
        question: What is asked.
        changes: Laid over its settings; of many nothing is widened.
        operators: As of the steps.
        steps: Of the newest release.

    Returns:
        The steps, and the release that is furthest off in the first of them, as text.
    """
    releases = releases_of(question.engine) if question.phase == "serving" else ()
    if len(changes) > MOST_REPLAYED:
        releases = ()
    logs = np.array(
        [
            np.log(
                estimate_question(replace(question, version=one), changes, operators).throughput
                / steps.throughput
            )
            for one in releases
        ]
    )
    if not np.any(abs(logs) >= LEAST_MOVE):
        return steps, ""
    own = np.array([steps.spread_of(at) for at in range(len(changes))])
    far = int(np.argmax(np.abs(logs[:, 0])))
    before = f"<{releases[1]}" if far == 0 and len(releases) > 1 else releases[far]
    said = f"{question.engine} {question.version}".strip()
    wide = replace(steps, near_spread=np.hypot(own, np.sqrt(np.mean(logs**2, axis=0))))
    return wide, f"{said} ({before}: {100 * math.expm1(logs[far, 0]):+.0f} %)"


def sweep(base: Mapping[str, object], axes: Mapping[str, Sequence[object]]) -> list[dict[str, object]]:
    """Configurations over every combination of the values of ``axes``."""
    return [{**base, **dict(zip(axes, values, strict=True))} for values in itertools.product(*axes.values())]
