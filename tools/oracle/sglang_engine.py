"""SGLang's own scheduler under loads, by an interpreter that has sglang but not the packages of its devices.

``Scheduler.get_next_batch_to_run`` of ``sglang.srt.managers.scheduler`` plans each step, with the prefill
adder, policy, radix cache and pools of SGLang, from its own arguments; the fields that its constructor takes
from sockets, workers and devices are set by hand. Only its plain loop is driven: no overlap, no drafts, one
engine. What a step gives is settled as its result processor does.
"""

from __future__ import annotations

import logging
import sys
from array import array
from types import SimpleNamespace
from typing import TYPE_CHECKING, cast

import torch  # noqa: TID253  # this module runs in the interpreter of sglang alone
from transformers import (  # noqa: F401, TID253  # before what is absent hides that it is
    AutoImageProcessor,
    AutoProcessor,
    AutoTokenizer,
    PreTrainedTokenizerBase,
    ProcessorMixin,
)

from tools.oracle.absent_imports import AbsentImports
from tools.oracle.engine_fleet import LONGEST, PlannedStep, prompt_of
from tools.oracle.serving_load import BLOCK, ServingLoad, StepWork

sys.meta_path.append(AbsentImports("sglang"))

from sglang.srt import runtime_context  # noqa: E402
from sglang.srt.configs.model_config import ModelConfig  # noqa: E402
from sglang.srt.disaggregation.utils import DisaggregationMode  # noqa: E402
from sglang.srt.managers.schedule_batch import Req, ScheduleBatch  # noqa: E402
from sglang.srt.managers.schedule_policy import SchedulePolicy  # noqa: E402
from sglang.srt.managers.scheduler import Scheduler  # noqa: E402
from sglang.srt.managers.scheduler_components.new_token_ratio_tracker import (  # noqa: E402
    NewTokenRatioTracker,
)
from sglang.srt.mem_cache.allocator.token import TokenToKVPoolAllocator  # noqa: E402
from sglang.srt.mem_cache.cache_init_params import CacheInitParams  # noqa: E402
from sglang.srt.mem_cache.common import checkpoint_kv_cache, release_kv_cache  # noqa: E402
from sglang.srt.mem_cache.memory_pool import ReqToTokenPool  # noqa: E402
from sglang.srt.mem_cache.radix_cache import RadixCache  # noqa: E402
from sglang.srt.sampling.sampling_params import SamplingParams  # noqa: E402
from sglang.srt.server_args import ServerArgs  # noqa: E402
from sglang.srt.speculative.spec_info import SpeculativeAlgorithm  # noqa: E402

if TYPE_CHECKING:
    from collections.abc import Callable

    from tools.oracle.serving_load import LoadRequest


class SglangEngine:
    """An engine of SGLang without its device.

    Attributes:
        preemptions: Requests that were retracted so far.
    """

    def __init__(self, load: ServingLoad, folder: str) -> None:
        self.preemptions = 0
        self._load = load
        self._scheduler = _scheduler(load, folder)
        self._last: ScheduleBatch | None = None

    def add(self, request: LoadRequest) -> None:
        """Take a request."""
        tokens = array("q", prompt_of(request))
        asked = SamplingParams(max_new_tokens=request.output_len, ignore_eos=True)
        asked.normalize(None)
        self._scheduler.waiting_queue.append(Req(str(request.index), "", tokens, asked, vocab_size=1000))

    def has_requests(self) -> bool:
        """True if anything is to be scheduled, or to be cleared away."""
        return self.has_unfinished() or self._last is not None

    def has_unfinished(self) -> bool:
        """True if any request is unanswered."""
        running, last = self._scheduler.running_batch, self._last
        held = [*running.reqs, *(last.reqs if last is not None else ())]
        waits = self._scheduler.waiting_queue or self._scheduler.chunked_req is not None
        return bool(waits) or any(not one.finished() for one in held)

    def counts(self) -> tuple[int, int, float]:
        """Requests that wait, requests that run; the use of the cache is not asked for."""
        return len(self._scheduler.waiting_queue), len(self._scheduler.running_batch.reqs), 0.0

    def plan(self) -> PlannedStep:
        """Schedule a step."""
        scheduler = self._scheduler
        planned = scheduler.get_next_batch_to_run(scheduler.running_batch, self._last)
        scheduler.running_batch, batch = planned.running_batch, planned.batch_to_run
        self._last = batch
        self.preemptions += scheduler.metrics_reporter.num_retracted_reqs
        scheduler.metrics_reporter.num_retracted_reqs = 0
        if batch is None:
            scheduler.new_token_ratio_tracker.reset()  # as its loop does when it has nothing to run
            return PlannedStep(work=StepWork(), handle=None)
        if not batch.forward_mode.is_extend():
            context = sum(len(one.origin_input_ids) + len(one.output_ids) for one in batch.reqs)
            many = len(batch.reqs)
            return PlannedStep(work=StepWork(tokens=many, context=context, decodes=many), handle=batch)
        context, pairs = 0, 0.0
        for one in batch.reqs:
            context += one.prefix_len + one.extend_len
            pairs += one.extend_len * (one.prefix_len + one.extend_len / 2)
        work = StepWork(tokens=int(batch.extend_num_tokens), context=context, pairs=pairs)
        return PlannedStep(work=work, handle=batch)

    def finish(self, step: PlannedStep) -> list[tuple[int, int, bool]]:
        """Settle a step as the result processor does: a token each, and blocks of what is answered go."""
        batch, found = cast("ScheduleBatch | None", step.handle), list[tuple[int, int, bool]]()
        if batch is None:
            return found
        for one in batch.reqs:
            if one.inflight_middle_chunks > 0:
                one.inflight_middle_chunks -= 1
                continue
            one.output_ids.append(1)
            one.update_finish_state()
            if one.finished():
                release_kv_cache(one, self._scheduler.tree_cache, checkpoint=True)
            elif batch.forward_mode.is_extend():
                checkpoint_kv_cache(one, self._scheduler.tree_cache)
            found.append((int(one.rid), 1, bool(one.finished())))
        return found


def _scheduler(load: ServingLoad, folder: str) -> Scheduler:
    """The scheduler of a load."""
    given = ServerArgs(
        model_path=folder,
        device="cpu",
        skip_tokenizer_init=True,
        attention_backend="torch_native",
        max_running_requests=load.max_num_seqs,
        chunked_prefill_size=load.max_num_batched_tokens,
        max_total_tokens=load.blocks * BLOCK,
        disable_overlap_schedule=True,
        mem_fraction_static=0.5,
    )
    runtime_context.publish(given, role="scheduler")
    runtime_context.get_parallel()._stamp["pp_max_micro_batch_size"] = load.max_num_seqs
    rows = ReqToTokenPool(load.max_num_seqs, LONGEST, "cpu", enable_memory_saver=False)
    slots = TokenToKVPoolAllocator(
        load.blocks * BLOCK, torch.float32, "cpu", SimpleNamespace(), need_sort=False
    )
    tree = RadixCache(
        CacheInitParams(
            disable=False,
            req_to_token_pool=rows,
            token_to_kv_pool_allocator=slots,
            page_size=1,
        )
    )
    nothing = dict.fromkeys(
        (
            "chunked_req", "min_free_slots_delayer", "dynamic_chunk_sizer", "dllm_config",
            "hisparse_coordinator",
            "lora_drainer", "truncation_align_size", "decode_offload_manager", "scheduler_stage_metrics",
            "_pending_chunked_abort_req", "result_queue", "batch_record_buf", "prefill_delayer",
            "processed_tokens_counter", "max_queued_requests",
        )
    )  # fmt: skip
    off = dict.fromkeys(
        (
            "is_mixed_chunk", "enable_overlap", "enable_priority_preemption", "enable_priority_scheduling",
            "is_hybrid_swa", "enable_lora", "enable_hicache_storage", "enable_lmcache",
            "enable_hierarchical_cache",
            "enable_unified_cache_external_linker", "enable_hisparse", "require_mlp_sync",
            "enable_skip_finishing_decode", "abort_on_priority_when_disabled",
        ),
        False,
    )  # fmt: skip
    zero = dict.fromkeys(
        (
            "max_prefill_bs", "forward_ct", "batch_record_ct", "_prefill_decode_interval_remaining",
            "prefill_decode_interval", "prefill_decode_interval_min_bs",
        ),
        0,
    )  # fmt: skip
    parts = {
        "grammar_manager": SimpleNamespace(has_waiting_grammars=lambda: False),
        "tp_worker": SimpleNamespace(
            model_runner=SimpleNamespace(attn_backend=SimpleNamespace(), prefill_aware_swa=False)
        ),
        "load_inquirer": SimpleNamespace(_get_num_pending_tokens=lambda **_: 0),
        "beam_coordinator": SimpleNamespace(pending_member_rows=lambda _: 0, retire_group=lambda _: None),
        "dp_attn_adapter": SimpleNamespace(
            maybe_prepare_mlp_sync_batch=lambda batch, **_: batch,
            maybe_convert_decode_to_extend=lambda batch: batch,
        ),
        "ngram_embedding_manager": SimpleNamespace(prepare_for_forward=lambda batch, **_: batch),
        "metrics_reporter": SimpleNamespace(enable_metrics=False, num_retracted_reqs=0),
    }
    made = Scheduler.__new__(Scheduler)
    vars(made).update(
        nothing | off | zero | parts,
        req_to_token_pool=rows,
        token_to_kv_pool_allocator=slots,
        tree_cache=tree,
        model_config=ModelConfig.from_server_args(given),
        server_args=given,
        waiting_queue=[],
        running_batch=ScheduleBatch(reqs=[], batch_is_full=False),
        page_size=1,
        device="cpu",
        max_prefill_tokens=given.max_prefill_tokens,
        chunked_prefill_size=load.max_num_batched_tokens,
        max_running_requests=load.max_num_seqs,
        priority_scheduling_preemption_threshold=given.priority_scheduling_preemption_threshold,
        spec_algorithm=SpeculativeAlgorithm.from_string(None),
        disaggregation_mode=DisaggregationMode.NULL,
        new_token_ratio_tracker=NewTokenRatioTracker.from_config(),
        policy=SchedulePolicy(given.schedule_policy, tree, False, False, False),
    )
    return made


def engines(folder: str) -> Callable[[ServingLoad], list[SglangEngine]]:
    """What makes the engine of a load; ``folder`` has the configuration of the model."""
    logging.disable(logging.WARNING)
    return lambda load: [SglangEngine(load, folder)]
