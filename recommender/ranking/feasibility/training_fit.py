"""Checks that training fits the memory, and finds the least change that makes it, where no start is made."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType

from kg.errors import InputError, MissingFactError
from kg.nouns.entities import Problem, WorkloadKind
from kg.nouns.situation import StatedFact
from kg.nouns.values import Value
from kg.triples.hardware_tree import HardwareTree
from recommender.cost_model.assumed import USUAL_LENGTH, assumed_sequence
from recommender.cost_model.layout_domain import more_devices, with_count
from recommender.cost_model.question import Question, is_step
from recommender.cost_model.settings.engine_defaults import engine_defaults
from recommender.cost_model.workloads.memory_fit import memory_bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainingFit:
    """The verdict on the memory of a training step.

    Attributes:
        words: What a device needs and has, and what makes it fit where it does not.
        fits: Whether it does.
        relief: What makes it fit on the devices that are asked about; empty where nothing does.
    """

    words: str
    fits: bool
    relief: str = ""


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


def fit_of(problem: Problem, sizes: Mapping[str, Value], tree: HardwareTree) -> TrainingFit | None:
    """Check that the training of a question fits the memory; None where that is not modelled."""
    if not is_step(problem) or problem.workload.kind is not WorkloadKind.TRAINING:
        return None
    try:
        asked = Question.of(problem, sizes, tree, phase="training")
        return fit_of_question(*with_length(asked, sizes))
    except (InputError, MissingFactError):
        return None


def fit_of_question(
    question: Question, assumed: Sequence[StatedFact] = (), layout: str = ""
) -> TrainingFit | None:
    """Check that a training step fits, and find the least change that makes it; None where not modelled.

    Args:
        question: With its settings.
        assumed: What is said to be assumed.
        layout: How the work is divided, where that is said too.

    Raises:
        MissingFactError: A fact that the answer needs is unknown.
    """
    held, needed = question.machine.device.memory_capacity, _bytes_of(question, {})
    if needed is None or not math.isfinite(held):
        return None
    each = f"{layout}: " if layout else ""
    each += f"a device needs {needed / 1e9:,.1f} of {held / 1e9:,.1f} GB"
    if assumed:
        each += f" ({', '.join(fact.words for fact in assumed)})"
    if needed <= held:
        return TrainingFit(words=f"{each}: it fits", fits=True)
    for words, one, change in _lighter(question):
        size = _bytes_of(one, change)
        if size is not None and size <= held:
            here = one.machine.count == question.machine.count
            return TrainingFit(
                words=f"{each}: it does not fit, but {words} takes {size / 1e9:,.1f} GB",
                fits=False,
                relief=f"with {words} it takes {size / 1e9:,.1f} GB of each" if here else "",
            )
    return TrainingFit(words=f"{each}: it does not fit, whatever is changed of what is modelled", fits=False)


def _lighter(question: Question) -> Iterator[tuple[str, Question, Mapping[str, object]]]:
    """Changes that take less memory: on these devices, then on more of them with all spread."""
    yield from ((words, question, change) for words, change in _reliefs(question))
    for count in more_devices(question.machine.count):
        words = f"gradient checkpointing and all spread over {count:,} devices (ZeRO 3, FSDP)"
        yield words, with_count(question, count), {**_SPREAD, "global_batch": 0}


HOST_BYTES = 18.0
"""Host memory of a parameter (https://deepspeed.readthedocs.io/en/latest/memory.html), without buffers."""
_SHORT = 512
"""Tokens of a sequence below which none is proposed; a choice."""
_SPREAD: Mapping[str, object] = MappingProxyType({"recompute": "full", "zero_stage": 3, "pure_bf16": 0})


def states_beyond(question: Question, degrees: Mapping[str, object]) -> bool:
    """True if weights, gradients and states alone are more than a device holds; activations come on top."""
    states = states_bytes(question, degrees)
    return states is not None and states > question.machine.device.memory_capacity


OVERESTIMATE = 2.0
"""More than activations were overestimated by: 1.92 at most, by the growth of published peaks from 256 to
8,192 tokens (Qwen-14B in 4 bits; benchmarks/cost_models/training_peaks.csv)."""


def activations_bytes(question: Question, change: Mapping[str, object]) -> float | None:
    """Bytes that the activations take on a device, whatever divides the states; None where not modelled."""
    return _bytes_of(question, change, ("activations",))


def activations_beyond(question: Question) -> bool:
    """True if the activations of a micro-batch have no room beside the weights, however far off they are."""
    kept, weights = activations_bytes(question, {}), weights_bytes(question)
    held = question.machine.device.memory_capacity
    is_beyond = kept is not None and kept > OVERESTIMATE * max(held - weights, 0.0)
    return is_beyond and not question.settings.get("offload")


def weights_bytes(question: Question) -> float:
    """Bytes of the weights alone on the fullest device; 0 where that is not modelled."""
    return _bytes_of(question, {}, ("weights",)) or 0.0


def micro_batches(question: Question) -> Iterator[int]:
    """Smaller micro-batches, halved until one, with which as many more are accumulated."""
    size = int(float(str(question.settings.get("micro_batch") or 1)))
    while (size := size // 2) >= 1:
        yield size


def states_bytes(question: Question, change: Mapping[str, object]) -> float | None:
    """Bytes of weights, gradients and states on the fullest device; None where that is not modelled."""
    return _bytes_of(question, change, ("weights", "gradients", "optimizer"))


def _bytes_of(question: Question, change: Mapping[str, object], names: Sequence[str] = ()) -> float | None:
    try:
        parts = memory_bytes(
            question.model, "training", [question.configuration(change)], question.machine.count,
            engine=question.engine, reserved=question.machine.device.reserved_bytes,
        )  # fmt: skip
    except InputError:
        return None
    return float(sum(part[0] for name, part in parts.items() if name in (names or parts)))


def _reliefs(question: Question) -> Iterator[tuple[str, dict[str, object]]]:
    """Changes that take less memory, the cheapest first: adapters alone and shorter sequences last."""
    told = {**engine_defaults("training", question.engine, "", [question.settings]), **question.settings}
    done: dict[str, Mapping[str, object]] = {}
    for size in micro_batches(question):
        done = {f"micro-batches of {size}": {"micro_batch": size}}
        yield _together(done)
    if told.get("recompute") != "full":
        done["gradient checkpointing"] = {"recompute": "full"}
        yield _together(done)
    if question.machine.count > 1 and told.get("zero_stage") != 3:
        done["all spread (ZeRO 3, FSDP)"] = _SPREAD
        yield _together(done)
    chunked: dict[str, Mapping[str, object]] = {"a loss in chunks (Liger Kernel)": {"loss_kind": "chunked"}}
    yield _together(done | chunked)
    if not told.get("lora_rank"):
        yield _together(done | {"an optimiser in 8 bit": {"optimizer_kind": "adam_8bit"}})
    host = question.model.parameters * (2 if told.get("lora_rank") else HOST_BYTES) / 1e9
    words = f"weights and states in {host:,.0f} GB of host memory"
    yield _together(done | {words: {"zero_stage": 3, "offload": "parameters"}})
    if not told.get("lora_rank"):
        yield _together(done | {"adapters alone (LoRA)": {"lora_rank": 16}})
    if told.get("frozen_bits") != 4:
        done["adapters beside weights in 4 bit (QLoRA)"] = {
            "lora_rank": told.get("lora_rank") or 16, "frozen_bits": 4,
        }  # fmt: skip
        yield _together(done)
    yield _together(done := done | chunked)
    length = int(float(str(told.get("seq_len") or 0))) // 2
    while length >= _SHORT:
        yield _together(done | {f"sequences of {length:,} tokens": {"seq_len": length}})
        length //= 2


def _together(changes: Mapping[str, Mapping[str, object]]) -> tuple[str, dict[str, object]]:
    """Changes by their words, as one: ``a, b and c``."""
    *first, last = changes
    words = f"{', '.join(first)} and {last}" if first else last
    return words, {name: value for change in changes.values() for name, value in change.items()}
