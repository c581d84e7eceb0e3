"""Where a step of a model lies among others: its work, its machine, its layout and its load."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from recommender.cost_model.facts.device import precision

if TYPE_CHECKING:
    from collections.abc import Mapping

    from recommender.cost_model.question import Question

SIZES = ("tensor_parallel", "pipeline_parallel", "context_parallel")
"""Sizes of a layout whose doublings count one each."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StepPlace:
    """What of a step is compared with other steps; sizes as logs to the base of 2.

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

    @classmethod
    def of(cls, question: Question, settings: Mapping[str, object]) -> StepPlace:
        """The place of a configuration of a question."""
        training = question.phase == "training"
        lengths = ("seq_len",) if training else ("input_len", "output_len")
        experts = _log(settings.get("expert_parallel"))
        return cls(
            engine=question.engine,
            device=question.machine.device.id,
            precision=precision(stated) if (stated := str(settings.get("precision", ""))) else "",
            lengths=tuple(_log(settings.get(name)) for name in lengths),
            layout=(
                *(_log(settings.get(name)) for name in SIZES),
                experts if training else 2.0 * (experts > 0),
            ),
            load=_log(settings.get("micro_batch" if training else "batch")),
        )


def _log(value: object) -> float:
    return math.log2(value) if isinstance(value, int | float) and value > 0 else 0.0
