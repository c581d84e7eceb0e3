"""Rules by arithmetic and by facts of the chip: what divides what, and which number formats there are."""

import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from kg.errors import InputError, MissingFactError
from kg.nouns.entities import Problem, WorkloadKind
from kg.nouns.values import Value
from kg.terms.dialects import positive, statement
from kg.terms.meanings import meaning_of

SPLITTING = frozenset({"degree", "devices", "replicas"})
"""Kinds of settings that split a job over devices."""
SPLIT, LAYOUTS = "arithmetic of the split", "arithmetic of the layout"

_OF_AN_EXPERT = ("inter", "intermediate_size", "moe_intermediate_size", "n_ff")
_OF_ATTENTION = ("attention_heads", "n_head")
_SPLIT_BY_EXPERT = ("experts", "num_experts")
_FORMATS = frozenset({"precision", "precision_cache"})
_IN_FP8 = frozenset({"fp8_format", "fp8"})
_NAMES_FP8 = ("fp8", "e4m3", "e5m2", "hybrid", "float8", "mxfp8")
BF16 = "bfloat16"
NUMBER_FORMAT = "the chip computes in the number format"
"""Name of the rule that a question itself can break, whatever is set."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Broken:
    """A rule that a configuration breaks.

    Attributes:
        rule: Its name, a sentence that should hold.
        reason: The numbers behind it.
        source: What the rule rests on.
        is_certain: False where the refusal is what a model or another device says.
    """

    rule: str
    reason: str
    source: str
    is_certain: bool = True


def divisibility(
    problem: Problem, configuration: Mapping[str, Value], sizes: Mapping[str, Value]
) -> Iterator[Broken]:
    """List the sizes that a split does not divide, as far as they are known."""
    stated = statement(configuration).facts
    tensors, experts = positive(stated.get("tp")), positive(stated.get("etp"))
    spread, stages = positive(stated.get("ep")), positive(stated.get("pp"))
    # a server may hold experts twice, and then spreads more of them than the model has
    routed = () if problem.workload.kind is WorkloadKind.SERVING else _SPLIT_BY_EXPERT
    for rule, parts, dimensions in (
        ("tensor parallel size divides what it splits", experts or tensors, _OF_AN_EXPERT),
        ("tensor parallel size divides what it splits", tensors or experts, _OF_ATTENTION),
        ("expert parallel size divides the experts", spread, routed),
    ):
        for name in dimensions:
            size = positive_integer(sizes.get(name))
            if parts is not None and size is not None and size % parts:
                yield Broken(
                    rule=rule,
                    reason=f"{name} is {size}, not divisible by {parts}",
                    source=SPLIT,
                )
    layers = positive_integer(sizes.get("layers"))
    if stages and layers and stages > layers:
        yield Broken(
            rule="there are no more stages than layers",
            reason=f"{stages} stages of {layers} layers",
            source=SPLIT,
        )


def layout(problem: Problem, configuration: Mapping[str, Value]) -> Iterator[Broken]:
    """Check that the ways of a layout multiply to the number of devices."""
    count = problem.hardware.count
    if count is None:
        return
    stated = statement(configuration).facts
    numbers = [size for name in ("etp", "ep") if (size := positive(stated.get(name)))]
    is_training = problem.workload.kind is WorkloadKind.TRAINING
    if (
        len(numbers) > 1
        and not is_training
        and math.prod(numbers) * (positive(stated.get("pp")) or 1) != count
    ):
        shown = " x ".join(map(str, numbers))
        yield Broken(
            rule="a layout uses every device",
            reason=f"{shown} is not {count}",
            source=LAYOUTS,
        )
        return
    if problem.workload.kind not in {WorkloadKind.TRAINING, WorkloadKind.SERVING}:
        return
    degrees = [size for name in ("tp", "pp", "cp", "dp") if (size := positive(stated.get(name))) is not None]
    if degrees and count % math.prod(degrees):
        shown = " x ".join(map(str, degrees))
        yield Broken(
            rule="the layout fits the devices",
            reason=f"{shown} does not divide {count}",
            source=LAYOUTS,
        )
    experts = positive(stated.get("ep"))
    if experts is not None and experts > count:
        yield Broken(
            rule="experts are spread over no more devices than there are",
            reason=f"expert parallelism of {experts} on {count} devices",
            source=LAYOUTS,
        )


def number_format(
    problem: Problem, configuration: Mapping[str, Value], device: str, facts: Mapping[str, float | str]
) -> Iterator[Broken]:
    """Check that the chip computes in the requested number formats.

    Only of chips whose matrix unit is described whole is it known what they lack: those of Ascend. NVIDIA's
    compute bfloat16 from compute capability 8.0 on, fp8 from 8.9 (CUDA C++ Programming Guide, compute
    capabilities), AMD's fp8 from CDNA 3 and RDNA 4 on (ROCm, data types and precision support). Weights that
    are only stored in fp8 are served on any.
    """
    source = f"facts of {device}: tunegraph kb query hardware-facts --with hardware={device}"
    if problem.workload.precision == BF16 and _lacks_bf16(device, facts):
        reason = f"{device} has no bf16 matrix unit; it computes fp16"
        yield Broken(rule=NUMBER_FORMAT, reason=reason, source=source)
    formats = {str(problem.workload.precision or "")} | {
        name if value is True else str(value)
        for name, value in configuration.items()
        if states_format(name) and value not in {None, False}
    }
    if not any(map(asks_fp8, formats)):
        return
    from recommender.cost_model.facts.device import Device

    chip = Device(device, facts)
    if not chip.ascend:
        of_amd = chip.amd and not re.match("gfx(9[45]|12)", str(facts["compute_capability"]))
        lacks = "peak_fp8_flops" not in facts and (of_amd or _is_before(facts, (8, 9)))
        if lacks and problem.workload.kind is WorkloadKind.TRAINING:
            reason = f"{device} has no fp8 matrix unit"
            yield Broken(rule=NUMBER_FORMAT, reason=reason, source=source)
        return
    try:
        chip.peak("fp8")
    except MissingFactError:
        return
    except InputError as refused:
        yield Broken(
            rule=NUMBER_FORMAT,
            reason=f"{refused}; {refused.hint}",
            source=source,
        )


def _lacks_bf16(device: str, facts: Mapping[str, float | str]) -> bool:
    """True if a chip is known to have no matrix unit for bfloat16."""
    if "peak_fp16_flops" not in facts or "peak_bf16_flops" in facts:
        return False
    from recommender.cost_model.facts.device import Device

    return Device(device, facts).ascend or _is_before(facts, (8, 0))


def _is_before(facts: Mapping[str, float | str], least: tuple[int, int]) -> bool:
    """True if a GPU is of an earlier compute capability; False if unknown."""
    stated = re.fullmatch(r"(\d+)\.(\d+)", str(facts.get("compute_capability", "")))
    return stated is not None and (int(stated[1]), int(stated[2])) < least


def asks_fp8(text: str) -> bool:
    """Return whether a number format is an eight-bit float."""
    return any(name in text.lower() for name in _NAMES_FP8)


def states_format(name: str) -> bool:
    """Return whether a setting names a number format."""
    meaning = meaning_of(name)
    return name in _IN_FP8 or (meaning is not None and meaning.fact in _FORMATS)


def positive_integer(value: Value) -> int | None:
    """Return a positive whole number, or None."""
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else None
