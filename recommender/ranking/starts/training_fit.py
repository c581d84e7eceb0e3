"""Whether training fits as it is told, and the least change that makes it, where no start is made."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from kg.errors import InputError, MissingFactError
from kg.nouns.entities import WorkloadKind
from recommender.cost_model.assumed import USUAL_LENGTH, assumed_sequence
from recommender.cost_model.question import Question, is_step
from recommender.cost_model.workloads.memory_fit import memory_bytes

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from kg.nouns.entities import Problem
    from kg.nouns.situation import StatedFact
    from kg.nouns.values import Value
    from kg.triples.hardware_tree import HardwareTree


def with_length(question: Question, sizes: Mapping[str, Value]) -> tuple[Question, tuple[StatedFact, ...]]:
    """The question with the length of a sequence, which is assumed where none is stated."""
    if question.phase != "training" or "seq_len" in question.settings or not question.model.layers:
        return question, ()
    most = sizes.get("max_positions")
    length = min(USUAL_LENGTH, most) if isinstance(most, int | float) and most else USUAL_LENGTH
    fact = assumed_sequence(length)
    return replace(question, settings={**question.settings, "seq_len": fact.value}), (fact,)


def refuse_inference_chips(problem: Problem, tree: HardwareTree) -> None:
    """Refuse training on a chip that is made for inference alone.

    Raises:
        InputError: It is asked for.
    """
    name = problem.hardware.name
    is_training = problem.workload.kind is WorkloadKind.TRAINING
    if is_training and name and tree.facts(name).get("purpose") == "inference":
        raise InputError(
            f"{name} is made for inference: nothing trains on it",
            hint="--phase serving asks about serving on it; --hardware another device",
        )


def fit_of(problem: Problem, sizes: Mapping[str, Value], tree: HardwareTree) -> str:
    """Memory of a device in training as it is told, in a sentence; empty where it is not modelled."""
    if not is_step(problem) or problem.workload.kind is not WorkloadKind.TRAINING:
        return ""
    try:
        question, assumed = with_length(Question.of(problem, sizes, tree, phase="training"), sizes)
        held = question.machine.device.memory_capacity
        needed = _bytes_of(question, {})
        if needed is None:
            return ""
        each = f"a device needs {needed / 1e9:,.1f} of {held / 1e9:,.1f} GB"
        if assumed:
            each += f" ({', '.join(fact.words for fact in assumed)})"
        if needed <= held:
            return f"{each}: it fits"
        lighter = ((words, _bytes_of(question, change)) for words, change in _reliefs(question))
        found = next(((words, size) for words, size in lighter if size is not None and size <= held), None)
    except (InputError, MissingFactError):
        return ""
    if found is None:
        return f"{each}: it does not fit, whatever is changed of what is modelled"
    return f"{each}: it does not fit, but {found[0]} takes {found[1] / 1e9:,.1f} GB"


def _bytes_of(question: Question, change: Mapping[str, object]) -> float | None:
    try:
        parts = memory_bytes(
            question.model, "training", [question.configuration(change)], question.machine.count,
            engine=question.engine, ascend=question.machine.device.ascend,
        )  # fmt: skip
    except InputError:
        return None
    return float(sum(part[0] for part in parts.values()))


def _reliefs(question: Question) -> Iterator[tuple[str, dict[str, object]]]:
    """What takes less memory, in the order of what it costs, adapters alone last."""
    words = "gradient checkpointing"
    change: dict[str, object] = {"recompute": "full"}
    yield words, dict(change)
    if question.machine.count > 1:
        words, change = f"{words} and all spread (ZeRO 3, FSDP)", {**change, "zero_stage": 3, "pure_bf16": 0}
        yield words, dict(change)
    if not question.settings.get("lora_rank"):
        yield f"{words}, an optimiser in 8 bit", {**change, "optimizer_kind": "adam_8bit"}
    offloaded = {**change, "zero_stage": 3, "offload": "parameters"}
    yield f"{words}, weights and states in host memory", offloaded
    yield f"{words}, adapters alone (LoRA)", {**change, "lora_rank": 16}
    yield f"{words}, adapters beside weights in 4 bit (QLoRA)", {**change, "lora_rank": 16, "frozen_bits": 4}
