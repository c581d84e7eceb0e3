"""Lengths of requests in a start: what a server takes, recipes' values adapted to it, stretched positions."""

import json
import math
import re
from collections.abc import Mapping

from kg.errors import InfeasibleError
from kg.nouns.layout import ParallelLayout
from kg.nouns.setting import SettingPlace
from kg.nouns.values import Value
from kg.terms.dialects import positive, statement
from kg.terms.meanings import OF_VLLM, meaning_of
from kg.terms.model_name import rotary_of
from kg.terms.purposes import plain_key
from kg.terms.setting_registry import ReleaseSettings
from recommender.cost_model.layout_domain import BY_LAYERS
from recommender.cost_model.question import Question
from recommender.cost_model.settings.plans import SERVING
from recommender.cost_model.workloads.memory_fit import USABLE_MEMORY
from recommender.ranking.feasibility.server_fit import PAGE, STRETCHES, ServerMemory
from recommender.ranking.plan_setting import PlanSetting, settings_by_key
from recommender.ranking.starts.recipes.agreement import AgreedSetting
from recommender.ranking.starts.recipes.recipe_load import AT_ONCE
from recommender.ranking.starts.situation import StartSituation

MOST_STRETCHED = 4.0
"""Positions by YaRN over those of the model up to which a start stretches them: what Qwen documents of its
models (https://qwen.readthedocs.io/en/latest/deployment/vllm.html, "Context Length")."""
_OVERRIDES = {"sglang": "json_model_override_args.rope_scaling", "vllm": "hf_overrides.rope_parameters"}
STATIC = (
    "YaRN stretches every request alike: Qwen warns of worse answers to short texts"
    " <https://qwen.readthedocs.io/en/latest/deployment/vllm.html>"
)
SLOT_PAGE = 256
"""Tokens to whose multiple llama.cpp pads a context (``llama_context``)."""
_OLD = "rope_scaling"
"""The flag of vLLM up to the release that took it away."""


def longest(situation: StartSituation, *, page: int = PAGE, is_assumed: bool = False) -> int | None:
    """Tokens of the longest sequence; None where no length is stated, unless lengths may be assumed.

    Of prompt and answer the one that is not stated is taken as the price takes it. The sum is rounded up to
    whole pages, as far as the model goes.
    """
    usual = float(SERVING["input_len"]) + float(SERVING["output_len"]) if is_assumed else None
    needed = _needed(situation) or usual
    if needed is None:
        return None
    rounded, most = math.ceil(needed / page) * page, situation.model.most_tokens
    return most if most and needed <= most < rounded else rounded


def most_tokens(situation: StartSituation) -> float:
    """Tokens of prompt and answer at most, as the launch says or the model goes."""
    return min(_told(situation) or math.inf, situation.model.most_tokens or math.inf)


def shared_context(situation: StartSituation, slots: int) -> int | None:
    """Tokens of the context that so many slots of llama.cpp share; None for one slot of unstated length."""
    each = longest(situation, page=SLOT_PAGE, is_assumed=slots > 1)
    return None if each is None else each * slots


def slots_of(situation: StartSituation) -> float | None:
    """Requests that the told context of llama.cpp holds; None where their number or no context is told."""
    current: Mapping[str, Value] = situation.current or {}
    facts = statement(current, situation.framework.id).facts
    context, each = positive(facts.get("max_len")), longest(situation, page=SLOT_PAGE, is_assumed=True)
    if situation.framework.id not in BY_LAYERS or AT_ONCE in facts or not (context and each):
        return None
    return max(1.0, context // each)


def startable(question: Question, layout: ParallelLayout, most: int, chunk: float | None) -> int | None:
    """The longest sequence with which vLLM starts, where it would refuse what the model takes; else None.

    It refuses to start where the cache does not hold one sequence of the longest length (vLLM,
    ``check_enough_kv_cache_memory`` in v1/core/kv_cache_utils.py).

    Args:
        question: What is priced.
        layout: How the work is divided.
        most: Tokens that the model takes.
        chunk: Tokens of a step; None for what the server takes unless told.
    """
    memory = ServerMemory(question=question, layout=layout, chunk=chunk)
    fits = memory.longest(most, USABLE_MEMORY * question.machine.device.memory_capacity)
    return fits or None if fits < most else None


def are_stated(situation: StartSituation) -> bool:
    """True if prompt and answer lengths are both stated."""
    return bool(situation.number("input_len") and situation.number("output_len"))


def stretched_positions(
    situation: StartSituation, release: ReleaseSettings | None, notes: list[str] | None = None
) -> list[PlanSetting]:
    """The settings that stretch rotary positions to the stated lengths; none where the model takes them.

    Args:
        situation: What is asked.
        release: The settings of the release.
        notes: Take in what that costs.

    Raises:
        InfeasibleError: They are longer than that goes.
    """
    told, most, framework = _told(situation), situation.model.most_tokens, situation.framework.id
    needed = max(_needed(situation) or 0.0, told)
    if situation.is_training or not most or needed <= most:
        return []
    rotary = rotary_of(situation.model.id, situation.problem.situation.model_name)
    trained, base = rotary or (most, None)
    factor = math.ceil(10 * needed / trained) / 10
    family = "vllm" if framework in OF_VLLM else framework
    if told and (factor > MOST_STRETCHED or family not in _OVERRIDES or rotary is None):
        return []  # the launch is told what is wrong with it
    if factor > MOST_STRETCHED or family not in _OVERRIDES:
        raise InfeasibleError(
            f"{needed:,.0f} tokens of prompt and answer, and {situation.model.id} takes {most:,}",
            hint="shorter lengths (--shape input_len=N,output_len=N), or another model",
        )
    if notes is not None:
        notes.append(STATIC)
    return _stretched(family, release, factor, trained, base)


def _stretched(
    family: str, release: ReleaseSettings | None, factor: float, trained: int, base: int | None
) -> list[PlanSetting]:
    """The settings that stretch positions by a factor."""
    carrier = _OVERRIDES[family]
    if family == "vllm" and release is not None and release.look_up(_OLD, suggest=False).usable:
        carrier = _OLD
    values: dict[str, Value] = {
        "rope_type": "yarn", "factor": factor, "original_max_position_embeddings": trained,
    }  # fmt: skip
    if base is not None and carrier.endswith("rope_parameters"):
        values["rope_theta"] = base  # what is overridden takes the place of the whole object
    fields = {f"{carrier}.{name}": value for name, value in values.items()}
    why = "the stated lengths are beyond the model's own"
    return settings_by_key(fields, source=why, place=SettingPlace.JSON)


def yarn(program: str, release: ReleaseSettings | None, tokens: float, trained: int, base: int) -> str:
    """The flag by which a server is told to stretch positions; empty where it has none, or not so far."""
    family = "vllm" if program in OF_VLLM else program
    factor = math.ceil(10 * tokens / trained) / 10
    if factor > MOST_STRETCHED or family not in _OVERRIDES:
        return ""
    fields = {item.key: item.value for item in _stretched(family, release, factor, trained, base)}
    carrier, _, inner = next(iter(fields)).partition(".")
    values = {name.rpartition(".")[2]: value for name, value in fields.items()}
    content: object = {inner.rpartition(".")[0]: values} if "." in inner else values
    return f"--{carrier.replace('_', '-')} '{json.dumps(content)}'"


def _told(situation: StartSituation) -> float:
    """The longest sequence that what runs is told, where nothing that runs stretches positions; else 0."""
    current: Mapping[str, Value] = situation.current or {}
    if any(part in plain_key(name) for name in current for part in STRETCHES):
        return 0.0
    facts = statement(current, situation.framework.id).facts
    slots = positive(facts.get(AT_ONCE)) if situation.framework.id in BY_LAYERS else None
    return float(positive(facts.get("max_len")) or 0) // (slots or 1)


def _needed(situation: StartSituation) -> float | None:
    """Tokens of prompt and answer together, or of the whole sequence where that is stated."""
    prompt, answer = situation.number("input_len"), situation.number("output_len")
    whole = situation.number("seq_len") or 0.0
    if not (prompt or answer):
        return whole or None
    both = (prompt or float(SERVING["input_len"])) + (answer or float(SERVING["output_len"]))
    return max(whole, both)


def falls_short(item: AgreedSetting, at_once: float | None) -> bool:
    """True if it captures graphs for fewer requests than an engine gets: the default captures more."""
    facts = statement({item.key: item.value}).facts
    most = facts.get("captured_requests", facts.get("captured_rows"))
    return at_once is not None and isinstance(most, int) and most < at_once


def adapted(
    item: AgreedSetting, situation: StartSituation, layout: ParallelLayout | None, load: float | None = None
) -> tuple[str, str]:
    """The value of a setting for a question, and why it is not that of the recipe (empty if it is).

    The longest sequence follows from the lengths that are asked for, or is at most what the model takes;
    requests at once follow from the load, which vLLM counts for each engine and SGLang over all of them.

    Args:
        item: The setting.
        situation: What is asked.
        layout: How the work is divided.
        load: Requests at once on all devices, stated or assumed.
    """
    meaning = meaning_of(item.key)
    is_length = meaning is not None and meaning.fact == "max_len"
    tokens = longest(situation)
    if is_length and tokens and not are_stated(situation) and item.value.isdecimal():
        tokens = max(tokens, int(item.value))
    if is_length and tokens:
        return str(tokens), "input and output lengths"
    most = situation.model.most_tokens
    if is_length and most and item.value.isdecimal() and int(item.value) > most:
        return str(most), "the longest sequence of the model"
    if not load or meaning is None or meaning.fact not in {AT_ONCE, "chunk", "captured_requests"}:
        return item.value, ""
    replicas = layout.dp if layout and not meaning.over else 1
    value = str(max(1, math.ceil(load / replicas)))
    if meaning.fact == "captured_requests":
        captured = _captured(item.value, int(value)) if meaning.largest else item.value
        return captured, "" if captured == item.value else "requests at once"
    if meaning.fact == "chunk":  # a step has a token of each request at least
        is_short = item.value.isdecimal() and 0 < int(item.value) < int(value)
        return (value, "requests at once") if is_short else (item.value, "")
    return value, "" if value == item.value else "requests at once"


def _captured(listed: str, most: int) -> str:
    """The listed sizes of captured graphs up to so many requests; doublings where all are larger."""
    sizes = [int(size) for size in re.findall(r"\d+", listed)]
    if not sizes or max(sizes) <= most:
        return listed
    smaller = [size for size in sizes if size < most] or [
        2**k for k in range(most.bit_length()) if 2**k < most
    ]
    separator = ", " if "," in listed else " "
    text = separator.join(map(str, [*smaller, most]))
    return f"[{text}]" if listed.lstrip().startswith("[") else text
