"""Facts that follow from what a question states: its phase, its devices, its settings and its bottlenecks."""

from collections.abc import Iterator, Mapping

from kg.nouns.values import Value, parse_json
from kg.terms.conditions import Facts, FactValue
from kg.terms.dialects import statement
from kg.terms.precisions import canonical_precision

_DEGREES = ("tp", "pp", "dp", "ep", "cp", "nodes")
_SERVING = frozenset({"serving", "prefill", "decode"})
_DRAFTS = frozenset(
    {
        "speculative_config",
        "speculative_method",
        "speculative_algorithm",
        "num_speculative_tokens",
        "speculative_num_steps",
    }
)
"""Settings of vLLM and SGLang that switch drafting on."""

_METHODS = {"nextn": "mtp", "deepseek_mtp": "mtp", "qwen3_next_mtp": "mtp", "draft_model": "model"}
"""Names that programs give to drafts by the model's own layers, or by another model."""

_DETERMINISM = frozenset(
    {"hccl_deterministic", "lccl_deterministic", "use_deterministic_algorithms", "deterministic_mode"}
)
_SHORT_OF_MEMORY = frozenset(
    {
        "memory-capacity",
        "activation-memory",
        "optimizer-state-memory",
        "activation-spill",
        "kv-block-shortage",
        "memory-fragmentation",
        "memory-allocation-stall",
        "recompute-overhead",
    }
)
"""Bottlenecks that only a nearly full memory has."""

_UNEVEN_LENGTHS = frozenset({"dynamic-shape", "data-padding", "batch-request-length-imbalance"})
_ADAPTERS = frozenset({"software[llama-factory]", "software[ms-swift]"})
"""Trainers whose default is adapters (finetuning_type and tuner_type are lora)."""
_FROM_REWARDS = frozenset({"rlhf_type", "reward_funcs", "reward_model", "use_vllm", "pref_loss"})
"""Settings of trainers (ms-swift, TRL, LLaMA-Factory) that only training from preferences or rewards has."""
_STAGES = frozenset({"rm", "ppo", "dpo", "kto"})
_OFF = frozenset({"", "0", "false", "none", "no", "off"})
_INTEGERS = frozenset({"int8", "int4", "w8a8", "w4a8", "w4a16", "w4a4", "fp8", "mxfp8", "mxfp4", "float8"})
"""Precisions that only a quantised model has."""


def implied_facts(facts: Facts, current: Mapping[str, Value]) -> dict[str, FactValue]:
    """Facts that the stated ones imply; a stated fact of the same name goes before.

    Args:
        facts: What the question states.
        current: Its settings, by any spelling; the fields of an object in JSON count too.
    """
    settings = dict(_plain(current))
    implied: dict[str, FactValue] = {}
    names = {key[len("software[") : -1] for key in facts if key.startswith("software[")}
    if names:
        implied["framework"] = frozenset(names)
    if facts.get("devices") == 1:
        implied.update(dict.fromkeys(_DEGREES, 1))
    implied["virtual_machine"] = False  # servers of accelerators are bare machines, or say that they are not
    implied.update(_of_role(facts))
    implied.update(_of_settings(facts, settings, current))
    seen = {key[len("bottleneck[") : -1] for key in facts if key.startswith("bottleneck[")}
    if seen & _SHORT_OF_MEMORY:
        implied["memory_short"] = True
    if seen & _UNEVEN_LENGTHS or not _is_off(settings.get("variable_seq_lengths")):
        implied["variable_lengths"] = True
    return implied


def _of_role(facts: Facts) -> Iterator[tuple[str, FactValue]]:
    """Serving is both halves on the same servers, unless the question says otherwise."""
    role = facts.get("role")
    if role in {"prefill", "decode"}:
        yield "disaggregated", True
    elif role == "mixed" or (facts.get("phase") == "serving" and not facts.get("disaggregated")):
        yield "role", "mixed"
        yield "disaggregated", False


def _of_settings(
    facts: Facts, settings: Mapping[str, object], current: Mapping[str, Value]
) -> Iterator[tuple[str, FactValue]]:
    """Facts of unset settings, at their defaults: no drafts, no pipeline, no bitwise reproducibility."""
    phase = facts.get("phase")
    if phase in _SERVING:
        drafts = any(not _is_off(settings.get(name)) for name in _DRAFTS)
        yield "speculative", drafts
        method = settings.get("method", settings.get("speculative_algorithm", "other"))
        yield "draft", _METHODS.get(str(method).lower(), str(method).lower()) if drafts else "any"
        yield from (("pp", 1), ("cp", 1))
    yield "deterministic", any(not _is_off(settings.get(name)) for name in _DETERMINISM)
    yield "rlhf", not _FROM_REWARDS.isdisjoint(settings) or settings.get("stage") in _STAGES
    stated = statement(current).facts
    names = {name for name in facts if name.startswith("software[")}
    if stated.get("lora_rank") or not _is_off(settings.get("enable_lora")):
        yield "lora", True
    elif phase in _SERVING or not names & _ADAPTERS:
        yield "lora", False
    precision = str(facts.get("precision") or stated.get("precision") or "")
    if "precision" not in facts and precision:
        yield "precision", canonical_precision(precision)
    if "quantization" in settings:
        yield "quantised", not _is_off(settings["quantization"])
    elif precision:
        yield "quantised", precision in _INTEGERS
    graph = stated.get("graph")
    if phase == "training" or facts.get("software[torch-npu]") is not None:
        yield "full_graph", False
    elif graph is not None:
        yield "full_graph", graph == 1
    if isinstance(optimizer := settings.get("optimizer"), str):
        yield "optimizer", optimizer.lower()


def _plain(settings: Mapping[str, Value]) -> Iterator[tuple[str, object]]:
    """Settings by their last name: ``--compilation-config.cudagraph_mode`` and a field in JSON alike."""
    for key, value in settings.items():
        name = key.lstrip("-").replace("-", "_").lower()
        yield name.rsplit(".", 1)[-1], value
        if isinstance(value, str) and value.startswith("{"):
            inner = parse_json(value)
            if isinstance(inner, dict):
                yield from _plain(inner)


def _is_off(value: object) -> bool:
    return value is None or str(value).strip().lower() in _OFF
