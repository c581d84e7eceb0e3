"""What cannot run, and which rule says so."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from kg.hardware_tree import Distance

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from kg.entities import Configuration, Problem
    from kg.values import Value
    from recommender.ranking.evidence import Evidence

_TENSOR = ("moe_tp_size", "tensor_parallel_size", "tensor_parallel", "tp-size", "tp_size", "tp")
_EXPERT = ("moe_ep_size", "expert_parallel_size", "expert_parallel", "ep-size", "ep_size", "ep")
_MOE_LAYOUT = ("moe_tp_size", "moe_ep_size")
_SPLIT_BY_TENSOR = (
    "inter",
    "intermediate_size",
    "moe_intermediate_size",
    "n_ff",
    "attention_heads",
    "n_head",
)
_SPLIT_BY_EXPERT = ("experts", "num_experts")


@dataclass(frozen=True, slots=True, kw_only=True)
class Refusal:
    """Why a configuration is not proposed.

    Attributes:
        configuration: What.
        rule: Which rule.
        reason: The numbers behind it.
        source: What the rule rests on.
    """

    configuration: Configuration
    rule: str
    reason: str
    source: str

    def to_json(self) -> dict[str, object]:
        """Plain content."""
        return {
            "configuration": self.configuration.to_json(),
            "rule": self.rule,
            "reason": self.reason,
            "source": self.source,
        }


def refusals(
    problem: Problem,
    configuration: Configuration,
    model: Mapping[str, Value],
    evidence: Evidence | None = None,
) -> Iterator[Refusal]:
    """The rules that a configuration breaks.

    Args:
        problem: Where it would run.
        configuration: What would be set.
        model: Facts of the model, where one is named.
        evidence: What the sources say, for failures seen on the same device.
    """

    def refusal(rule: str, reason: str, source: str) -> Refusal:
        return Refusal(configuration=configuration, rule=rule, reason=reason, source=source)

    sizes = {**model, **problem.workload.shape}
    for rule, parameters, dimensions in (
        ("tensor parallel size divides what it splits", _TENSOR, _SPLIT_BY_TENSOR),
        ("expert parallel size divides the experts", _EXPERT, _SPLIT_BY_EXPERT),
    ):
        parts = next((n for name in parameters if (n := _whole(configuration.get(name))) is not None), None)
        for name in dimensions:
            size = _whole(sizes.get(name))
            if parts is not None and size is not None and size % parts:
                yield refusal(rule, f"{name} is {size}, not divisible by {parts}", "arithmetic of the split")
    layout = [_whole(configuration.get(name)) for name in _MOE_LAYOUT]
    count = problem.hardware.count
    ways = [ways for ways in layout if ways is not None]
    if count is not None and len(ways) == len(_MOE_LAYOUT) and math.prod(ways) != count:
        shown = " x ".join(map(str, ways))
        yield refusal("a layout uses every device", f"{shown} is not {count}", "arithmetic of the layout")
    if evidence is not None and configuration in evidence.candidates:
        place = evidence.candidates.index(configuration)
        for source, failed in zip(evidence.sources, evidence.failed[:, place], strict=True):
            same = source.device is Distance.SAME_DEVICE and source.same_task and source.same_count
            if failed and same:
                yield refusal("it failed there before", f"on {source.problem.hardware}", source.problem.id)


def _whole(value: Value) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else None
