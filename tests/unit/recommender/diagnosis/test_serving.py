"""The load of servers: lines and metrics in the form that their programs write."""

from typing import Any

import pytest

from recommender.diagnosis.pressures import running_limits
from recommender.diagnosis.serving import LoadSamples, ServingLoad, telling_marks

VLLM = (
    "INFO 06-01 10:00:00 [loggers.py:116] Engine 000: Avg prompt throughput: {} tokens/s, Avg generation throughput: {} "
    "tokens/s, Running: {} reqs, Waiting: {} reqs, GPU KV cache usage: {}%, Prefix cache hit rate: {}%\n"
)
SGLANG = (
    "[2026-06-01 10:00:00] Decode batch. #running-req: {}, #token: 9, token usage: {}, cuda graph: True, "
    "gen throughput (token/s): {}, #queue-req: {}\n"
)


def read_if_any(text: str) -> ServingLoad | None:
    samples = LoadSamples()
    for line in ("INFO starting\n" + text).encode().splitlines():
        if telling_marks(line):
            samples.take(line)
    return samples.load(0.05)


def read(*told: Any, **more: Any) -> ServingLoad:
    made = read_if_any(*told, **more)
    assert made is not None
    return made


def test_lines_of_vllm() -> None:
    load = read(VLLM.format(1200, 500.5, 30, 0, 97.0, 20) + VLLM.format(800, 700.5, 40, 12, 98.5, 40))
    assert (load.engine, load.samples) == ("vllm", 2)
    assert load.means == pytest.approx(
        {"prompt_tokens_s": 1000, "generated_tokens_s": 600.5, "running": 35, "waiting": 6, "kv_share": 0.9775,
         "prefix_hit_share": 0.3}
    )  # fmt: skip
    assert load.peaks["waiting"] == 12
    assert load.short_share == 0.5  # a full cache for which nobody waits is none that is short


def test_lines_of_sglang() -> None:
    load = read(SGLANG.format(8, 0.5, 400.0, 2) + SGLANG.format(8, 0.96, 500.0, 2))
    assert load.engine == "sglang"
    assert load.means == pytest.approx(
        {"generated_tokens_s": 450, "running": 8, "waiting": 2, "kv_share": 0.73}
    )
    assert load.short_share == 0.5


def test_a_page_of_metrics_is_one_sample_of_all_engines() -> None:
    load = read(
        "# HELP vllm:num_requests_waiting Number of requests waiting.\n"
        'vllm:num_requests_waiting{engine="0",model_name="m"} 3.0\nvllm:num_requests_waiting{engine="1"} 4.0\n'
        'vllm:kv_cache_usage_perc{engine="0"} 0.5\nvllm:kv_cache_usage_perc{engine="1"} 0.99\n'
        "vllm:num_preemptions_total 7.0\nvllm:request_success_total 1e3\n",
    )
    assert load.means == {"waiting": 7, "kv_share": 0.99, "preemptions": 7}
    assert load.short_share == 1


def test_a_page_of_metrics_tells_drafts_hits_and_arguments() -> None:
    samples = LoadSamples()
    for line in (
        'vllm:num_requests_running{engine="0"} 256.0', 'vllm:num_requests_waiting{engine="0"} 9.0',
        'vllm:kv_cache_usage_perc{engine="0"} 0.4',
        'vllm:prefix_cache_queries_total{engine="0"} 200.0', 'vllm:prefix_cache_hits_total{engine="0"} 50.0',
        'vllm:spec_decode_num_drafts_total{engine="0"} 100.0',
        'vllm:spec_decode_num_accepted_tokens_per_pos_total{engine="0",position="1"} 20.0',
        'vllm:spec_decode_num_accepted_tokens_per_pos_total{engine="0",position="0"} 70.0',
        'vllm:cache_config_info{block_size="16",gpu_memory_utilization="0.9",num_cpu_blocks="None"} 1.0',
    ):  # fmt: skip
        samples.take(line.encode())
    load = samples.load(0.05)
    assert load is not None
    assert load.accepted == (0.7, 0.2)
    assert load.means["prefix_hit_share"] == 0.25
    assert samples.arguments == {"block_size": "16", "gpu_memory_utilization": "0.9"}
    assert load.with_limit(running_limits("vllm", {})).limit == 256  # one that it takes by itself
    assert load.with_limit(running_limits("vllm", {"max_num_seqs": "300"})).limit is None
    assert load.with_limit(running_limits("vllm", {"max_num_seqs": "256"})).limit == 256


def test_requests_that_stand_at_a_number_while_others_wait_are_bounded_by_it() -> None:
    at = VLLM.format(1, 1, 256, 9, 60.0, 0) + VLLM.format(1, 1, 253, 9, 70.0, 0)
    bounded = read(at)
    assert bounded.limit == 256
    for others in (
        VLLM.format(1, 1, 256, 0, 60.0, 0) * 2,  # none waits
        VLLM.format(1, 1, 256, 9, 95.0, 0) * 2,  # the cache is full
        VLLM.format(1, 1, 256, 9, 60.0, 0),  # one sample tells nothing
        VLLM.format(1, 1, 256, 9, 60.0, 0) + VLLM.format(1, 1, 90, 9, 60.0, 0) * 3,
    ):
        load = read(others)
        assert load.limit is None


STEP = (
    "[TRT-LLM] [I] [_torch][RANK 0] iter = {}, global_rank = 0, rank = 0, num_scheduled_requests = 64, kv_cache_util = 0.3, "
    "currank_total_requests = 4/4, host_step_time = {}ms, prev_device_step_time = N/A, "
    "timestamp = x, states = {{'num_ctx_requests': 1, 'num_ctx_tokens': {}, 'num_generation_tokens': 63}}\n"
)


def test_steps_of_tensorrt_llm_are_weighed_by_their_time() -> None:
    few = read("".join(STEP.format(n, 20, 0) for n in range(9)) + STEP.format(9, 100, 8000))
    assert few.decode_rates is None  # 28 ms a step beside 20
    many = read("".join(STEP.format(n, *((20, 0) if n % 2 else (100, 8000))) for n in range(10)))
    assert many.decode_rates == pytest.approx((1e3 / 60, 50))
    assert many.numbers["prefill_slows"] == pytest.approx(3)
    assert many.with_limit([64.0]).limit == 64
    assert many.with_limit([128.0]).limit is None  # its lines tell of none that waits


def test_iterations_as_json_are_samples() -> None:
    one = (
        '{"numActiveRequests":70,"numQueuedRequests":5,"maxBatchSizeRuntime":64,'
        '"kvCacheStats":{"maxNumBlocks":100,"usedNumBlocks":40},"inflightBatchingStats":{"numScheduledRequests":64}}'
    )
    load = read(f"[{one},{one},{one[:40]}")
    assert (load.engine, load.samples, load.limit) == ("tensorrt-llm", 2, 64)
    assert load.means == {"running": 64, "waiting": 11, "kv_share": 0.4}  # active ones in no step wait too
    odd = read('[{"numActiveRequests": 1e999, "kvCacheStats": null}, {"a":' + "[" * 9999)
    assert odd.means == {}
    assert read_if_any("num_requests_waiting 1.2.3\nllamacpp:requests_deferred NaN\n") is None


@pytest.mark.parametrize(
    ("page", "engine", "limits", "limit", "short"),
    [
        ("num_requests_running{m=\"a\"} 200\nnum_requests_waiting 8\nnpu_cache_usage_perc 0.3\n", "mindie", [200.0], 200, 0),
        ("num_requests_running 90\nnum_requests_waiting 8\nnpu_cache_usage_perc 0.99\n", "mindie", [200.0], None, 1),
        ("llamacpp:requests_processing 4\nllamacpp:requests_deferred 9\n", "llama.cpp", [], 4, 0),
        ("trtllm_num_requests_running 9\ntrtllm_num_paused_requests 2\n", "tensorrt-llm", [], None, 1),
    ],
)  # fmt: skip
def test_pages_of_other_servers(page: str, engine: str, limits: list[float], limit: int | None, short: float) -> None:  # fmt: skip
    load = read(page)
    load = load.with_limit(limits)
    assert (load.engine, load.limit, load.short_share) == (engine, limit, short)


def test_tokens_a_step_tell_what_each_draft_brings() -> None:
    line = SGLANG.replace("cuda graph", "accept len: 1.42, accept rate: 0.24, cuda graph")
    load = read(line.format(8, 0.5, 400.0, 0))
    assert load.with_drafts(None, None).accepted == ()
    drafted = load.with_drafts(5, None)
    assert sum(drafted.accepted) == pytest.approx(0.42, abs=1e-3)
    assert drafted.accepted[1] == pytest.approx(drafted.accepted[0] ** 2)
    assert drafted.useful_drafts == 2
    assert drafted.numbers["fewer_drafts_gain"] > 1


def test_prompts_between_lines_of_decoding_block_it() -> None:
    prefill = "[t] Prefill batch, #new-seq: 1, #new-token: 8192, #cached-token: 2048, token usage: 0.40, #running-req: 8, #queue-req: 0, \n"
    busy, calm = prefill + SGLANG.format(8, 0.5, 80.0, 0), SGLANG.format(8, 0.5, 400.0, 0)
    load = read((busy + calm) * 2)
    assert load.decode_rates == (10, 50)
    assert load.means["prefix_hit_share"] == pytest.approx(0.2)
