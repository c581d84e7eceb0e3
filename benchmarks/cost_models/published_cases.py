"""Measured cases of GPUs as questions to the cost model: serving by layout and concurrency, training by tables.

A case states its layout, so nothing is open but what an engine lets in at once. Throughput of both input and output
tokens becomes that of output tokens by the lengths.
"""

import json
import re
from collections.abc import Mapping
from typing import Any

from benchmarks.cost_models.published_question import (
    PublishedQuestion,
    down_from,
    engine_of,
    possible,
    priced_format,
)
from benchmarks.worlds.shipped import NotExpressibleError, ShippedKnowledge
from ingest.door.requests import told_requests
from kg.errors import UnknownEntityError
from kg.nouns.values import Value
from recommender.cost_model.facts.model import ModelSizes
from recommender.cost_model.machine import Machine, device_and_server, machine
from recommender.cost_model.settings.dialects import translate


def question_of_case(row: dict[str, str], known: ShippedKnowledge) -> PublishedQuestion:
    """The question that a case answers.

    Raises:
        NotExpressibleError: What it leaves out, or why it is none of a step.
        MissingFactError: A fact that is not known.
    """
    case = json.loads(row["case"])
    task, outcome = case["task"], case["outcome"]
    config: dict[str, Any] = dict(told_requests(task, case["config"], outcome)[0])
    if task["kind"] not in {"serving", "training"}:
        raise NotExpressibleError("a layer alone, outside a step")
    if not row["value"]:
        raise NotExpressibleError("nothing measured")
    if "workload" in task:
        raise NotExpressibleError("requests from a trace, with what its cache holds")
    if config.get("disaggregated"):
        raise NotExpressibleError("prefill and decode apart, each with its layout")
    if outcome["metric"] != "throughput":
        raise NotExpressibleError("metric not modelled")
    count = int(row["n_devices"] or config.get("num_devices") or case["hardware"].get("count") or 1)
    origin = str(case["source"].get("repo", ""))
    count *= DIES.get(origin, {}).get(case["hardware"]["name"], 1)
    model = known.model(row["model"])
    where = device_named(
        DEVICES.get(origin, {}).get(case["hardware"]["name"], case["hardware"]), count, known
    )
    phase = "training" if task["kind"] == "training" else "serving"
    if phase == "training":
        settings = _training(task, config, model)
    else:
        settings = _serving(task, config, model, where)
        if str(case.get("corpus", "")).startswith("inference"):
            settings = [{**one, **_of_scripts(one, config, where)} for one in settings]
    valid, reason = possible(model, where, phase, settings)
    if not valid:
        raise NotExpressibleError(f"refused: {reason.split(' (', maxsplit=1)[0]}")
    value, shares = float(outcome["value"]), float(count) if "/gpu" in outcome["unit"] else 1.0
    lengths = task["shape"]
    both = "input and output" in str(outcome.get("counts", "")) or task["op"] == "llm_generate"
    if phase == "serving" and both:
        value *= lengths["output_len"] / (lengths["input_len"] + lengths["output_len"])
    engine, version = engine_of(row)
    engine = ENGINES.get(engine, engine)
    version = version or RELEASES.get(origin, {}).get(engine, "") or release_on(case["source"], engine)
    return PublishedQuestion(row, model, where, phase, valid, "throughput", shares, value, engine, version)


DEVICES: Mapping[str, Mapping[str, dict[str, str]]] = {
    "argonne-lcf/LLM-Inference-Bench": {
        "Nvidia A100": {"name": "A100-SXM4-40GB"},
        "AMD MI250": {"name": "MI210", "links": "instinct-mi250"},
    }
}
"""Meaning of a publication's names: Argonne's A100 are those of Polaris (docs.alcf.anl.gov/polaris). A die of an
MI250 is that of an MI210, with the links of the module."""
DIES: Mapping[str, Mapping[str, int]] = {"argonne-lcf/LLM-Inference-Bench": {"AMD MI250": 2}}
"""Dies of what a publication counts, where software sees each as a device: tensor splits of up to 8 ran on its server of
four MI250 (``vLLM/MI250/run-throughput-bench.sh``). The 93 GB of Mixtral-8x7B ran on one of them, the 138 GB of
Llama-2-70B on two, which dies of 64 GB do not hold, and the 28 heads of Qwen2-7B never on four."""
RELEASES: Mapping[str, Mapping[str, str]] = {
    "argonne-lcf/LLM-Inference-Bench": {"vllm": "0.6.1", "tensorrt-llm": "0.11.0"}
}
"""Releases that a publication ran, where its cases state none: the newest that its scripts name
(``vLLM/MI250/README.MD``, ``TensorRT-LLM/A100/Benchmarking_Throughput/requirements.txt``)."""
RELEASED: Mapping[str, tuple[tuple[str, str], ...]] = {
    "vllm": (("2024-09-11", "0.6.1"), ("2026-01-20", "0.14.0")),
    "sglang": (("2024-12-03", "0.4.0"),),
    "tensorrt-llm": (("2024-07-17", "0.11.0"), ("2025-09-24", "1.0.0")),
}
"""Days on which releases came out that other settings are the default of (pypi.org/project/NAME/#history), the oldest
first: a case that states a day and no release ran the newest of its day, or a later one with the same defaults."""


def release_on(source: Mapping[str, Any], engine: str) -> str:
    """The release of an engine on the day that a case states; empty where it states none or none was out."""
    between = source.get("date_between") or [""]
    day = str(source.get("date") or between[0])
    known = [release for since, release in RELEASED.get(engine, ()) if day and since <= day]
    return known[-1] if known else ""


ENGINES = {"trt": "tensorrt-llm"}
"""Engines that cases name otherwise than people do."""


def device_named(hardware: dict[str, Any], count: int, known: ShippedKnowledge) -> Machine:
    """The devices that a case names, in the server that they usually sit in."""
    tree = known.hardware
    for name in (hardware.get("reported_name"), hardware["name"]):
        try:
            resolved = known.names.server(re.sub(r"[_-](trt|amd_\d+)$", "", str(name).replace("_", " "))).id
        except UnknownEntityError:
            continue
        device, server = device_and_server(tree, resolved)
        if tree.devices(device) and tree.devices(device) != (device,):
            # a family: the part that servers are built of has the highest peak
            device = max(tree.devices(device), key=lambda name: _peak(tree.facts(name)))
            _, server = device_and_server(tree, device)
        if "links" in hardware:
            return machine(
                device,
                tree.facts(device),
                count=count,
                server=hardware["links"],
                server_facts=_links(tree.facts(hardware["links"])),
            )
        return known.machine(device, count, server)
    raise NotExpressibleError(f"hardware not in the graph: {hardware['name']}")


def _links(facts: Mapping[str, float | str]) -> dict[str, float | str]:
    """The facts of a device that describe its links."""
    return {name: value for name, value in facts.items() if name.startswith("link_")}


def _peak(facts: Mapping[str, float | str]) -> tuple[float, float]:
    peak, memory = (facts.get(name, 0.0) for name in ("peak_bf16_flops", "memory_bandwidth_bytes_per_s"))
    return float(peak or 0.0), float(memory or 0.0)


def _precision(stated: str) -> str:
    return priced_format(stated.split(",", maxsplit=1)[0]) or "bf16"


def _serving(
    task: dict[str, Any], config: dict[str, Any], model: ModelSizes, where: Machine
) -> list[dict[str, object]]:
    """The layout of a case with every batch down from its concurrency: an engine lets in what its cache holds."""
    count = where.count
    told: dict[str, Value] = {name: config[name] for name in ("tp", "ep", "pp") if name in config}
    one: dict[str, object] = dict(translate(told, "serving", count=count).settings)
    tensor = int(config.get("tp", count))
    if config.get("parallelism") and not str(config["parallelism"]).lower().startswith(("tp", "tensor")):
        raise NotExpressibleError("parallelism not clear")
    copies = tensor if config.get("dp_attention") else max(count // tensor, 1)
    if str(config.get("framework")) == "llama.cpp":  # shares out layers unless told (--split-mode)
        one, tensor, copies = (
            {**one, "pipeline_parallel": count, "chunk": int(config.get("n_batch", 0))},
            count,
            count,
        )
    one |= {
        "tensor_parallel": max(count // copies, 1), "data_parallel": 1 if "pipeline_parallel" in one else copies,
        "expert_parallel": int(config.get("ep", 1)) if model.experts else 1,
        "input_len": int(task["shape"]["input_len"]), "output_len": int(task["shape"]["output_len"]),
        "precision": _precision(str(task.get("dtype") or config.get("precision") or "")),
    }  # fmt: skip
    if "kv cache = fp8" in str(config.get("precision", "")).lower():
        one["precision_cache"] = "fp8"
    if "kv cache = int8" in str(config.get("precision", "")).lower():
        one["precision_cache"] = "int8"
    if (
        str(config.get("framework")) == "TensorRT-LLM"
        and task.get("load")
        and one["precision"] in {"fp8", "fp4"}
    ):
        one["precision_cache"] = (
            "fp8"  # trtllm-bench forces it (TensorRT-LLM, tensorrt_llm/bench/build/build.py)
        )
    if config.get("spec_decoding", "none") != "none":
        one["speculative_tokens"] = 1
    running = int(config.get("batch_size") or task["shape"].get("concurrency") or OFFLINE)
    each = max(running // copies, 1)
    return [{**one, "batch": batch} for batch in down_from(each)]


def _of_scripts(one: dict[str, object], config: dict[str, Any], where: Machine) -> dict[str, object]:
    """Settings of an engine in the scripts of InferenceMAX.

    Source: ``benchmarks/*.sh`` of SemiAnalysisAI/InferenceX@ac1998a504df, which the cases name.
    """
    engine = str(config.get("framework"))
    narrow = engine in {"trt", "vllm", "atom"} or (engine == "sglang" and where.device.id in {"b200", "b300"})
    told: dict[str, object] = {"precision_cache": "fp8"} if narrow else {}
    told |= {name: int(int(str(one[name])) * (1 + SHORTEST) / 2) for name in ("input_len", "output_len")}
    told["length_spread"] = (1 - SHORTEST) / (1 + SHORTEST)
    told |= {"async_scheduling": 1} if engine == "vllm" else {}
    return told | ({"engines": "balanced"} if engine == "trt" else {})


SHORTEST = 0.8
"""Shortest over nominal length: those scripts draw lengths evenly from it to the nominal one
(``--random-range-ratio``; ``sample_uniform`` of its utils/bench_serving/benchmark_serving.py)."""
OFFLINE = 2048
"""Requests at once where all of a data set are sent together."""


def _training(task: dict[str, Any], config: dict[str, Any], model: ModelSizes) -> list[dict[str, object]]:
    sizes = {
        name: int(config[name])
        for name in ("tp", "pp", "cp", "ep", "vp", "mbs", "micro_batch")
        if str(config.get(name, "")).isdigit() and int(config[name]) > 0
    }
    if not model.experts:
        sizes.pop("ep", None)
    if sizes.get("pp", 1) == 1:
        sizes.pop("vp", None)
    sharding = {"FULL_SHARD": 3, "SHARD_GRAD_OP": 2}
    one: dict[str, object] = {
        **sizes, "seq_len": int(task["shape"]["seq_len"]),
        "precision": _precision(str(task.get("dtype") or config.get("precision") or "")),
        "zero_stage": sharding.get(str(config.get("sharding")), 3 if config.get("fsdp") not in {None, 0, "0"} else 1),
    }  # fmt: skip
    if task["shape"].get("global_batch"):
        one["global_batch"] = int(task["shape"]["global_batch"])
    if "act_ckpt" in config:
        return [{**one, "recompute": "full" if config["act_ckpt"] else "none"}]
    return [{**one, "recompute": kept} for kept in ("none", "selective", "full")]
