"""What engines do unless they are told otherwise, where it decides the time of a step."""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence
from functools import cache
from types import MappingProxyType

import data
from kg.nouns.release import release_key
from recommender.cost_model.settings.plans import PHASES, PIECEWISE, canonical_name

LOCK_STEP = (("", "lock-step"),)
DEFAULTS: Mapping[str, Mapping[str, tuple[tuple[str, float | str], ...]]] = MappingProxyType(
    {
        "vllm": {
            "async_scheduling": (("", 0), ("0.14", 1)),
            "engines": LOCK_STEP,
            "mixed_steps": (("", 0), ("0.8", 1)),
        },
        "sglang": {"async_scheduling": (("", 0), ("0.4", 1)), "engines": LOCK_STEP},
        "tensorrt-llm": {
            "async_scheduling": (("", 0), ("1.0", 1)),
            "engines": LOCK_STEP,
            "mixed_steps": (("", 1),),
        },
        "vllm-ascend": {
            "engines": LOCK_STEP,
            "mixed_steps": (("", 0), ("0.9.0rc1", 1)),
            "graph": (("", 0), ("0.9.0rc1", PIECEWISE), ("0.21.0rc1", 1)),
            "draft_graph": (("", 0), ("0.19.1rc1", 1)),
        },
    }
)
"""Settings of serving by engine: each default with the release from which it holds, the oldest first.

The next iteration is scheduled while this one runs: vLLM (vllm-ascend 2b9269b581 names it), SGLang
(lmsys.org/blog/2024-12-04-sglang-v0-4), the PyTorch backend of TensorRT-LLM
(nvidia.github.io/TensorRT-LLM/features/overlap-scheduler.html). Not vllm-ascend: its published steps take
longer than modelled even with the time of the host in line, and its release notes ask for a flag.

Data-parallel engines that share experts run in lock-step, an idle one with an empty batch: vLLM and
vllm-ascend (``DPEngineCoreProc.run_busy_loop``, vllm/v1/engine/core.py), SGLang (``prepare_mlp_sync_batch``),
attention DP of TensorRT-LLM. Told to balance (``patch_balance_schedule`` of vllm-ascend, ``enable_balance``
of TensorRT-LLM), they prefill at the same time.

One step holds decode and prefill: the scheduler of vLLM's V1 and what rests on it, in-flight batching of
TensorRT-LLM; SGLang only with ``--enable-mixed-chunk``.

Graphs of vllm-ascend: ``platform.py`` of its tags. Up to 0.8.5 it turns them off; from 0.9.0rc1 it captures
the pieces between attention kernels; from 0.21.0rc1 (pull request 9572) decode steps are captured whole. All
steps of a draft are one graph since pull request 6860.
"""


@cache
def _trainers() -> Mapping[str, Mapping[str, float | str]]:
    """Settings of training by program, where they are not ours."""
    rows = csv.DictReader(data.text("runtime/trainers.csv").splitlines())
    said = {row["program"]: [word.split("=") for word in row["settings"].split()] for row in rows}
    return {
        program: {name: int(value) if value.isdecimal() else value for name, value in words}
        for program, words in said.items()
    }


_DIVIDING = ("tensor_parallel", "pipeline_parallel", "expert_parallel")

CAPTURE_FROM_SEQUENCES: Mapping[str, str] = MappingProxyType({"vllm-ascend": "0.18.0"})
"""Release from which the largest captured step is the most sequences there may be, not twice as many
(vllm-ascend, pull request 7572)."""
MOST_CAPTURED = 512


def engine_defaults(
    phase: str, engine: str, version: str, settings: Sequence[Mapping[str, object]] = ()
) -> Mapping[str, float | str]:
    """Settings of a phase with the defaults of an engine's release; of the newest where it is not stated.

    Trainers that divide products over devices run Megatron's blocks for it (``megatron sft`` of ms-swift).
    """
    if phase == "training":
        told = {canonical_name(name): value for one in settings for name, value in one.items()}
        is_divided = any(
            told.get(name, 1) != 1 for name in _DIVIDING
        ) and "zero_stage" not in _trainers().get(engine, {})
        return PHASES[phase] if is_divided else {**PHASES[phase], **_trainers().get(engine, {})}
    if engine not in DEFAULTS:
        return PHASES[phase]
    own = {}
    for name, releases in DEFAULTS[engine].items():
        own[name] = next(value for since, value in reversed(releases) if _is_since(version, since))
    return {**PHASES[phase], **own}


def largest_captured(engine: str, version: str, sequences: int, drafted: int = 0) -> int:
    """Rows of the largest decode step that is captured; 0 where all are, or nobody knows.

    Sizes are 1, 2, 4, the multiples of 8 up to 256 and of 16 beyond
    (``VllmConfig._set_cudagraph_sizes`` of vLLM): an engine of twelve sequences captures eight.

    Args:
        engine: Engine, such as ``"vllm-ascend"``.
        version: Its release; the newest if empty.
        sequences: The most sequences that it runs at once.
        drafted: Tokens drafted for each.
    """
    since = CAPTURE_FROM_SEQUENCES.get(engine)
    if since is None or not _is_since(version, since):
        return 0
    most = min(sequences * (1 + drafted), MOST_CAPTURED)
    step = 16 if most >= 2 * 128 else 8
    return most // step * step if most >= step else 1 << (most.bit_length() - 1)


def _is_since(version: str, since: str) -> bool:
    """Whether a release is not older than another; one that is not stated is the newest."""
    try:
        return not since or release_key(version) >= release_key(since)
    except ValueError:  # none is stated
        return True
