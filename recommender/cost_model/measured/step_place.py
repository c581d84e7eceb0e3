"""The place of a step among others (work, machine, layout, load), and measured runs there."""

import math
from collections.abc import Mapping
from dataclasses import dataclass

from kg.nouns.codec import JsonNoun
from recommender.cost_model.facts.device import precision
from recommender.cost_model.settings.plans import PHASES, canonical_name

SIZES = ("tensor_parallel", "pipeline_parallel", "context_parallel")
"""Sizes of a layout whose doublings count one each."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StepPlace(JsonNoun):
    """Place of a step among others, by which they are compared; sizes as logs to the base of 2.

    Attributes:
        engine: Id of the engine; empty if it is not stated.
        device: Id of the device.
        precision: Number format; empty if it is not stated.
        lengths: Of prompts and answers, or of sequences.
        layout: Sizes of ``SIZES``, then that of the experts: in serving 1 or 0 for spread or not.
        load: Sequences of an engine, or samples of a micro-batch.
    """

    engine: str
    device: str
    precision: str
    lengths: tuple[float, ...]
    layout: tuple[float, ...]
    load: float


@dataclass(frozen=True, slots=True, kw_only=True)
class PricedRun(JsonNoun):
    """A measured run, as a correction needs to know it.

    Attributes:
        place: Its work, machine, layout and load.
        group: Id of its problem: what is counted, and how it was timed, is alike there.
        log_ratio: Natural log of its measured time over its modelled one.
    """

    place: StepPlace
    group: str
    log_ratio: float


def place_of(phase: str, engine: str, device: str, settings: Mapping[str, object]) -> StepPlace:
    """The place of a configuration.

    Args:
        phase: ``"training"`` or ``"serving"``.
        engine: Id of the engine; empty if it is not stated.
        device: Id of the device.
        settings: Of the cost model, by their names or aliases.
    """
    settings = {canonical_name(name): value for name, value in settings.items()}
    training = phase == "training"
    experts = _log(settings.get("expert_parallel"))
    return StepPlace(
        engine=engine,
        device=device,
        precision=precision(stated) if (stated := str(settings.get("precision", ""))) else "",
        lengths=lengths_of(phase, settings),
        layout=(
            *(_log(settings.get(name)) for name in SIZES),
            experts if training else 2.0 * (experts > 0),
        ),
        load=_log(settings.get("micro_batch" if training else "batch")),
    )


def lengths_of(phase: str, stated: Mapping[str, object]) -> tuple[float, ...]:
    """Logs to the base of 2 of the lengths of a phase: of sequences, or of prompts and answers.

    What is not stated is what the cost model assumes.
    """
    stated = {canonical_name(name): value for name, value in stated.items()}
    names = ("seq_len",) if phase == "training" else ("input_len", "output_len")
    return tuple(_log(stated.get(name, PHASES[phase][name])) for name in names)


def _log(value: object) -> float:
    return math.log2(value) if isinstance(value, int | float) and value > 0 else 0.0
