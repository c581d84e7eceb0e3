"""vLLM's own scheduler under loads, by an interpreter that has vllm: loads in, figures out, as JSON lines.

``vllm.v1.core.sched`` schedules, and its cache manager keeps the blocks, from configurations of its own
classes; no model is loaded. Accepted drafts are drawn by position.
"""

from __future__ import annotations

import os
import random
from typing import TYPE_CHECKING, cast

os.environ.setdefault("VLLM_LOGGING_LEVEL", "ERROR")

import torch  # noqa: TID253  # this module runs in the interpreter of vllm alone
from vllm.config import (
    CacheConfig,
    ModelConfig,
    ParallelConfig,
    SchedulerConfig,
    SpeculativeConfig,
    VllmConfig,
)
from vllm.sampling_params import SamplingParams
from vllm.utils.hashing import sha256
from vllm.v1.core.kv_cache_utils import get_request_block_hasher, init_none_hash
from vllm.v1.core.sched.async_scheduler import AsyncScheduler
from vllm.v1.core.sched.scheduler import Scheduler
from vllm.v1.kv_cache_interface import FullAttentionSpec, KVCacheConfig, KVCacheGroupSpec
from vllm.v1.outputs import DraftTokenIds, ModelRunnerOutput
from vllm.v1.request import Request
from vllm.v1.structured_output import StructuredOutputManager

from tools.oracle.engine_fleet import LONGEST, PlannedStep, prompt_of
from tools.oracle.serving_load import BLOCK, ServingLoad, StepWork

if TYPE_CHECKING:
    from collections.abc import Callable

    from vllm.v1.core.sched.output import SchedulerOutput

    from tools.oracle.serving_load import LoadRequest


class VllmEngine:
    """A data-parallel engine of vLLM without its device.

    Attributes:
        preemptions: Requests that lost their blocks so far.
    """

    def __init__(self, load: ServingLoad, model: ModelConfig, seed: int) -> None:
        self.preemptions = 0
        self._load = load
        self._accepted = random.Random(seed)
        self._scheduler = _scheduler(load, model)
        self._hasher = get_request_block_hasher(BLOCK, sha256) if load.prefix_caching else None

    def add(self, request: LoadRequest) -> None:
        """Take a request."""
        prompt = prompt_of(request) if self._hasher else [0] * request.input_len
        asked = SamplingParams(max_tokens=request.output_len, ignore_eos=True)
        asked.update_from_generation_config({}, 0)
        self._scheduler.add_request(
            Request(
                request_id=str(request.index),
                prompt_token_ids=prompt,
                sampling_params=asked,
                pooling_params=None,
                arrival_time=float(request.index),
                block_hasher=self._hasher,
            )
        )

    def has_requests(self) -> bool:
        """True if anything is to be scheduled, or to be cleared away."""
        return bool(self._scheduler.has_requests())

    def has_unfinished(self) -> bool:
        """True if any request is unanswered."""
        return bool(self._scheduler.has_unfinished_requests())

    def counts(self) -> tuple[int, int, float]:
        """Requests that wait, requests that run, share of the cache in use."""
        running, waiting = self._scheduler.get_request_counts()
        return waiting, running, float(self._scheduler.get_kv_cache_usage())

    def plan(self) -> PlannedStep:
        """Schedule a step."""
        output = self._scheduler.schedule()
        self.preemptions += len(output.preempted_req_ids or ())
        samples: dict[str, int] = {}
        tokens = context = decodes = 0
        pairs = 0.0
        for name, number in output.num_scheduled_tokens.items():
            request = self._scheduler.requests[name]
            drafted = len(output.scheduled_spec_decode_tokens.get(name, ()))
            reached = request.num_computed_tokens
            tokens, context = tokens + number, context + reached
            if number > 1 + drafted:
                pairs += number * (reached - number / 2)
            else:
                decodes += 1
            samples[name] = -1 if request.is_prefill_chunk else drafted
        work = StepWork(tokens=tokens, context=context, pairs=pairs, decodes=decodes)
        return PlannedStep(work=work, handle=(output, samples))

    def finish(self, step: PlannedStep) -> list[tuple[int, int, bool]]:
        """Settle a step: sampled tokens, then the drafts of the next step."""
        output, samples = cast("tuple[SchedulerOutput, dict[str, int]]", step.handle)
        names = list(samples)
        sampled = [[1] * (1 + self._drawn(drafted) if drafted >= 0 else 0) for drafted in samples.values()]
        ran = ModelRunnerOutput(
            req_ids=names,
            req_id_to_index={name: place for place, name in enumerate(names)},
            sampled_token_ids=sampled,
        )
        settled = self._scheduler.update_from_output(output, ran)
        if self._load.drafts and not self._load.async_scheduling and names:
            proposed = [[1] * self._load.drafts for _ in names]
            self._scheduler.update_draft_token_ids(DraftTokenIds(names, proposed))
        return [
            (int(one.request_id), len(one.new_token_ids), one.finish_reason is not None)
            for client in settled.values()
            for one in client.outputs
        ]

    def _drawn(self, drafted: int) -> int:
        """Drafts that are accepted, one after the other."""
        for place in range(drafted):
            if self._accepted.random() >= self._load.acceptance[place]:
                return place
        return drafted


def _scheduler(load: ServingLoad, model: ModelConfig) -> Scheduler:
    """The scheduler of a load."""
    scheduling = SchedulerConfig(
        max_num_seqs=load.max_num_seqs,
        max_num_batched_tokens=load.max_num_batched_tokens,
        max_model_len=LONGEST,
        is_encoder_decoder=False,
        async_scheduling=False,
    )
    cache = CacheConfig(block_size=BLOCK, enable_prefix_caching=bool(load.prefix_caching))
    drafting = None
    if load.drafts:
        drafting = SpeculativeConfig(
            method="ngram_gpu" if load.async_scheduling else "ngram",
            num_speculative_tokens=load.drafts,
            prompt_lookup_max=2,
            target_model_config=model,
            target_parallel_config=ParallelConfig(),
        )
    held = VllmConfig(
        model_config=model, scheduler_config=scheduling, cache_config=cache, speculative_config=drafting
    )
    # the platform without a device turns this off: there it has nothing to hide behind
    held.scheduler_config.async_scheduling = bool(load.async_scheduling)
    cache.num_gpu_blocks = load.blocks
    layers = FullAttentionSpec(block_size=BLOCK, num_kv_heads=1, head_size=1, dtype=torch.float32)
    kept = KVCacheConfig(
        num_blocks=load.blocks, kv_cache_tensors=[], kv_cache_groups=[KVCacheGroupSpec(["layer"], layers)]
    )
    one = AsyncScheduler if load.async_scheduling else Scheduler
    return one(
        vllm_config=held,
        kv_cache_config=kept,
        structured_output_manager=StructuredOutputManager(held),
        block_size=BLOCK,
        log_stats=False,
    )


def engines(folder: str) -> Callable[[ServingLoad], list[VllmEngine]]:
    """What makes the engines of a load; ``folder`` has the configuration of the model."""
    model = ModelConfig(
        model=folder, skip_tokenizer_init=True, dtype="bfloat16", max_model_len=LONGEST, hf_token=None
    )
    init_none_hash(sha256)
    return lambda load: [VllmEngine(load, model, load.seed + place) for place in range(load.engines)]
