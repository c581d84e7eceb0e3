"""Published tuning effects as two settings of the cost model each: before, and after.

A row of ``tuning_effects.csv`` (columns ``model``, ``family``, ``hardware``, ``n_devices``, ``task``,
``strategy``, ``config_change``, ``metric``, ``gain_percent``, ``direction``) is expressible where the cost
model has a setting for its strategy and facts of its model and hardware are known. What a row leaves out
is filled by a stand-in that is named. A change without a setting removes half of the part of the step that its
``bottleneck`` names.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, replace

import numpy as np

from benchmarks.cost_models.effect_changes import SIZES, Row, Settings, settings_of
from benchmarks.worlds.shipped import A2, A3, NotExpressibleError, ShippedKnowledge, expressible
from kg.errors import InputError, MissingFactError
from recommender.cost_model.estimate import estimate, sweep
from recommender.cost_model.facts.model import ModelSizes
from recommender.cost_model.machine import Machine
from recommender.cost_model.workloads.steps import Steps

STAND_INS = {
    "LLM": "llama-2-7b", "LLM dense": "llama-2-7b", "SSM": "llama-2-7b", "LLM MoE": "qwen3-30b-a3b",
    "VLM": "qwen3-8b", "VLM MoE": "qwen3-30b-a3b", "LLM + rejection sampler": "qwen3-32b",
}  # fmt: skip
"""Model that stands for one that is not named or has no known sizes, by family."""

PARTS: dict[str, tuple[str, ...]] = {
    "communication": ("communication_exposed",), "memory bandwidth": ("memory",), "weight bandwidth": ("memory",),
    "data format": ("memory",), "memory copies": ("memory",), "duplicate prefetch": ("memory",),
    "kernel launch": ("scheduling", "host"), "host dispatch": ("host",), "host-device synchronisation": ("host",),
    "pipeline bubble": ("bubble",), "pipeline imbalance": ("bubble",), "load imbalance": ("synchronisation",),
    "scheduling": ("stalled",), "kernel efficiency": ("compute",), "attention kernel": ("compute",),
    "vector compute": ("compute",), "compute": ("compute",), "multi-stream": ("communication_exposed",),
    "data padding": ("compute",), "kv transfer host overhead": ("host",),
}  # fmt: skip
"""The part of a step that a bottleneck is, by the kind that stands before its brackets."""

REMOVED = 0.5
"""Share of its bottleneck that a change without a setting removes where nothing was published of such: the middle."""

OTHERS = 3.0
"""Published changes of the same part that weigh as much as all of other parts together."""


def compare_all(rows: list[Row], known: ShippedKnowledge) -> tuple[list[Comparison], dict[str, list[Row]]]:
    """Comparisons of the rows that can be expressed, and the others by the reason.

    What a change without a setting removes of its part is what those of other documents removed.
    """
    pairs, refused = expressible(rows, lambda row: compare(row, known))
    found = [one for _, one in pairs]
    bare = [one for one in found if one.part]
    return [_with_removed(one, bare) if one.part else one for one in found], refused


def _with_removed(one: Comparison, bare: list[Comparison]) -> Comparison:
    """The comparison with the share of its part that changes of other documents removed."""
    mine = document(one.row)
    others = [
        (other.part, min(-float(np.expm1(-other.log_gains[1])) / other.share, 1.0))
        for other in bare
        if document(other.row) != mine
    ]
    alike = [removed for part, removed in others if part == one.part]
    general = float(np.median([removed for _, removed in others])) if others else REMOVED
    weight = len(alike) / (len(alike) + OTHERS)
    removed = weight * float(np.median(alike)) + (1 - weight) * general if alike else general
    kept = 1 - removed * one.share
    gain = 1 / kept - 1 if one.is_higher_better else 1 - kept
    return replace(one, predicted=100 * gain)


def document(row: Row) -> str:
    """The document where a row is published, without the place on the page."""
    return re.sub(r"(\.md).*", r"\1", row["source"])


@dataclass(frozen=True, slots=True)
class Comparison:
    """A published change as the cost model sees it.

    Attributes:
        row: Where it is from.
        predicted: Gain in per cent, as the row defines it; positive is better.
        published: Gain in per cent.
        stand_ins: What the row leaves out and what stands for it.
        steps: Costs before and after.
        part: The part of the step that the change acts on, where it sets nothing; else empty.
        share: Share of the time that this part is.
    """

    row: Row
    predicted: float
    published: float
    stand_ins: tuple[str, ...]
    steps: Steps
    part: str = ""
    share: float = 0.0

    @property
    def is_higher_better(self) -> bool:
        """True if the published gain is over the old value, and not of it."""
        return self.row["direction"].startswith("higher")

    @property
    def log_gains(self) -> tuple[float, float]:
        """Log of what is predicted and of what is published, as factors of speed or of memory saved."""
        sign = 1 if self.is_higher_better else -1
        first, second = (
            sign * float(np.log1p(sign * min(gain, 99.0 if sign < 0 else gain) / 100))
            for gain in (self.predicted, self.published)
        )
        return first, second


def compare(row: Row, known: ShippedKnowledge) -> Comparison:
    """Predicted and published gain of a row.

    Raises:
        NotExpressibleError: The cost model has no setting for it, or the row says too little.
        MissingFactError: A fact is not known.
        InputError: The cost model refuses the layout.
    """
    if not row["gain_percent"].strip():
        raise NotExpressibleError("no gain stated")
    phase = "training" if row["task"] == "train" else "serving"
    before, after = settings_of(row, phase)
    metric = _metric(row)
    model, stand_ins = _model(row, known)
    where, missing = _place(row, known)
    stand_ins += missing
    base, more = _base(row, phase, model, where, before)
    stand_ins += more
    if not after:
        return _by_bottleneck(row, metric, phase, model, where, base, stand_ins)
    steps = estimate(
        model=model, machine=where, phase=phase, settings=[{**base, **before}, {**base, **before, **after}]
    )
    return _compared(row, metric, *_values(steps, metric), tuple(stand_ins), steps)


def _compared(
    row: Row, metric: str, old: float, new: float, stand_ins: tuple[str, ...], steps: Steps
) -> Comparison:
    of_cost = {"memory", "ttft_s", "tpot_s", "prefill_s"}
    higher = row["direction"].startswith("higher") and metric not in of_cost
    ratio = new / old
    kinds = len({name for name in FUSIONS if name in f"{row['config_change']} {row['strategy']}".lower()})
    if kinds and "fused" in row["strategy"].lower():
        ratio **= kinds / len(FUSIONS)  # the setting fuses all of them at once
    gain = ratio - 1 if higher else 1 - ratio
    return Comparison(row, 100 * gain, float(row["gain_percent"]), stand_ins, steps)


FUSIONS = ("norm", "rot", "swiglu")
"""Norm, rotary embedding and activation: what ``fused_ops`` stands for."""


def _by_bottleneck(
    row: Row,
    metric: str,
    phase: str,
    model: ModelSizes,
    where: Machine,
    base: Settings,
    stand_ins: list[str],
) -> Comparison:
    """A change that sets nothing the cost model has: half of the bottleneck that the row names goes.

    A pass over a prompt is as a decode step of as many rows, so its parts are that step's.
    """
    kind = row["bottleneck"].partition("(")[0].strip().lower()
    if metric == "memory":
        if "activation" not in row["bottleneck"]:
            raise NotExpressibleError("which part of the memory is not stated")
        steps = estimate(model=model, machine=where, phase=phase, settings=[base])
        old = float(steps.memory_total[0])
        new = old - REMOVED * float(steps.memory_bytes["activations"][0])
    else:
        if kind not in PARTS:
            raise NotExpressibleError(f"no setting, and no part of a step is the bottleneck: {kind}")
        if phase == "serving" and metric in {"ttft_s", "prefill_s", "prefill_throughput"}:
            base = {**base, "batch": min(int(str(base["input_len"])), PASS_ROWS), "input_len": 1}
        steps = estimate(model=model, machine=where, phase=phase, settings=[base])
        old = float(steps.time_s[0])
        spent = sum(float(steps.split_s.get(part, np.zeros(1))[0]) for part in PARTS[kind])
        if PARTS[kind] == ("stalled",) and phase == "serving":
            old = float(steps.extra["tpot_s"][0] * steps.extra["tokens_per_step"][0])
            spent = old - float(steps.time_s[0])
        if spent <= 0:
            raise NotExpressibleError(f"no setting, and nothing of the bottleneck in the step: {kind}")
        share = spent / old
        found = _compared(row, metric, old, old - REMOVED * spent, (*stand_ins, f"a share of {kind}"), steps)
        return replace(found, part=PARTS[kind][0], share=share)
    return replace(
        _compared(row, metric, old, new, (*stand_ins, f"half of {kind}"), steps),
        part="memory of activations", share=2 * (1 - new / old),
    )  # fmt: skip


PASS_ROWS = 4096


def _model(row: Row, known: ShippedKnowledge) -> tuple[ModelSizes, list[str]]:
    words = row["model"].split()
    found, stand_ins = None, []
    for end in range(len(words), 0, -1):
        try:
            found = known.model(" ".join(words[:end]).strip("()"))
        except (NotExpressibleError, MissingFactError):
            continue
        break
    if found is None:
        if row["family"] not in STAND_INS:
            raise NotExpressibleError(f"model of an unknown structure ({row['family']})")
        name = "deepseek-v3" if "deepseek" in row["model"].lower() else STAND_INS[row["family"]]
        if row["task"] != "train" and name == "llama-2-7b":
            name = "qwen3-32b"
        found, stand_ins = known.model(name), [f"model: {name}"]
    width = re.search(r"\bffn (\d+)", row["config_change"])
    experts = re.search(r"(\d+) experts", row["config_change"])
    if width:
        # wide experts of a few layers: as many layers as the step's sign needs
        found = replace(found, expert_inner=float(width.group(1)), layers=min(found.layers, 2.0))
    if experts:
        found = replace(found, experts=float(experts.group(1)))
    return found, stand_ins


def _place(row: Row, known: ShippedKnowledge) -> tuple[Machine, list[str]]:
    text = row["hardware"].lower()
    stand_ins: list[str] = []
    if "310" in text:
        device, count, server = "ascend-310p", 1, "atlas-300i-pro"
    elif "a3" in text or "910c" in text or "cloudmatrix" in text:
        device, count, server = A3
    elif "910b" in text or "a2" in text:
        device, count, server = A2
    elif "910" in text:
        device, count, server = "ascend-910a", 8, "atlas-800-9000"
    elif text == "ascend":
        device, count, server = A2
        stand_ins.append(f"hardware: {device}")
    else:
        raise NotExpressibleError("hardware not known")
    sides = (
        math.prod(int(size) for _, size in SIZES.findall(side)) for side in row["config_change"].split("->")
    )
    if row["n_devices"]:
        count = int(row["n_devices"])
    else:
        count = max(count, *sides, 1)
        stand_ins.append(f"devices: {count}")
    return known.machine(device, count, server), stand_ins


def _base(
    row: Row, phase: str, model: ModelSizes, where: Machine, before: Settings
) -> tuple[Settings, list[str]]:
    """Settings that the row does not change: lengths, and the fastest layout that fits unless stated."""
    text = f"{row['model']} {row['config_change']}"
    length = re.search(r"\b(\d+) ?[kK]\b", text)
    usual = 32768 if "long sequence" in text else 4096
    tokens = 1024 * int(length.group(1)) if length else usual
    count = where.count
    half = {} if "peak_bf16_flops" in where.device.facts else {"precision": "fp16"}
    if phase == "serving":
        layout = {name: int(value) for name, value in re.findall(r"(?<![a-z_])(tp|dp)(\d+)", text.lower())}
        split = max(size for size in range(1, count + 1) if not count % size and not model.heads % size)
        replicas = layout.get("dp", max(count // layout["tp"], 1) if "tp" in layout else count // split)
        for name in ("tensor_parallel", "data_parallel"):
            before.pop(name, None)
        running = re.search(r"\bbs ?(\d+)", text)
        usual_batch = 1 if _metric(row) == "ttft_s" else 8  # nothing waits where no load is stated
        base: Settings = {
            "dp": replicas,
            "batch": int(running.group(1)) if running else usual_batch,
            "input_len": tokens,
            **half,
        }
        if "moe_ep" in text:
            base["expert_parallel"] = count
        if re.search("w8a8", row["model"], re.IGNORECASE):
            base["precision"] = "int8"
        if before.get("expert_parallel") == "all":
            before["expert_parallel"] = count
        return base, [f"batch: {usual_batch}"] if not (
            running or "batch" in before or "prefix_hit" in before
        ) else []
    base = {"seq_len": tokens, "zero_stage": 1, **half}
    stated = {"tensor_parallel", "pipeline_parallel", "context_parallel"} & set(before)
    if stated:
        return {**base, "global_batch": 16 * count}, []
    least = {  # what is said to be the bottleneck is there
        name: 2 if any(word in row["bottleneck"] for word in words) else 1
        for name, words in (("tp", ("(TP",)), ("pp", ("pipeline bubble", "pipeline imbalance")))
    }
    axes: dict[str, list[object]] = {
        name: [size for size in (1, 2, 4, 8) if low <= size <= count] for name, low in least.items()
    }
    usable = []
    for one in sweep({**base, "global_batch": 16 * count}, axes):
        try:
            steps = estimate(model=model, machine=where, phase=phase, settings=[{**one, **before}])
        except InputError:
            continue
        usable.append((bool(steps.fits[0]), float(steps.throughput[0]), one))
    if not usable:
        raise NotExpressibleError("no layout that is possible")
    return max(usable, key=lambda item: item[:2])[2], ["layout: the fastest"]


def _metric(row: Row) -> str:
    metric = row["metric"].lower()
    for word, name in (
        ("memory", "memory"), ("ttft", "ttft_s"), ("tpot", "tpot_s"), ("prefill throughput", "prefill_throughput"),
        ("prefill time", "prefill_s"), ("prefill (tok/s)", "prefill_throughput"), ("decode (tok/s)", "throughput"),
        ("duration", "request_s"),
    ):  # fmt: skip
        if word in metric:
            return name
    if "throughput" in metric or "step time" in metric or "tflop" in metric:
        return "throughput" if "step time" not in metric else "time_s"
    raise NotExpressibleError("metric not modelled")


def _values(steps: Steps, metric: str) -> tuple[float, float]:
    values = {
        "throughput": steps.throughput, "time_s": steps.time_s, "memory": steps.memory_total, **steps.extra,
    }[metric]  # fmt: skip
    return float(values[0]), float(values[1])


def balanced(found: list[Comparison]) -> tuple[float | None, int, int]:
    """Mean share of right signs over gains and over losses, and how many of each; None without both."""
    gains = [one.predicted > 0 for one in found if one.published > 0]
    losses = [one.predicted < 0 for one in found if one.published < 0]
    if not gains or not losses:
        return None, len(gains), len(losses)
    return float((np.mean(gains) + np.mean(losses)) / 2), len(gains), len(losses)
