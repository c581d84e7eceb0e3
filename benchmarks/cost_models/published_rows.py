"""Published rows of whole models as questions to the cost model, or the reason why a row is none.

Where a layout is not stated, every one that is open is a setting of the question. A chip named without its bin (910B)
is a 24-core part.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from benchmarks.worlds.shipped import NotExpressibleError, ShippedKnowledge
from kg.errors import InputError
from recommender.cost_model.estimate import estimate, sweep
from recommender.cost_model.workloads.inference import feeds_forward

if TYPE_CHECKING:
    from recommender.cost_model.facts.model import ModelSizes
    from recommender.cost_model.question import Machine


def place(row: dict[str, str]) -> tuple[str, str]:
    """Device and server that a row names."""
    text = f"{row['hardware']} {row['chip']}".lower()
    if "310" in row["chip"]:
        return "ascend-310p", "atlas-300i-pro"  # the 310P3 is a bin of it whose peaks nobody states
    if (
        "a3" in row["hardware"].lower().split()
        or "a3 " in text
        or row["chip"] == "910C"
        or "cloudmatrix" in text
    ):
        return "ascend-910c", "atlas-800t-a3"
    if row["chip"] == "910B" or row["hardware"].startswith("A2"):
        return "ascend-910b1", "atlas-800t-a2"
    if row["chip"].startswith("Ascend 910") or row["chip"] == "Ascend910":
        return "ascend-910a", "atlas-800-9000"
    raise NotExpressibleError("chip not stated")


PER_DEVICE = re.compile(r"/(p|npu)$|per card", re.IGNORECASE)


def target(row: dict[str, str]) -> tuple[str, bool]:
    """Which of our results a row measures, and whether per device."""
    metric, unit = row["metric"].lower(), row["unit"].lower()
    if "as published" in unit or "cluster" in unit or "mfu" in metric:
        raise NotExpressibleError("unit not clear")
    if metric.startswith("prefill throughput"):
        return "prefill_throughput", True
    if metric.startswith("decode throughput"):
        return "decode", True
    if metric == "step time" and unit == "ms":
        return "time_ms", False
    if metric.startswith("ttft") and unit == "s":
        return "ttft_s", False
    if metric.startswith("tpot") and unit == "ms":
        return "tpot_ms", False
    if "throughput" in metric and (unit.startswith(("token", "fps", "images", "samples"))):
        return "throughput", bool(PER_DEVICE.search(unit))
    raise NotExpressibleError("metric not modelled")


def number(text: str) -> int:
    found = re.match(r"\d+", text or "")
    return int(found.group()) if found else 0


def training_settings(row: dict[str, str], model: ModelSizes, count: int) -> list[dict[str, object]]:
    precision = "bf16" if "bf16" in row["precision"] else "fp16"
    if not model.layers:
        each = number(row["batch"]) // count if "MLPerf" in row["family"] else number(row["batch"])
        return [{"micro_batch": max(each, 1) if row["batch"] else 64, "precision": precision}]
    length = number(row["seq_in"]) or int(model.tokens_per_image)
    if not length:
        raise NotExpressibleError("sequence length not stated")
    found = {key.lower(): int(value) for key, value in re.findall(r"\b(TP|PP|CP|DP|EP)(\d+)", row["config"])}
    micro = re.search(r"mbs(\d+)", row["config"])
    batch = re.search(r"gbs(\d+)", row["config"])
    base: dict[str, object] = {"seq_len": length, "precision": precision, "zero_stage": 1, **found}
    if micro:
        base["micro_batch"] = int(micro.group(1))
    total = int(batch.group(1)) if batch else number(row["batch"])
    if found:
        return [{**base, "global_batch": total}] if total else [base]
    axes: dict[str, list[object]] = {
        "tensor_parallel": [t for t in (1, 2, 4, 8) if t <= count],
        "pipeline_parallel": [p for p in (1, 2, 4, 8) if p <= count],
        "recompute": ["none", "full"],
        "expert_parallel": [1, 8] if model.experts else [1],
    }
    return [{**one, "global_batch": total or 16 * count} for one in sweep(base, axes)]


def serving_settings(row: dict[str, str], count: int) -> list[dict[str, object]]:
    given = json.loads(row["config"]) if row["config"].startswith("{") else {}
    precision = "int8" if re.search("w8a8|int8", row["precision"] + row["model"], re.IGNORECASE) else "bf16"
    if re.search("w4a16|w4a8", row["precision"] + row["model"], re.IGNORECASE):
        precision = "w4a16" if "w4a16" in (row["precision"] + row["model"]).lower() else "w4a8"
    replicas = int(given.get("dp", 0)) or (count // int(given["tp"]) if given.get("tp") else 0)
    expert = re.search(r"EP(\d+)", row["config"])
    if not replicas and not expert:
        raise NotExpressibleError("layout not stated")
    if expert:
        replicas = count
    dies = 2 if row["hardware"] == "CloudMatrix384" else 1  # its rows count cards of two dies
    running = max(number(row["batch"]) // (dies if expert else replicas), 1)
    running = min(running, int(given.get("max_num_seqs", running)))
    one: dict[str, object] = {
        "data_parallel": replicas, "batch": running, "input_len": number(row["seq_in"]) or 1024,
        "output_len": max(number(row["seq_out"]), 1), "precision": precision,
        "expert_parallel": count if given.get("ep") or expert else 1,
    }  # fmt: skip
    if "prefill" in row["config"]:
        one["prefill_batch"] = 4 if "16384 tokens" in row["batch"] else 1  # of 4096 tokens each
        one["batch"] = 1
    if given.get("spec"):
        one["speculative_tokens"] = number(str(given["spec"])) or 1
    if "MTP1" in row["config"]:
        one["speculative_tokens"] = 1
    if given.get("max_batched"):
        one["chunk"] = int(given["max_batched"])
    return [one]


def inference_settings(row: dict[str, str]) -> list[dict[str, object]]:
    """One batch of a network that answers in one pass; images arrive and leave channel first."""
    if not number(row["batch"]):
        raise NotExpressibleError("batch of an inference not stated")
    precision = "int8" if "int8" in row["precision"].lower() else "fp16"
    return [{"batch": number(row["batch"]), "precision": precision}]


def devices_of(row: dict[str, str]) -> int:
    count = number(row["n_devices"])
    if not count and row["config"].startswith("{"):
        given = json.loads(row["config"])
        count = int(given.get("tp", 0)) * int(given.get("dp", 1))
    if not count and "800T A2" in row["hardware"] and PER_DEVICE.search(row["unit"].lower()):
        return 8  # figures per device of a server of eight
    if not count:
        raise NotExpressibleError("device count not stated")
    return count * 2 if row["hardware"] == "CloudMatrix384" else count  # its rows count cards of two dies


@dataclass(frozen=True, slots=True)
class PublishedQuestion:
    """A published row as the cost model is asked about it.

    Attributes:
        row: The row.
        model: Its model.
        machine: Its devices.
        phase: ``training`` or ``serving``.
        settings: Every setting that the row leaves open; the fastest that fits is meant.
        quantity: Which result the row's value is (:func:`target`).
        shares: Among how many devices or cards the value is divided: 1 for a value of all of them.
        engine: Engine or framework as people write it, without its version.
        version: Its version; empty if not stated.
    """

    row: dict[str, str]
    model: ModelSizes
    machine: Machine
    phase: str
    settings: list[dict[str, object]]
    quantity: str
    shares: float
    engine: str
    version: str

    @property
    def family(self) -> str:
        """Kind of model and phase, as figures are listed."""
        return f"{self.row['family'].split('/')[0]}, {self.phase}"

    @property
    def is_language_model(self) -> bool:
        """Whether the row is one of a language model, dense or with experts."""
        return self.row["family"].startswith("LLM")

    @property
    def value(self) -> float:
        """What was measured."""
        return float(self.row["value"])


def engine_of(row: dict[str, str]) -> tuple[str, str]:
    """Engine that a row names, and its version; empty where it states none."""
    words = row["framework"].split()
    if not words:
        return "", ""
    version = next((word for word in words[1:] if word == "nightly" or re.match(r"v?\d", word)), "")
    return words[0].lower(), version


def question_of(row: dict[str, str], known: ShippedKnowledge) -> PublishedQuestion:
    """The question that a row answers.

    Raises:
        NotExpressibleError: What it leaves out.
        MissingFactError: A fact that is not known.
    """
    quantity, per_device = target(row)
    device, server = place(row)
    model = known.model(row["model"])
    phase = "training" if row["task"] == "train" else "serving"
    count = devices_of(row)
    where = known.machine(device, count, server)
    if phase == "training":
        settings = training_settings(row, model, count)
    elif feeds_forward(model):
        settings = inference_settings(row)
    else:
        settings = serving_settings(row, count)
    valid: list[dict[str, object]] = []
    for one in settings:
        try:
            estimate(model=model, machine=where, phase=phase, settings=[one])
        except InputError as refused:
            reason = str(refused)
            continue
        valid.append(one)
    if not valid:
        raise NotExpressibleError(f"refused: {reason.split(' (', maxsplit=1)[0]}")
    shares = (count / 2 if row["hardware"] == "CloudMatrix384" else float(count)) if per_device else 1.0
    return PublishedQuestion(row, model, where, phase, valid, quantity, shares, *engine_of(row))
