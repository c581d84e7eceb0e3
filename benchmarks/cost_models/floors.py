"""Floors of whole steps: what a few numbers and known rows say without a cost model.

A roofline times one scale: weights and cache over bandwidth for what decodes, operations over the peak for what
prefills and trains. A constant share of the peak. The nearest known row, scaled by the roofline.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from recommender.cost_model.question import Question
from recommender.cost_model.settings.plans import PHASES, number_of
from recommender.cost_model.workloads.inference import feeds_forward
from recommender.cost_model.workloads.steps import Steps

FLOORS = ("roofline_scaled", "constant_mfu", "nearest_scaled")


@dataclass(frozen=True, slots=True)
class Work:
    """The facts of a question that the floors use.

    Attributes:
        roofline: Value of the metric at the roofline.
        compute: Value of the metric at the peak.
        place: Engine, model, device and metric.
        size: Logs of devices, batch and input length.
    """

    roofline: float
    compute: float
    place: tuple[str, str, str, str]
    size: tuple[float, ...]


def work_of(question: Question, steps: Steps, metric: str, at: int) -> Work:
    """The facts of an estimate that the floors use: memory to read and operations, no time."""
    model, machine = question.model, question.machine
    defaults = PHASES[question.phase]

    def number(name: str) -> float:
        return number_of(name, question.settings.get(name, defaults.get(name, 1)))

    precision = str(question.settings.get("precision", "bf16"))
    peak = machine.device.peak(precision) * machine.count
    place = (question.engine, model.id, machine.device.id, metric)
    routed = model.routed_parameters
    active = (
        model.parameters - routed * (1 - model.chosen / model.experts) if model.experts else model.parameters
    )
    if not model.layers:
        samples = peak / max(model.flops_per_sample, 1.0) / (3 if question.phase == "training" else 1)
        return Work(samples, samples, place, (float(np.log(machine.count)),))
    if question.phase == "training":
        tokens = peak / (6 * active)
        value = number("global_batch") * number("seq_len") / tokens if metric == "step_time" else tokens
        return Work(
            value, value, place, (float(np.log(machine.count)), 0.0, float(np.log(max(number("seq_len"), 1))))
        )
    if feeds_forward(model, question.phase):
        samples = peak / (2 * active * (model.tokens_per_image or number("input_len")))
        return Work(samples, samples, place, (float(np.log(machine.count)),))
    batch, read = number("batch"), steps.memory_bytes["weights"][at] + steps.memory_bytes["kv_cache"][at]
    step_s = read / machine.device.memory_bandwidth
    replicas = number("data_parallel")
    drafted = steps.extra["tokens_per_step"][at]
    prefill = peak / (2 * active)
    fresh = number("input_len") * (1 - number("prefix_hit"))
    produced = number("output_len")
    decode = replicas * batch * drafted / step_s
    values = {
        "throughput": (
            1 / (1 / decode + fresh / produced / prefill), 1 / ((1 + fresh / produced) / prefill)
        ),
        "decode_throughput": (decode, prefill),
        "prefill_throughput": (prefill, prefill),
        "ttft": (fresh * replicas / prefill, fresh * replicas / prefill),
        "tpot": (step_s / drafted, replicas * batch / prefill),
        "step_time": (step_s, replicas * batch / prefill),
    }  # fmt: skip
    roofline, compute = values[metric]
    size = tuple(
        float(np.log(max(value, 1.0))) for value in (machine.count, batch * replicas, number("input_len"))
    )
    return Work(float(roofline), float(compute), place, size)


def floor_values(asked: Work, known: Sequence[tuple[Work, float]]) -> dict[str, float]:
    """The value of each floor, its one number fitted to the known rows; NaN without any."""
    if not known:
        return dict.fromkeys(FLOORS, float("nan"))
    # one number: how much slower than the roofline, whatever the metric counts
    slower = [_sign(work) * np.log(value / work.roofline) for work, value in known]
    busy = [_sign(work) * np.log(value / work.compute) for work, value in known]
    near = min(known, key=lambda row: _distance(asked, row[0]))
    off = _sign(near[0]) * np.log(near[1] / near[0].roofline)
    return {
        "roofline_scaled": asked.roofline * float(np.exp(_sign(asked) * np.median(slower))),
        "constant_mfu": asked.compute * float(np.exp(_sign(asked) * np.median(busy))),
        "nearest_scaled": asked.roofline * float(np.exp(_sign(asked) * off)),
    }


def _sign(work: Work) -> int:
    """1 for rates, -1 for times."""
    return 1 if work.place[-1].endswith("throughput") else -1


def _distance(one: Work, other: Work) -> float:
    """Names that differ count before sizes do."""
    names = sum(a != b for a, b in zip(one.place, other.place, strict=True))
    return 10 * names + sum(abs(a - b) for a, b in zip(one.size, other.size, strict=False))
