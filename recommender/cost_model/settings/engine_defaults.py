"""What engines do unless they are told otherwise, where it decides the time of a step."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING

from kg.nouns.release import release_key
from recommender.cost_model.settings.plans import PHASES

if TYPE_CHECKING:
    from collections.abc import Mapping

OVERLAPPED_SINCE: Mapping[str, str] = MappingProxyType(
    {"vllm": "0.14", "sglang": "0.4", "tensorrt-llm": "1.0"}
)
"""Release from which an engine schedules the next iteration while this one runs: vLLM (vllm-ascend 2b9269b581
names it), SGLang (lmsys.org/blog/2024-12-04-sglang-v0-4), the PyTorch backend of TensorRT-LLM
(nvidia.github.io/TensorRT-LLM/features/overlap-scheduler.html). Not vllm-ascend: its published steps take
longer than modelled even with the time of the host in line."""


def engine_defaults(phase: str, engine: str, version: str) -> Mapping[str, float | str]:
    """Settings of a phase with the defaults of an engine's release; of the newest where it is not stated."""
    since = OVERLAPPED_SINCE.get(engine)
    if phase != "serving" or since is None:
        return PHASES[phase]
    try:
        is_older = release_key(version) < release_key(since)
    except ValueError:  # none is stated
        is_older = False
    return PHASES[phase] if is_older else {**PHASES[phase], "async_scheduling": 1}
