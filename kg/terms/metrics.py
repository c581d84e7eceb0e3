"""Metrics by their canonical names: the quantity they measure and the direction of improvement.

A metric that is not listed keeps its name; then the record must say which way is better.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass

from kg.nouns.entities import Better, Objective, WorkloadKind
from kg.terms.units import Dimension


@dataclass(frozen=True, slots=True, kw_only=True)
class Metric:
    """A quantity with a name of its own.

    Attributes:
        name: Canonical name.
        dimension: Quantity of its unit.
        better: Direction of improvement.
    """

    name: str
    dimension: Dimension
    better: Better


def _named(names: str, dimension: Dimension, better: Better) -> Iterable[tuple[str, Metric]]:
    return [(name, Metric(name=name, dimension=dimension, better=better)) for name in names.split()]


PERCENTILES = {"p90": 0.90, "p95": 0.95, "p99": 0.99}
"""Share of the requests that are no slower, by the end of a metric's name."""

METRICS: dict[str, Metric] = dict(
    [
        *_named(
            "latency kernel_time step_time run_time ttft tpot e2e_latency communication_time",
            Dimension.TIME,
            Better.LOWER,
        ),
        *_named(
            " ".join(f"{time}_{end}" for time in ("ttft", "tpot", "latency") for end in PERCENTILES),
            Dimension.TIME,
            Better.LOWER,
        ),
        *_named(
            "throughput total_throughput prefill_throughput decode_throughput bandwidth compute_rate "
            "energy_efficiency",
            Dimension.RATE,
            Better.HIGHER,
        ),
        *_named("energy", Dimension.ENERGY, Better.LOWER),
        *_named("carbon", Dimension.MASS, Better.LOWER),
        *_named("power", Dimension.POWER, Better.LOWER),
        *_named("peak_memory", Dimension.BYTES, Better.LOWER),
        *_named("mfu accuracy", Dimension.RATIO, Better.HIGHER),
        *_named("accuracy_loss", Dimension.RATIO, Better.LOWER),
    ]
)
"""Metrics known by name."""

SAME_GAIN: dict[WorkloadKind, tuple[frozenset[str], ...]] = {
    WorkloadKind.TRAINING: (frozenset({"throughput", "step_time", "run_time", "compute_rate"}),),
    WorkloadKind.SERVING: (
        frozenset({"throughput", "output_throughput", "total_throughput", "run_time"}),
        frozenset({"tpot", "time_per_output_token", "decode_time", "decode_throughput"}),
        frozenset({"ttft", "time_to_first_token"}),
        frozenset({"prefill_time", "prefill_throughput"}),
        frozenset({"latency", "e2e_latency"}),
    ),
}
"""Metrics that a gain changes by the same factor, as arithmetic has it: the time of a step and what it yields
at one batch; the time of one token and the tokens a second of one batch; tokens a second and the time of a
fixed set of requests. A gain in another is no gain here: a shorter time to the first token is no
throughput."""


def metrics_of_same_gain(metric: str, kind: WorkloadKind) -> frozenset[str]:
    """The metrics that a gain changes by the same factor, with the metric itself."""
    groups = SAME_GAIN.get(kind, ())
    return next((group for group in groups if metric in group), frozenset({metric}))


TIMES_OF_A_KERNEL = frozenset({"kernel_time", "run_time", "latency"})
"""Names of the time in a table of one kernel: a faster configuration is faster in each."""

OPERATOR_TIME = "operator_time"
"""A gain in the time of one operator, which is a gain of the step only by the operator's share."""

MODELLED_UNITS = {
    "throughput": "tokens/s",
    "step_time": "s",
    "latency": "s",
    "ttft": "s",
    "tpot": "s",
    "peak_memory": "B",
    "energy": "J",
    "power": "W",
}
"""Metrics that the cost model gives, and their units."""

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
    "inter_token_latency": "tpot",
    "itl": "tpot",
    **{f"e2e_latency_{end}": f"latency_{end}" for end in PERCENTILES},
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
    "输出吞吐": "throughput",
    "输出吞吐量": "throughput",
    "时延": "latency",
    "延迟": "latency",
    "单步时间": "step_time",
    "步时": "step_time",
    "单步耗时": "step_time",
    "运行时间": "run_time",
    "首token时延": "ttft",
    "首字时延": "ttft",
    "首token延迟": "ttft",
    "每token时延": "tpot",
    "每token延迟": "tpot",
    "增量时延": "tpot",
    "能耗": "energy",
    "碳排放": "carbon",
    "功耗": "power",
    "内存": "peak_memory",
    "显存": "peak_memory",
    "峰值内存": "peak_memory",
    "峰值显存": "peak_memory",
    "精度损失": "accuracy_loss",
}


def canonical_metric(name: str, kind: WorkloadKind) -> str:
    """Return the canonical name of a metric; a bare ``time`` of a kernel is its kernel time.

    Example:
        >>> canonical_metric("P99 latency", WorkloadKind.SERVING)
        'latency_p99'
    """
    lowered = name.strip().lower().replace(" ", "_").replace("-", "_")
    end, _, time = lowered.partition("_")
    if end in PERCENTILES:
        lowered = f"{_ALIASES.get(time, time)}_{end}"
    if kind is WorkloadKind.KERNEL and _ALIASES.get(lowered) == "run_time":
        return "kernel_time"
    if lowered in METRICS:
        return lowered
    return _ALIASES.get(lowered, name.strip())


@dataclass(frozen=True, slots=True)
class MetricWords:
    """Meaning of words for a metric.

    Attributes:
        metric: Canonical name.
        inverse: A value of the words is one over the metric's.
    """

    metric: str
    inverse: bool = False


_WORDS: tuple[tuple[str, MetricWords], ...] = (
    (
        (
            r"(decod\w{0,9}|output|generation|token)[ _-]*(speed|rate|throughput)[ _-]*(per|/)[ _-]*"
            r"(request|user)|tok\w{0,9}[ _-]*(per|/)[ _-]*s\w{0,9}[ _-]*(per|/)[ _-]*(user|request)|"
            r"interactivity"
        ),
        MetricWords("tpot", inverse=True),
    ),
    (r"tpot|time[ _-]per[ _-](output[ _-])?token|inter[ _-]token[ _-]latency|\bitl\b", MetricWords("tpot")),
    (r"ttft|time[ _-]to[ _-](the[ _-])?first[ _-]token", MetricWords("ttft")),
)
"""Words for the metrics of one request; its speed is one over the time of a token."""


def metric_of_words(text: str) -> MetricWords | None:
    """The metric of one request that some words describe; None if they describe another.

    Example:
        >>> metric_of_words("decode speed per request (tokens/s)")
        MetricWords(metric='tpot', inverse=True)
    """
    lowered = text.strip().lower()
    return next((meant for pattern, meant in _WORDS if re.search(pattern, lowered)), None)


def is_step_rate(objective: Objective, kind: WorkloadKind) -> bool:
    """Return whether an objective measures the time of a step or its output per second."""
    metric = objective.metric
    return kind in SAME_GAIN and (
        "throughput" in metric
        or metric in {"step_time", "latency", "run_time", "mfu"}
        or (objective.better is Better.HIGHER and metric == "compute_rate")
    )


def priced_as(objective: Objective, kind: WorkloadKind) -> str:
    """The result of a modelled step that an objective asks for, such as ``"tpot"``; empty for none."""
    if is_step_rate(objective, kind):
        return "throughput"
    name, _, end = objective.metric.rpartition("_")
    same = metrics_of_same_gain(name if end in PERCENTILES else objective.metric, kind)
    return next((name for name in ("tpot", "ttft") if name in same), "")
