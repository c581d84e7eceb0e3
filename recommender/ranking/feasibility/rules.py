"""Rules by arithmetic and by facts of the chip: what divides what, and which number formats there are."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from kg.errors import InputError, MissingFactError
from kg.nouns.entities import WorkloadKind

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from kg.nouns.entities import Problem
    from kg.nouns.values import Value

TENSOR = (
    "moe_tp_size", "tensor_parallel_size", "tensor_model_parallel_size", "tensor_parallel", "tp-size",
    "tp_size", "tp",
)  # fmt: skip
EXPERT = (
    "moe_ep_size", "expert_parallel_size", "expert_model_parallel_size", "expert_parallel", "ep-size",
    "ep_size", "ep",
)  # fmt: skip
PIPELINE = (
    "pipeline_parallel_size",
    "pipeline_model_parallel_size",
    "pipeline_parallel",
    "pp-size",
    "pp_size",
    "pp",
)
CONTEXT = ("context_parallel_size", "context_parallel", "cp")
DATA = ("data_parallel_size", "data_parallel", "dp-size", "dp_size", "dp")
LAYOUT = (TENSOR, PIPELINE, CONTEXT, DATA)
SPLITS = frozenset({*TENSOR, *EXPERT, *PIPELINE, *CONTEXT, *DATA})
"""Names of the ways to split a job over devices, the most telling first; and all of them."""

SPLIT, LAYOUTS = "arithmetic of the split", "arithmetic of the layout"

_MOE_LAYOUT = ("moe_tp_size", "moe_ep_size")
_SPLIT_BY_TENSOR = (
    "inter", "intermediate_size", "moe_intermediate_size", "n_ff", "attention_heads", "n_head",
)  # fmt: skip
_SPLIT_BY_EXPERT = ("experts", "num_experts")
_SHARED_BY_DATA = ("enable_dp_attention", "enable-dp-attention")
FORMATS = frozenset(("precision", "dtype", "quantization", "kv_cache_dtype", "fp8_format", "fp8"))
_NAMES_FP8 = ("fp8", "e4m3", "e5m2", "hybrid", "float8", "mxfp8")
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
    # a server may hold experts twice, and then spreads more of them than the model has
    experts = () if problem.workload.kind is WorkloadKind.SERVING else _SPLIT_BY_EXPERT
    for rule, parameters, dimensions in (
        ("tensor parallel size divides what it splits", TENSOR, _SPLIT_BY_TENSOR),
        ("expert parallel size divides the experts", EXPERT, experts),
    ):
        parts = first_positive_integer(configuration, parameters)
        for name in dimensions:
            size = positive_integer(sizes.get(name))
            if parts is not None and size is not None and size % parts:
                yield Broken(
                    rule=rule,
                    reason=f"{name} is {size}, not divisible by {parts}",
                    source=SPLIT,
                )
    stages, layers = first_positive_integer(configuration, PIPELINE), positive_integer(sizes.get("layers"))
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
    ways = [positive_integer(configuration.get(name)) for name in _MOE_LAYOUT]
    numbers = [way for way in ways if way is not None]
    if len(numbers) == len(_MOE_LAYOUT) and math.prod(numbers) != count:
        shown = " x ".join(map(str, numbers))
        yield Broken(
            rule="a layout uses every device",
            reason=f"{shown} is not {count}",
            source=LAYOUTS,
        )
        return
    if problem.workload.kind not in {WorkloadKind.TRAINING, WorkloadKind.SERVING}:
        return
    names = LAYOUT[:3] if any(configuration.get(name) for name in _SHARED_BY_DATA) else LAYOUT
    degrees = [way for group in names if (way := first_positive_integer(configuration, group)) is not None]
    if degrees and count % math.prod(degrees):
        shown = " x ".join(map(str, degrees))
        yield Broken(
            rule="the layout fits the devices",
            reason=f"{shown} does not divide {count}",
            source=LAYOUTS,
        )
    experts = first_positive_integer(configuration, EXPERT)
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

    Only of chips whose matrix unit is described whole is it known what they lack: those of Ascend.
    """
    formats = {str(problem.workload.precision or "")} | {
        name if value is True else str(value)
        for name, value in configuration.items()
        if name in FORMATS and value not in {None, False}
    }
    if not any(map(asks_fp8, formats)):
        return
    from recommender.cost_model.facts.device import Device

    chip = Device(device, facts)
    if not chip.ascend:
        return
    try:
        chip.peak("fp8")
    except MissingFactError:
        return
    except InputError as refused:
        yield Broken(
            rule=NUMBER_FORMAT,
            reason=f"{refused}; {refused.hint}",
            source=f"facts of {device}: tunegraph kb query hardware-facts --with hardware={device}",
        )


def asks_fp8(text: str) -> bool:
    """Return whether a number format is an eight-bit float."""
    return any(name in text.lower() for name in _NAMES_FP8)


def first_positive_integer(configuration: Mapping[str, Value], names: tuple[str, ...]) -> int | None:
    """Return the first of ``names`` that is set to a positive whole number."""
    return next(
        (n for name in names if name in configuration and (n := positive_integer(configuration[name]))), None
    )


def positive_integer(value: Value) -> int | None:
    """Return a positive whole number, or None."""
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else None
