"""Translation of the settings of frameworks into settings of the cost model, by :mod:`kg.terms.dialects`.

What the cost model has no setting for is left out and named.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from kg.nouns.layout import DEGREES
from kg.nouns.values import Value
from kg.terms.dialects import Statement, statement
from kg.terms.meanings import own_names
from kg.terms.purposes import plain_key
from recommender.cost_model.settings.drafts import method_of
from recommender.cost_model.settings.engine_defaults import largest_captured
from recommender.cost_model.settings.plans import SERVING, TRAINING

OFF: Mapping[str, object] = MappingProxyType(
    {
        "zero_stage": 0, "sequence_parallel": 0, "overlap_gradients": 0, "flash_attention": 0, "fused_ops": 0,
        "overlap_tensor_parallel": 0, "grouped_matmul": 0, "recompute": "none", "offload": "none", "graph": 0,
        "expert_parallel": 1, "context_parallel": 1, "speculative_tokens": 0, "virtual_stages": 1,
        "device_layers": SERVING["device_layers"],
    }
)  # fmt: skip
"""Values of settings without a strategy that turns them on."""


@dataclass(frozen=True, slots=True)
class Translation:
    """Settings of the cost model, and parameters that it has none for.

    Attributes:
        settings: By the names of ``plans``.
        untold: Names that could not be translated, sorted.
    """

    settings: Mapping[str, object] = field(default_factory=dict)
    untold: tuple[str, ...] = ()


def translate(
    parameters: Mapping[str, Value],
    phase: str,
    *,
    program: str = "",
    count: int | None = None,
    layers: int | None = None,
) -> Translation:
    """The settings of the cost model for a configuration of a framework.

    Args:
        parameters: Names and values of a framework, or of the cost model itself.
        phase: ``"training"`` or ``"serving"``.
        program: Whose settings they are; empty if that is not known.
        count: Devices; "expert parallel on" means all of a replica's tensor and data ranks.
        layers: Blocks of the model, for stages given as layers per stage.
    """
    known = TRAINING if phase == "training" else SERVING
    stated = statement(parameters, program, devices=count)
    found = {
        name: value for fact, value in stated.facts.items() if (name := DEGREES.get(fact, fact)) in known
    }
    told = {plain_key(name).rpartition(".")[2]: value for name, value in parameters.items()}
    read = {name for name, fact in stated.fact_of.items() if DEGREES.get(fact, fact) in {*known, *_COUNTED}}
    chunks, stages = stated.facts.get("stage_layers"), found.get("pipeline_parallel", 1)
    if isinstance(chunks, int) and chunks and layers and isinstance(stages, int) and phase == "training":
        whole, rest = divmod(layers, stages * chunks)
        if whole and not rest:
            found["virtual_stages"] = whole
            read |= {name for name, fact in stated.fact_of.items() if fact == "stage_layers"}
    if phase == "training":
        if ADAPTED in told:
            found.setdefault("lora_rank", LORA_RANK)
        _complete_training(found, stated, count)
        if "offload" in str(told.get("deepspeed", "")):  # as trainers name the files that they bring
            found.setdefault("offload", "parameters" if found.get("zero_stage") == 3 else "optimizer")
    if phase == "serving" and not stated.facts.get("prefix_cache", 1):
        found["prefix_hit"] = 0.0
    named = [name for name in parameters if plain_key(name).rpartition(".")[2] in _DRAFTS_BY]
    drafting = next((way for name in named if (way := method_of(str(parameters[name]))) != "other"), "other")
    if phase == "serving" and drafting != "other":
        read |= {*named}
        found["draft_method"] = drafting
        if drafting == "mtp":
            found.setdefault("speculative_tokens", DRAFTED_BY_LAYER)
        elif (steps := found.get("draft_steps")) is not None:
            found.setdefault("speculative_tokens", steps)
    return Translation(settings=found, untold=tuple(sorted(set(parameters) - read)))


def _complete_training(found: dict[str, Value], stated: Statement, count: int | None) -> None:
    """Sizes and number formats that follow from how trainers count and load."""
    facts = stated.facts
    if facts.get("recompute_method") != "block":  # by the others it is how many blocks share a checkpoint
        found.pop("recompute_layers", None)
    if "batch" in facts:
        found.setdefault("micro_batch", facts["batch"])
    sizes = [found.get(name, size) for name, size in (("micro_batch", 1), ("tensor_parallel", 1))]
    sizes += [found.get(name, 1) for name in ("pipeline_parallel", "context_parallel")]
    turns = facts.get("turns")
    if count and all(isinstance(size, int) and size > 0 for size in (*sizes, turns)):
        micro, *inside = (int(str(size)) for size in sizes)
        found.setdefault("global_batch", micro * int(str(turns)) * max(count // math.prod(inside), 1))
    # what is spread has weights in float32 beside those in 16 bit (DeepSpeed, FSDP of accelerate)
    is_loaded = any(fact == "precision" and name.endswith("dtype") for name, fact in stated.fact_of.items())
    if found.get("zero_stage") in (2, 3):
        found.setdefault("pure_bf16", 0)
    elif is_loaded and facts.get("precision") in _HALF:
        found.setdefault("pure_bf16", 1)


_DRAFTS_BY = frozenset(
    {"method", "speculative_method", "speculative_algorithm", "decoding_type", "speculative_decoding_type"}
)
"""Last names of the settings that say what drafts, of vLLM, SGLang and TensorRT-LLM."""
_HALF = frozenset({"bf16", "fp16"})
_COUNTED = frozenset({"dp_attention", "world", "turns", "batch", "recompute_method"})
"""Facts that say how degrees are counted."""
ADAPTED, LORA_RANK = "lora_target_modules", 16
"""Setting by which MindSpeed-LLM trains adapters, and their rank if not stated (its ``--lora-r``)."""
DRAFTED_BY_LAYER = 1
"""Tokens that layers for multi-token prediction draft where a command does not say: as many as there are
layers (``n_predict`` of vLLM's ``SpeculativeConfig``), and published networks have one."""


def captured_rows(
    engine: str, version: str, parameters: Mapping[str, Value], settings: Mapping[str, object]
) -> dict[str, object]:
    """The setting ``captured_rows`` that follows from an engine's most sequences; empty if none does."""
    words = {name: value for name, value in parameters.items() if plain_key(name) not in own_names()}
    sequences = statement(words, engine).program_facts.get("batch")
    drafted = settings.get("speculative_tokens", 0)
    if not isinstance(sequences, int) or sequences < 1 or not isinstance(drafted, int):
        return {}
    rows = largest_captured(engine, version, sequences, drafted)
    return {"captured_rows": rows} if rows else {}
