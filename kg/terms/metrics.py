"""Metrics by their canonical names: what they measure and which way is better.

A metric that is not listed keeps its name; then the record must say which way is better.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from kg.nouns.entities import Better, WorkloadKind
from kg.terms.units import Dimension

if TYPE_CHECKING:
    from collections.abc import Iterable


@dataclass(frozen=True, slots=True, kw_only=True)
class Metric:
    """A quantity with a name of its own.

    Attributes:
        name: Canonical name.
        dimension: What its unit must measure.
        better: Direction of improvement.
    """

    name: str
    dimension: Dimension
    better: Better


def _named(names: str, dimension: Dimension, better: Better) -> Iterable[tuple[str, Metric]]:
    return [(name, Metric(name=name, dimension=dimension, better=better)) for name in names.split()]


METRICS: dict[str, Metric] = dict(
    [
        *_named(
            "latency kernel_time step_time run_time ttft tpot e2e_latency communication_time",
            Dimension.TIME,
            Better.LOWER,
        ),
        *_named("throughput bandwidth compute_rate energy_efficiency", Dimension.RATE, Better.HIGHER),
        *_named("energy", Dimension.ENERGY, Better.LOWER),
        *_named("power", Dimension.POWER, Better.LOWER),
        *_named("peak_memory", Dimension.BYTES, Better.LOWER),
        *_named("mfu accuracy", Dimension.RATIO, Better.HIGHER),
        *_named("accuracy_loss", Dimension.RATIO, Better.LOWER),
    ]
)
"""Metrics known by name."""

_ALIASES = {
    "time": "run_time",
    "runtime": "run_time",
    "elapsed": "run_time",
    "wall_time": "run_time",
    "execution_time": "run_time",
    "kernel_runtime": "kernel_time",
    "iteration_time": "step_time",
    "time_per_step": "step_time",
    "time_to_first_token": "ttft",
    "time_per_output_token": "tpot",
    "p_core": "throughput",
    "nvml_energy": "energy",
    "nvml_power": "power",
    "avg_power": "power",
    "memory": "peak_memory",
    "peak_mem": "peak_memory",
    "max_memory": "peak_memory",
    "accuracy_drop": "accuracy_loss",
    "吞吐": "throughput",
    "吞吐量": "throughput",
    "吞吐率": "throughput",
    "时延": "latency",
    "延迟": "latency",
    "单步时间": "step_time",
    "步时": "step_time",
    "运行时间": "run_time",
    "首token时延": "ttft",
    "首字时延": "ttft",
    "每token时延": "tpot",
    "能耗": "energy",
    "功耗": "power",
    "内存": "peak_memory",
    "显存": "peak_memory",
    "峰值内存": "peak_memory",
    "峰值显存": "peak_memory",
    "精度损失": "accuracy_loss",
}


def canonical_metric(name: str, kind: WorkloadKind) -> str:
    """The canonical name of a metric as a source calls it; a bare ``time`` of a kernel is its kernel time."""
    lowered = name.strip().lower().replace(" ", "_").replace("-", "_")
    if kind is WorkloadKind.KERNEL and _ALIASES.get(lowered) == "run_time":
        return "kernel_time"
    if lowered in METRICS:
        return lowered
    return _ALIASES.get(lowered, name.strip())
