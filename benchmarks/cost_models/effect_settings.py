"""Published tuning effects as two settings of the cost model each: before, and after.

A row of ``tuning_effects.csv`` (columns ``model``, ``family``, ``hardware``, ``n_devices``, ``task``,
``strategy``, ``config_change``, ``metric``, ``gain_percent``, ``direction``) is expressible where the cost
model has a setting for its strategy and facts of its model and hardware are known. What a row leaves out
is filled by a stand-in that is named. Rules look at words, never at single rows.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from benchmarks.worlds.shipped import A2, A3, NotExpressibleError, ShippedKnowledge
from kg.errors import InputError, MissingFactError
from recommender.cost_model.estimate import estimate, sweep

if TYPE_CHECKING:
    from collections.abc import Callable

    from recommender.cost_model.facts.model import ModelSizes
    from recommender.cost_model.question import Machine
    from recommender.cost_model.workloads.steps import Steps

Row = dict[str, str]
Settings = dict[str, object]

STAND_INS = {"LLM": "llama-2-7b", "LLM dense": "llama-2-7b", "SSM": "llama-2-7b", "LLM MoE": "qwen3-30b-a3b"}
"""Model that stands for one that is not named or has no known sizes, by family."""

NO_SETTING = (
    ("automated-pipeline|noop-layers|bucket-group", "no setting: which layers or gradients go where is fixed"),
    ("2d tensor|fused compute-comm|fuse.* on 2d", "no setting: tensor parallelism in two dimensions"),
    ("ulysses", "no setting: context parallelism is a ring"),
    ("rms.?norm.*quant|aicpu|op lat|op time", "an operator alone, outside a step"),
    ("compress|o2 bf16|matmul-add|chunkmbs|redundant cast|gmm dw", "no setting: that part of the step is one"),
    ("data balance|pad data|intra-decoder|balance scheduling|moe_tp|extends ep", "no setting: imbalance of data and ranks"),
    ("cpu binding|async|bubble|non-blocking|cpu cache|redundant ops|host|connector", "no setting: host work of a step is one constant"),
    ("prefetch", "no setting: weights always come from memory"),
    (r"\bnz\b|fractal|conv as", "no setting: formats of weights and cache"),
    ("dbo|dual-batch|microbatch|multistream|overlap in sharded|dynamic chunk", "no setting: overlap of batches or streams in serving"),
    ("mm_all_reduce|all_to_all_single|lm-head|shared-expert dp|o_proj", "no setting: tensor communication of one product in serving"),
)  # fmt: skip
"""Why a strategy has no setting, by words of the row."""


@dataclass(frozen=True, slots=True)
class Comparison:
    """A published change as the cost model sees it.

    Attributes:
        row: Where it is from.
        predicted: Gain in per cent, as the row defines it; positive is better.
        published: Gain in per cent.
        stand_ins: What the row leaves out and what stands for it.
        steps: Costs before and after.
    """

    row: Row
    predicted: float
    published: float
    stand_ins: tuple[str, ...]
    steps: Steps


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
    before, after = _change(row, phase)
    metric = _metric(row)
    model, stand_ins = _model(row, known)
    where, missing = _place(row, known)
    stand_ins += missing
    base, more = _base(row, phase, model, where, before)
    stand_ins += more
    steps = estimate(
        model=model, machine=where, phase=phase, settings=[{**base, **before}, {**base, **before, **after}]
    )
    old, new = _values(steps, metric)
    higher = row["direction"].startswith("higher") and metric not in {
        "memory",
        "ttft_s",
        "tpot_s",
        "prefill_s",
    }
    gain = new / old - 1 if higher else 1 - new / old
    return Comparison(row, 100 * gain, float(row["gain_percent"]), tuple(stand_ins), steps)


def _change(row: Row, phase: str) -> tuple[Settings, Settings]:
    text = f"{row['strategy']} {row['config_change']}".lower()
    if row["family"] == "operator" or row["metric"].startswith("op "):
        raise NotExpressibleError("an operator alone, outside a step")
    for pattern, change in (TRAINING if phase == "training" else SERVING).items():
        if re.search(pattern, text):
            return change(text)
    for pattern, reason in NO_SETTING:
        if re.search(pattern, f"{text} {row['bottleneck']}".lower()):
            raise NotExpressibleError(reason)
    raise NotExpressibleError("no setting for the strategy")


def _switch(name: str) -> Callable[[str], tuple[Settings, Settings]]:
    return lambda _: ({name: 0}, {name: 1})


def _layouts(text: str) -> tuple[Settings, Settings]:
    """``TP4CP1+full recompute -> TP4CP2, 32K`` as two settings."""
    left, arrow, right = text.partition("->")
    if not arrow:
        raise NotExpressibleError("layout not stated")
    sides: list[Settings] = [
        {name: int(value) for name, value in re.findall(r"(tp|pp|cp|ep)(\d+)", side)}
        for side in (left, right)
    ]
    names = {name for side in sides for name in side}
    if sides[0] == sides[1] or not all(sides):
        raise NotExpressibleError("layout not stated")
    before, after = ({name: side.get(name, 1) for name in names} for side in sides)
    if "full recompute" in left:
        before["recompute"], after["recompute"] = "full", "none"
    if "swap" in text:
        after["offload"] = "activations"
    return before, after


def _offload(text: str) -> tuple[Settings, Settings]:
    if "skip" not in text:
        raise NotExpressibleError("micro-batch before and after not stated")
    return {"recompute": "full"}, {"recompute": "none", "offload": "activations"}


def _grouped(text: str) -> tuple[Settings, Settings]:
    sizes = {name: int(value) for name, value in re.findall(r"\b(tp|ep)(\d+)", text)}
    return {"grouped_matmul": 0, "tp": 4, "ep": 2, **sizes}, {"grouped_matmul": 1}


def _prefix(text: str) -> tuple[Settings, Settings]:
    hit = re.search(r"hit rate (0\.\d+)|(\d+) ?% reuse", text)
    if hit is None:
        raise NotExpressibleError("share of reused tokens not stated")
    share = float(hit.group(1)) if hit.group(1) else float(hit.group(2)) / 100
    return {"prefix_hit": 0.0, "output_len": 1}, {"prefix_hit": share}


def _speculative(text: str) -> tuple[Settings, Settings]:
    running = re.search(r"concurrency (\d+)", text)
    if running is None:
        raise NotExpressibleError("concurrency not stated")
    return {"batch": int(running.group(1)), "output_len": 512}, {"speculative_tokens": 3, "acceptance": 0.5}


def _flashcomm(text: str) -> tuple[Settings, Settings]:
    tokens = re.search(r"(\d+) tokens", text)
    if tokens is None:
        raise NotExpressibleError("tokens not stated")
    return {"input_len": int(tokens.group(1)), "output_len": 1, "sequence_parallel": 0}, {
        "sequence_parallel": 1
    }


def _chunk(text: str) -> tuple[Settings, Settings]:
    sizes = re.search(r"(\d+) -> (\d+)", text)
    if sizes is None:
        raise NotExpressibleError("token budget not stated")
    return {"chunk": int(sizes.group(1)), "input_len": 131072}, {"chunk": int(sizes.group(2))}


TRAINING: dict[str, Callable[[str], tuple[Settings, Settings]]] = {
    "overlap.grad": _switch("overlap_gradients"),
    "^flash attention|use-flash-attn": _switch("flash_attention"),
    "grouped matmul": _grouped,
    "fused (rmsnorm|swiglu|rotary)": _switch("fused_ops"),
    "activation offload": _offload,
    "ulysses|2d": lambda _: _refused("no setting: context and tensor parallelism of other kinds"),
    "context parallel|smart swap": _layouts,
}  # fmt: skip
SERVING: dict[str, Callable[[str], tuple[Settings, Settings]]] = {
    "speculative decoding": _speculative,
    "flashcomm": _flashcomm,
    "expert parallel off": lambda _: ({"ep": "all", "precision": "int8"}, {"ep": 1}),
    "prefix cache|context cache": _prefix,
    "full graph": _switch("graph"),
    "fuse groupedmatmul": _switch("fused_ops"),
    "max_num_batched_tokens": _chunk,
}
"""Words of a row and the settings they stand for. A switch of fused operators fuses norm, rotary and
activation at once; a draft is taken as three tokens accepted with chance one half."""


def _refused(reason: str) -> tuple[Settings, Settings]:
    raise NotExpressibleError(reason)


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
    if row["n_devices"]:
        count = int(row["n_devices"])
    else:
        stand_ins.append(f"devices: {count}")
    return known.machine(device, count, server), stand_ins


def _base(
    row: Row, phase: str, model: ModelSizes, where: Machine, before: Settings
) -> tuple[Settings, list[str]]:
    """What the row does not change: lengths, and the fastest layout that fits where none is stated."""
    text = f"{row['model']} {row['config_change']}"
    length = re.search(r"\b(\d+) ?[kK]\b", text)
    usual = 32768 if "long sequence" in text else 4096
    tokens = 1024 * int(length.group(1)) if length else usual
    count = where.count
    if phase == "serving":
        layout = {name: int(value) for name, value in re.findall(r"(?<![a-z_])(tp|dp)(\d+)", text.lower())}
        replicas = layout.get("dp", count // layout["tp"] if "tp" in layout else 1)
        running = re.search(r"\bbs ?(\d+)", text)
        base: Settings = {
            "dp": replicas,
            "batch": int(running.group(1)) if running else 8,
            "input_len": tokens,
        }
        if "moe_ep" in text:
            base["ep"] = count
        if re.search("w8a8", row["model"], re.IGNORECASE):
            base["precision"] = "int8"
        if before.get("ep") == "all":
            before["ep"] = count
        return base, ["batch: 8"] if not (running or "batch" in before or "prefix_hit" in before) else []
    base = {"seq_len": tokens, "zero_stage": 1}
    stated = {"tp", "pp", "cp"} & set(before)
    if stated:
        return {**base, "global_batch": 16 * count}, []
    axes: dict[str, list[object]] = {
        "tp": [t for t in (1, 2, 4, 8) if t <= count],
        "pp": [p for p in (1, 2, 4, 8) if p <= count],
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
        ("prefill time", "prefill_s"),
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
