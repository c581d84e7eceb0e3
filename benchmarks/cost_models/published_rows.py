"""Published rows of whole models as questions to the cost model, or the reason why a row is none.

Where a layout is not stated, every one that is open is a setting of the question. A chip named without its bin (910B)
is a 24-core part.
"""

import csv
import gzip
import json
import math
import re
from pathlib import Path
from typing import Any

from benchmarks.cost_models.published_cases import question_of_case
from benchmarks.cost_models.published_question import (
    PublishedQuestion,
    down_from,
    engine_of,
    possible,
    priced_format,
)
from benchmarks.cost_models.row_recipes import recipe_of, trained_settings
from benchmarks.worlds.shipped import NotExpressibleError, ShippedKnowledge
from kg.terms.metrics import metric_of_words
from recommender.cost_model.estimate import sweep
from recommender.cost_model.facts.model import ModelSizes
from recommender.cost_model.machine import Machine
from recommender.cost_model.settings.engine_defaults import largest_captured
from recommender.cost_model.workloads.inference import feeds_forward

DIES_OF_A3 = 16


def place(row: dict[str, str]) -> tuple[str, str]:
    """Device and server that a row names."""
    text = f"{row['hardware']} {row['chip']}".lower()
    if "310" in row["chip"]:  # the 310P3 is a bin of it whose peaks nobody states
        return "ascend-310p", "atlas-300i-duo" if row["config"].startswith("{") else "atlas-300i-pro"
    nodes = re.search(r"(\d+) nodes? (\d+) NPU", row["hardware"])
    if nodes and int(nodes.group(2)) // int(nodes.group(1)) == DIES_OF_A3:
        return "ascend-910c", "atlas-800t-a3"
    if "cloudmatrix" in text:
        return "ascend-910c", "cloudmatrix384"
    if (
        "a3" in row["hardware"].lower().split()
        or "a3 " in text
        or "a3/" in text  # of several that are named the first
        or row["chip"] == "910C"
    ):
        return "ascend-910c", "atlas-800t-a3"
    if row["chip"] == "910B" or row["hardware"].startswith("A2"):
        return "ascend-910b1", "atlas-800t-a2"
    if row["chip"].startswith("Ascend 910") or row["chip"] == "Ascend910":
        return "ascend-910a", "atlas-800-9000"
    raise NotExpressibleError("chip not stated")


PER_DEVICE = re.compile(r"/(p|npu)$|per card", re.IGNORECASE)
RATE = re.compile(r"(?<![a-z])(fps|images?|samples?|tokens?)(?![a-z])")
SECONDS = {"ms": 1e-3, "s": 1.0, "us": 1e-6}
MOST_USE = 0.6
"""Share of the peak that training does not pass (Chowdhery et al. 2022 have .57 as the best of their time): where a
unit does not say whether it counts a device, a card of two, a server or the whole job, the largest below it is meant."""


def target(row: dict[str, str]) -> tuple[str, bool]:
    """The result of ours that a row measures, and True if it is per device."""
    metric, unit = row["metric"].lower(), row["unit"].lower()
    if metric.startswith("time_to_train"):
        raise NotExpressibleError("steps until the quality is reached are not stated")
    if "profiler" in metric:
        raise NotExpressibleError("a part of a step, from a profiler")
    if metric.startswith("mfu"):
        return "throughput", False
    if metric.startswith("prefill throughput"):
        return "prefill_throughput", True
    if metric.startswith("decode throughput"):
        return "decode", True
    if metric == "step time" and unit == "ms":
        return "time_ms", False
    if (meant := metric_of_words(metric)) is not None:
        return ("ttft_s" if meant.metric == "ttft" else "tpot_ms"), False
    if "throughput" in metric and RATE.search(unit):
        return "throughput", bool(PER_DEVICE.search(unit))
    raise NotExpressibleError("metric not modelled")


def number(text: str) -> int:
    found = re.match(r"\d+", text or "")
    return int(found.group()) if found else 0


def training_settings(row: dict[str, str], model: ModelSizes, count: int) -> list[dict[str, object]]:
    """Every layout of training that the row leaves open."""
    precision = "bf16" if "bf16" in row["precision"] else "fp16"
    if not model.layers:
        each = number(row["batch"]) // count if "MLPerf" in row["family"] else number(row["batch"])
        return [{"micro_batch": max(each, 1) if row["batch"] else 64, "precision": precision}]
    length = number(row["seq_in"]) or int(model.tokens_per_image) or USUAL_LENGTH
    sizes = {key.lower(): int(value) for key, value in re.findall(r"\b(TP|PP|CP|DP|EP)(\d+)", row["config"])}
    micro = re.search(r"mbs(\d+)", row["config"])
    batch = re.search(r"gbs(\d+)", row["config"])
    base: dict[str, object] = {"seq_len": length, "precision": precision, "zero_stage": 1, **sizes}
    if micro or model.tokens_per_image:  # as of networks
        base["micro_batch"] = int(micro.group(1)) if micro else 64
    total = int(batch.group(1)) if batch else number(row["batch"])
    if sizes:
        return [{**base, "recompute": kept, **({"global_batch": total} if total else {})}
                for kept in ("none", "full")]  # fmt: skip
    powers = [2**power for power in range(7) if 2**power <= count]
    axes: dict[str, list[object]] = {
        "tensor_parallel": list(powers[:5]),
        "pipeline_parallel": list(powers[:5]),
        "context_parallel": list(powers) if length > LONG else [1],
        "recompute": ["none", "full"],
        "expert_parallel": [1, 8, 16, 32] if model.experts else [1],
    }
    return [
        {**one, "global_batch": total or max(16, int(str(base.get("micro_batch", 1)))) * count}
        for one in sweep(base, axes)
    ]


USUAL_LENGTH = 4096
LONG = 32768
"""Tokens from which context parallelism is open where no layout is stated."""


def serving_settings(
    row: dict[str, str], model: ModelSizes, count: int, weights: str
) -> list[dict[str, object]]:
    """Every layout of serving that the row leaves open, and batches down to what the memory may hold at once."""
    given = json.loads(row["config"]) if row["config"].startswith("{") else {}
    by_recipe = recipe_of(row)
    given |= dict(by_recipe.stated) if by_recipe else {}
    named = row["precision"] + row["model"]
    words = {
        key.lower(): int(value)
        for key, value in re.findall(r"\b(tp|dp|pp|ep)(\d+)", row["config"], re.IGNORECASE)
    }
    words |= {key: int(given[key]) for key in ("tp", "dp", "pp") if given.get(key)}
    if model.causal and row["metric"] == "throughput" and not row["seq_out"]:
        raise NotExpressibleError("output length not stated")
    if not (number(row["seq_in"]) or model.causal):
        raise NotExpressibleError("sequence length not stated")
    running = number(row["batch"]) or 1
    expert = count if model.experts and (given.get("ep") or "ep" in words or "tp" not in words) else 1
    if "tp" in words or "dp" in words:
        stages = words.get("pp", 1)
        replicas = [words.get("dp") or count // (words["tp"] * stages)]
    else:
        # experts over more devices than attention: every device has its own requests
        stages, every = 1, [count // 2**power for power in range(8) if count % 2**power == 0]
        replicas = [count] if "ep" in words else [copies for copies in every if copies <= max(running, 1)]
        if row["framework"].startswith("vllm") and not given and "ep" not in words:
            replicas = [1]  # one engine, unless it is told of more
    limit = re.search(r"max-num-seqs (\d+)", row["config"])
    given |= {"max_num_seqs": int(limit.group(1))} if limit else {}
    if limit and "queueing" in row["config"]:  # requests wait: the copies together run fewer
        replicas = [copies for copies in replicas if copies * int(limit.group(1)) < running]
    dies = 2 if row["hardware"] == "CloudMatrix384" else 1  # its rows count cards of two dies
    found = []
    for copies in replicas:
        each = math.ceil(running / (dies if "ep" in words else copies))
        each = min(each, int(given.get("max_num_seqs", each)))
        one: dict[str, object] = {
            "data_parallel": copies, "pipeline_parallel": stages, "input_len": number(row["seq_in"]) or 1024,
            "concurrency": number(row["batch"]) if row["batch"].isdigit() else 0,
            "output_len": max(number(row["seq_out"]), 1), "precision": weights,
            "expert_parallel": max(expert, words.get("ep", 1)) if model.experts else 1,
        }  # fmt: skip
        if "prefill" in row["config"]:
            one["prefill_batch"] = 4 if "16384 tokens" in row["batch"] else 1  # of 4096 tokens each
            each = 1
        if given.get("spec"):
            one["speculative_tokens"] = number(str(given["spec"])) or 1
        if "MTP1" in row["config"]:
            one["speculative_tokens"] = 1
        if given.get("max_batched"):
            one["chunk"] = int(given["max_batched"])
        if "a8c8" in named.lower():  # keys and values in 8 bits, too
            one["precision_cache"] = "int8"
        one |= _manner(row, given)
        if given.get("max_num_seqs"):
            drafted = int(str(one.get("speculative_tokens", 0)))
            rows = largest_captured(*engine_of(row), int(given["max_num_seqs"]), drafted)
            one["captured_rows"] = rows
        engines = count // (words["tp"] * stages) if "tp" in words else copies
        if given.get("pd") and engines > copies:
            one |= {"data_parallel": engines, "prefill_engines": engines - copies, "separation": "separate"}
        elif given.get("pd") and not words and not by_recipe:
            if copies % 2:
                continue
            # apart, nobody says how: half of the engines prefill
            one |= {"prefill_engines": copies // 2, "separation": "separate", "expert_parallel": count // 2}
            each = math.ceil(running / (copies // 2))
        one |= by_recipe.settings if by_recipe else {}
        # an engine lets in what its cache holds; the rest waits
        found += [{**one, "batch": batch} for batch in down_from(each)]
    return found


def _manner(row: dict[str, str], given: dict[str, object]) -> dict[str, object]:
    """The manner of a row's run: cached share of its input, captured or not, prefill elsewhere or not."""
    held = re.search(r"prefix_?(\d+)", row["source"])
    manner: dict[str, object] = {"prefix_hit": int(held.group(1)) / 100} if held else {}
    # an engine that prefills may run eagerly beside one that decodes from a graph
    if given.get("eager") and not given.get("graph"):
        manner["graph"] = 0
    return manner


def inference_settings(row: dict[str, str], model: ModelSizes) -> list[dict[str, object]]:
    """One batch of a network that answers in one pass; images arrive and leave channel first."""
    if not number(row["batch"]):
        raise NotExpressibleError("batch of an inference not stated")
    precision = "int8" if "int8" in row["precision"].lower() else "fp16"
    settings: dict[str, object] = {"batch": number(row["batch"]), "precision": precision}
    if model.encodes:
        settings["input_len"] = number(row["seq_in"])
        if not settings["input_len"]:
            raise NotExpressibleError("length of a text not stated")
    return [settings]


THOUSAND, KIBI = 1000, 1024


def devices_of(row: dict[str, str]) -> list[int]:
    """Numbers of devices that a row states; where it states none, all that a job may have, fewest first.

    Thousands are round numbers: where no layout divides them, the 1,024s are meant ("6K NPUs" are 6,144 in groups of
    128; "8K" of the same publisher are 8,192, arXiv:2504.07866).
    """
    if found := recipe_of(row):
        return [found.devices]
    count = number(row["n_devices"])
    if not count and row["config"].startswith("{"):
        given = json.loads(row["config"])
        count = int(given.get("tp", 0)) * int(given.get("dp", 1))
    if not count:
        least = 8 if row["task"] == "train" else 1  # training is published by servers of eight
        least = DIES_OF_A3 if re.match(r"Atlas \d+T A3$", row["hardware"]) else least  # a server is named
        return [2**power for power in range(10) if 2**power >= least]
    if count >= THOUSAND and count % THOUSAND == 0:
        return [count, count // THOUSAND * KIBI]
    return [count * 2 if row["hardware"] == "CloudMatrix384" else count]  # its rows count cards of two dies


def read_rows(path: Path) -> list[dict[str, str]]:
    """Published rows of a table (``.csv``), or of a file of cases (``.jsonl.gz``), each with its JSON beside."""
    if path.name.endswith(".jsonl.gz"):
        with gzip.open(path, "rt", encoding="utf-8") as lines:
            return [case_row(json.loads(line), line) for line in lines]
    with path.open(encoding="utf-8", newline="") as stream:
        return list(csv.DictReader(stream))


def case_row(case: dict[str, Any], line: str) -> dict[str, str]:
    """A case as a row with the columns that figures are grouped by; ``case`` holds all of it."""
    task, place = case["task"], case["hardware"]
    framework = f"{case['config'].get('framework', '')} {case['source'].get('framework_version', '')}".strip()
    return {
        "id": case["case_id"], "model": task.get("model", ""), "family": f"LLM/{case['corpus']}",
        "task": "train" if task["kind"] == "training" else "infer", "hardware": place["name"],
        "chip": place["name"], "framework": framework, "precision": task.get("dtype", ""),
        "metric": case["outcome"]["metric"], "unit": case["outcome"]["unit"], "group": case["group_id"],
        "value": str(case["outcome"].get("value") or ""), "source": case["corpus"], "case": line,
        "n_devices": str(case["config"].get("num_gpus", place.get("count", ""))), "config": "", "batch": "",
        "seq_in": "", "seq_out": "",
    }  # fmt: skip


def question_of(row: dict[str, str], known: ShippedKnowledge) -> PublishedQuestion:
    """The question that a row answers.

    Raises:
        NotExpressibleError: What it leaves out.
        MissingFactError: A fact that is not known.
    """
    if row.get("case"):
        return question_of_case(row, known)
    quantity, per_device = target(row)
    device, server = place(row)
    model = known.model(row["model"])
    phase = "training" if row["task"] == "train" else "serving"
    stored = str(known.model_facts(model.id).get("weight_format", "bf16"))
    is_open = " or " in row["precision"]  # "bf16 or as name"
    stored = priced_format(row["model"]) or (not is_open and priced_format(row["precision"])) or stored
    weights = known.machine(device, 1, server).device.computed_precision(stored)
    reason = "no layout"
    is_open = phase == "training" and bool(model.layers) and not re.search(r"TP\d|mbs\d", row["config"])
    layout = dict(trained_settings(row, model.id, server) or {}) if is_open else {}
    for count in [int(str(layout.pop("devices")))] if layout else devices_of(row):
        where = known.machine(device, count, server)
        if layout:
            kept = (layout["recompute"],) if "recompute" in layout else ("none", "selective", "full")
            settings = [{**layout, "recompute": one} for one in kept]
        elif phase == "training":
            settings = training_settings(row, model, count)
        elif feeds_forward(model, phase):
            settings = inference_settings(row, model)
        else:
            settings = serving_settings(row, model, count, weights)
        valid, reason = possible(model, where, phase, settings)
        if valid:
            break
    else:
        raise NotExpressibleError(f"refused: {reason.split(' (', maxsplit=1)[0]}")
    value, shares = reading(row, model, where, valid[0], per_device=per_device)
    return PublishedQuestion(row, model, where, phase, valid, quantity, shares, value, *engine_of(row))


def reading(
    row: dict[str, str], model: ModelSizes, where: Machine, setting: dict[str, object], *, per_device: bool
) -> tuple[float, float]:
    """The value of a row and among how many devices or cards it is divided.

    A share of the peak and operations per second become tokens per second, by the count of operations that
    publications use (Chowdhery et al. 2022, appendix B): 6 a parameter, 12 a layer, width and position.
    """
    stated, unit = float(row["value"]), row["unit"].lower()
    cards = 2.0 if row["hardware"] == "CloudMatrix384" else 1.0
    if (meant := metric_of_words(row["metric"])) is not None:
        seconds = 1 / stated if meant.inverse else stated * SECONDS.get(unit, 1.0)
        return seconds if meant.metric == "ttft" else seconds * 1e3, 1.0
    if row["task"] != "train" or not model.layers:
        return stated, where.count / cards if per_device else 1.0
    routed = model.routed_parameters
    active = model.parameters - routed * (1 - model.chosen / model.experts) if routed else model.parameters
    length = float(setting["seq_len"])  # type: ignore[arg-type]
    work = 6 * active + 12 * model.layers * model.hidden * length
    peak = where.device.peak(str(setting["precision"]))
    if unit == "%":
        return stated / 100 * peak * where.count / work, 1.0
    if unit.startswith("tflop"):
        return stated * 1e12 * where.count / work, 1.0
    if not unit.startswith("token"):  # samples, of a stated length
        if not (row["seq_in"] or model.tokens_per_image):
            raise NotExpressibleError("length of a text not stated")
        stated *= length
    if "as published" not in unit:
        return stated, float(where.count) if per_device else 1.0
    nodes = int(where.network.per_node)
    usual = [
        float(parts)
        for parts in dict.fromkeys((where.count, where.count // 2, max(where.count // nodes, 1), 1))
        if stated * parts * work / (peak * where.count) <= MOST_USE
    ]
    if not usual:
        raise NotExpressibleError("unit not clear: of a device or of all")
    return stated, usual[0]
