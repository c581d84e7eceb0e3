"""Lengths of requests in a start: what a server must take, and rotary positions stretched to it."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from kg.errors import InfeasibleError
from kg.nouns.setting import SettingPlace
from recommender.cost_model.settings.plans import SERVING
from recommender.cost_model.workloads.memory_fit import USABLE_MEMORY
from recommender.ranking.feasibility.server_fit import PAGE, ServerMemory
from recommender.ranking.plan_setting import settings_by_key

if TYPE_CHECKING:
    from kg.nouns.layout import ParallelLayout
    from kg.nouns.values import Value
    from kg.terms.setting_registry import ReleaseSettings
    from recommender.cost_model.question import Question
    from recommender.ranking.plan_setting import PlanSetting
    from recommender.ranking.starts.situation import StartSituation

MOST_STRETCHED = 4.0
"""Positions by YaRN over those of the model up to which a start stretches them: what Qwen documents of its
models (https://qwen.readthedocs.io/en/latest/deployment/vllm.html, "Context Length")."""
_OVERRIDES = {"sglang": "json_model_override_args.rope_scaling", "vllm": "hf_overrides.rope_parameters"}
_OLD = "rope_scaling"
"""The flag of vLLM up to the release that took it away."""


def longest(situation: StartSituation) -> int | None:
    """Tokens of the longest sequence; None where no length is stated.

    Of prompt and answer the one that is not stated is taken as the price takes it. The sum is rounded up,
    as far as the model goes.
    """
    needed = _needed(situation)
    if needed is None:
        return None
    rounded, most = math.ceil(needed / PAGE) * PAGE, situation.model.most_tokens
    return most if most and needed <= most < rounded else rounded


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
    """Whether prompt and answer are both stated."""
    return bool(situation.number("input_len") and situation.number("output_len"))


def stretched_positions(situation: StartSituation, release: ReleaseSettings | None) -> list[PlanSetting]:
    """The settings that stretch rotary positions to the stated lengths; none where the model takes them.

    Raises:
        InfeasibleError: They are longer than that goes.
    """
    needed, most, framework = _needed(situation), situation.model.most_tokens, situation.framework.id
    if situation.is_training or not needed or not most or needed <= most:
        return []
    factor = math.ceil(10 * needed / most) / 10
    family = "vllm" if framework in {"vllm", "vllm-ascend"} else framework
    if factor > MOST_STRETCHED or family not in _OVERRIDES:
        raise InfeasibleError(
            f"{needed:,.0f} tokens of prompt and answer, and {situation.model.id} takes {most:,}",
            hint="shorter lengths (--shape input_len=N,output_len=N), or another model",
        )
    carrier = _OVERRIDES[family]
    if family == "vllm" and release is not None and release.look_up(_OLD, suggest=False).usable:
        carrier = _OLD
    values: dict[str, Value] = {
        "rope_type": "yarn", "factor": factor, "original_max_position_embeddings": most,
    }  # fmt: skip
    fields = {f"{carrier}.{name}": value for name, value in values.items()}
    why = "the stated lengths are beyond the model's own"
    return settings_by_key(fields, source=why, place=SettingPlace.JSON)


def _needed(situation: StartSituation) -> float | None:
    """Tokens of prompt and answer together, or of the whole sequence where that is stated."""
    prompt, answer = situation.number("input_len"), situation.number("output_len")
    whole = situation.number("seq_len") or 0.0
    if not (prompt or answer):
        return whole or None
    both = (prompt or float(SERVING["input_len"])) + (answer or float(SERVING["output_len"]))
    return max(whole, both)
