"""The facts that a question states, by the names that conditions read.

A fact that the question, its model and its hardware do not state is left out: unknown, never a default.
"""

import math
from collections.abc import Mapping

from kg.nouns.entities import Problem, WorkloadKind
from kg.nouns.knowledge import Model
from kg.nouns.values import Value
from kg.terms.circumstances import sizes_of_shape
from kg.terms.conditions import FactValue
from kg.terms.dialects import degrees_of
from kg.terms.facts import FACTS, FactType
from kg.triples.hardware_tree import HardwareTree
from recommender.applicability.draft_heads import drafted_by
from recommender.applicability.implied_facts import implied_facts
from recommender.applicability.scope import GENERATORS, kinds_of

_MODEL_NUMBERS = {
    "parameters": "parameters",
    "layers": "layers",
    "attention_heads": "heads",
    "kv_heads": "kv_heads",
    "experts": "experts",
    "experts_per_token": "experts_per_token",
    "shared_experts": "shared_experts",
    "moe_intermediate_size": "expert_intermediate",
    "mtp_layers": "draft_layers",
    "sliding_window": "window",
}
"""Fact of a condition by fact of a model."""

_LIMITS = {"tpot": "tpot_limit", "time_per_output_token": "tpot_limit", "ttft": "ttft_limit"}

_SOME = 1e-6
"""Share of a bottleneck that was seen and not measured: above zero, and below any threshold."""


def question_facts(problem: Problem, tree: HardwareTree, model: Model | None) -> dict[str, FactValue]:
    """The facts of a question.

    Args:
        problem: The question; its workload's traits may state any fact by name (``--trait``).
        tree: The hardware, for the device's facts.
        model: The model that the question names; None if it names none or an unknown one.
    """
    facts: dict[str, FactValue] = {
        **_model_facts(model),
        **_drafts(model, problem),
        **_hardware_facts(problem, tree),
        **_problem_facts(problem),
    }
    facts.update(_stated(problem.workload.traits))
    facts = {**implied_facts(facts, problem.current or {}), **facts}
    if problem.hardware.count is not None and "weight_share" not in facts:
        facts.update(_weight_share(facts))
    return facts


def _stated(traits: Mapping[str, object]) -> dict[str, FactValue]:
    """Facts that a question states by their own names."""
    facts: dict[str, FactValue] = {}
    for name, value in traits.items():
        fact = FACTS.get(name.partition("[")[0])
        if fact is None or value is None:
            continue
        if fact.name == "speculative":
            facts["speculative"] = str(value).lower() not in {"none", "false", "no", "0"}
            if isinstance(value, str):  # a wish, where true and false only say what runs
                facts["draft"] = str(value).lower() if facts["speculative"] else "none"
        elif fact.type is FactType.NAMES:
            facts[name] = frozenset(str(value).split(","))
        elif isinstance(value, bool | int | float | str):
            facts[name] = value
    return facts


def table_bytes(sizes: Mapping[str, Value]) -> float:
    """Bytes of the embedding tables, in float32 where nothing else is stated; zero where none are known."""
    stated = [sizes.get(name) for name in ("embedding_table_bytes", "embedding_rows", "embedding_dim")]
    whole, rows, width = (float(item) if isinstance(item, int | float) else 0.0 for item in stated)
    return whole or rows * width * 4


def _model_facts(model: Model | None) -> dict[str, FactValue]:
    if model is None:
        return {}
    stated = {fact.name: fact.value for fact in model.facts}
    facts: dict[str, FactValue] = {"model": kinds_of(model)}
    for name, value in stated.items():
        if name in _MODEL_NUMBERS and isinstance(value, int | float):
            facts[_MODEL_NUMBERS[name]] = value
        elif name in FACTS and isinstance(value, bool | int | float | str):
            names = FACTS[name].type is FactType.NAMES
            facts[name] = frozenset(str(value).split("+")) if names else value
    facts |= {"embedding_table_bytes": table_bytes(stated)} if table_bytes(stated) else {}
    if model.architecture:
        facts.setdefault("vision_tower", model.architecture == "multimodal")
    if model.architecture not in {"multimodal", "audio", ""}:
        facts.setdefault("audio_tower", False)
    if model.architecture in GENERATORS:
        facts.setdefault("pooling", False)
    if model.architecture == "decoder":  # the rare one that drafts by itself is known to
        facts.setdefault("draft_layers", 0)
    if "experts" not in facts and model.architecture not in {"moe-decoder", "multimodal", ""}:
        facts["experts"] = 0
    if "config.json" in " ".join(fact.source.url for fact in model.facts):
        facts.setdefault("draft_layers", 0)  # what a configuration that was read does not name is not there
    if "attention_kind" in stated:
        facts.setdefault("experts", 0)
        facts.setdefault("draft_layers", 0)
        facts.setdefault("shared_experts", 0)
    if kinds := _attention(model, stated):
        facts.setdefault("attention", kinds)
    return {name: value for name, value in facts.items() if value != ""}


def _drafts(model: Model | None, problem: Problem) -> dict[str, FactValue]:
    """The methods with a published draft model that the programs told load; ``none`` without any."""
    if model is None:
        return {}
    published = drafted_by(model.id, tuple(problem.software), problem.situation.checkpoint)
    return {"public_drafts": published or frozenset({"none"})}


def _attention(model: Model, stated: Mapping[str, object]) -> frozenset[str]:
    """The kinds of attention of its layers; empty if nothing is known of them."""
    kinds = {kind for kind in str(stated.get("attention_kind", "")).split("+") if kind}
    if "kv_lora_rank" in stated:
        kinds.add("latent")
    heads, kv_heads = stated.get("attention_heads"), stated.get("kv_heads")
    if isinstance(heads, int | float) and isinstance(kv_heads, int | float) and "latent" not in kinds:
        kinds.add("grouped" if kv_heads < heads else "full")
    if not kinds and heads is None and model.architecture in {"vision", "recommendation"}:
        kinds.add("none")
    return frozenset(kinds)


def _hardware_facts(problem: Problem, tree: HardwareTree) -> dict[str, FactValue]:
    path = tree.path(problem.hardware.name)
    if not path:
        return {}
    stated = tree.facts(problem.hardware.name)
    facts: dict[str, FactValue] = {"hardware": frozenset(path)}
    memory = stated.get("memory_bytes")
    if isinstance(memory, int | float):
        facts["memory_bytes"] = memory
    if "peak_fp16_flops" in stated:
        for name, peak in (
            ("has_bf16", "peak_bf16_flops"),
            ("has_fp8", "peak_fp8_flops"),
            ("has_fp4", "peak_fp4_flops"),
            ("has_int8", "peak_int8_ops"),
        ):
            facts[name] = peak in stated
    elif (formats := stated.get("number_formats")) is not None:
        facts["has_bf16"] = "bfloat16" in str(formats)
    if str(stated.get("link_type", "")).startswith("PCIe"):
        facts["topology"] = "pcie"
    elif (topology := stated.get("link_topology")) is not None:
        facts["topology"] = topology
    if (bus := stated.get("unified_bus")) is not None:
        facts["unified_bus"] = bool(bus)
    if problem.hardware.count is not None:
        facts["devices"] = problem.hardware.count
        per_node = stated.get("devices_per_server")
        if isinstance(per_node, int | float):
            facts["nodes"] = math.ceil(problem.hardware.count / per_node)
    return facts


def _problem_facts(problem: Problem) -> dict[str, FactValue]:
    work = problem.workload
    phase = work.operator if work.operator in {"prefill", "decode"} else str(work.kind)
    if work.kind in {WorkloadKind.KERNEL, WorkloadKind.OPERATOR, WorkloadKind.HPC}:
        phase = "kernel"
    facts: dict[str, FactValue] = {
        "phase": phase,
        "operator": work.operator,
        "objective": problem.objective.metric,
    }
    if work.precision:
        facts["precision"] = work.precision
    facts |= sizes_of_shape(work.shape)
    for limit in problem.limits:
        if limit.metric in _LIMITS:
            facts[_LIMITS[limit.metric]] = limit.maximum
        elif limit.metric == "accuracy_loss":
            facts["accuracy_budget"] = limit.maximum > 0
    return facts | _keyed_facts(problem)


def _keyed_facts(problem: Problem) -> dict[str, FactValue]:
    """Bottlenecks, software and current settings, each by its key, and the degrees that settings state."""
    facts: dict[str, FactValue] = {}
    for name, share in problem.bottlenecks.items():
        facts[f"bottleneck[{name}]"] = share if isinstance(share, int | float) else _SOME
    for name, version in problem.software.items():
        if version:
            facts[f"software[{name}]"] = str(version)
    if not all(problem.software.values()):  # what runs is known where its release is not
        facts["framework"] = frozenset(problem.software)
    for name, value in (problem.current or {}).items():
        said = value if isinstance(value, bool | int | float) else str(value)
        facts[f"setting[{name}]"] = said
        facts.setdefault(f"setting[{name.rpartition('.')[2]}]", said)
    return facts | degrees_of(problem.current or {})


def _weight_share(facts: Mapping[str, FactValue]) -> dict[str, FactValue]:
    """Share of the devices' memory that 16-bit weights take: bounds what may be sharded or offloaded."""
    parameters, memory, devices = (facts.get(name) for name in ("parameters", "memory_bytes", "devices"))
    if not all(isinstance(value, int | float) and value > 0 for value in (parameters, memory, devices)):
        return {}
    return {"weight_share": 2 * float(parameters) / (float(memory) * float(devices))}  # type: ignore[arg-type]
