"""Results as benchmarks and trainers print and save them: the print statements of their releases on small numbers.

Each entry: name of the file, its text, and what a reader must find in it, in SI units.
"""

import json


def _line(label: str, value: object) -> str:
    return f"{label:<40} {value:<10}"


VLLM_SERVE = {
    "date": "20260102-030405",
    "endpoint_type": "vllm",
    "backend": "vllm",
    "model_id": "Qwen/Qwen3-32B",
    "num_prompts": 64,
    "request_rate": "inf",
    "max_concurrency": 16,
    "duration": 40.0,
    "completed": 64,
    "failed": 0,
    "total_input_tokens": 65536,
    "total_output_tokens": 16384,
    "request_throughput": 1.6,
    "output_throughput": 409.6,
    "total_token_throughput": 2048.0,
    "mean_ttft_ms": 150.0,
    "median_ttft_ms": 140.0,
    "p99_ttft_ms": 300.0,
    "mean_tpot_ms": 38.0,
    "median_tpot_ms": 37.0,
    "p99_tpot_ms": 45.0,
}
_SERVED = {"throughput": 409.6, "ttft": 0.15, "tpot": 0.038}
_SERVE_TEXT = "\n".join(
    [
        "Namespace(backend='vllm', model='Qwen/Qwen3-32B', max_concurrency=16, request_rate=inf)",
        "============ Serving Benchmark Result ============",
        _line("Successful requests:", 64),
        _line("Maximum request concurrency:", 16),
        _line("Benchmark duration (s):", "40.00"),
        _line("Total input tokens:", 65536),
        _line("Total generated tokens:", 16384),
        _line("Request throughput (req/s):", "1.60"),
        _line("Output token throughput (tok/s):", "409.60"),
        "---------------Time to First Token----------------",
        _line("Mean TTFT (ms):", "150.00"),
        _line("P99 TTFT (ms):", "300.00"),
        _line("Mean TPOT (ms):", "38.00"),
        "=" * 50,
    ]
)
_BOXED = "+---+---+\n| {} | {} |\n+===+===+\n"
_MEGATRON = (
    " [2026-01-02 03:04:05] iteration {:8d}/     100 | consumed samples: {:12d} | elapsed time per iteration "
    "(ms): {:.1f} | throughput per GPU (TFLOP/s/GPU): {:.1f} | learning rate: 1.0E-05 | global batch size: "
    "{:5d} | lm loss: 1.1E+01 |"
)
_SWIFT = [
    {
        "loss": 2.0,
        "global_step/max_steps": f"{at}/100",
        "elapsed_time": f"{at * 2}s",
        "train_speed(s/it)": speed,
    }
    for at, speed in ((5, 2.5), (10, 2.0))
]
_FACTORY = [
    {
        "current_steps": at,
        "total_steps": 100,
        "loss": 2.0,
        "elapsed_time": f"0:00:{at * 3}",
        "throughput": rate,
    }
    for at, rate in ((5, 900.0), (10, 1000.0))
]
_AIPERF = {
    "schema_version": "1.4",
    "aiperf_version": "0.13.0",
    "request_count": {"unit": "requests", "avg": 32.0},
    "output_token_throughput": {"unit": "tokens/sec", "avg": 409.6},
    "time_to_first_token": {"unit": "ms", "avg": 150.0, "p99": 300.0},
    "inter_token_latency": {"unit": "ms", "avg": 38.0, "p99": 45.0},
    "request_latency": {"unit": "ms", "avg": 5000.0},
    "input_sequence_length": {"unit": "tokens", "avg": 1024.0},
    "output_sequence_length": {"unit": "tokens", "avg": 256.0},
    "input_config": {"models": {"items": [{"name": "Qwen/Qwen3-32B"}]}},
    "was_cancelled": False,
}
_GUIDELLM = {
    "config": {"spec": {"backend": {"model": "Qwen/Qwen3-32B"}}},
    "metadata": {"guidellm_version": "0.8.1"},
    "benchmarks": [
        {
            "config": {"strategy": {"type_": "concurrent", "max_concurrency": 16}},
            "scheduler_state": {},
            "metrics": {
                "request_totals": {"successful": 64, "errored": 0},
                "prompt_token_count": {"successful": {"mean": 1024.0}},
                "output_token_count": {"successful": {"mean": 256.0}},
                "output_tokens_per_second": {"successful": {"mean": 409.6}},
                "time_to_first_token_ms": {"successful": {"mean": 150.0}},
                "inter_token_latency_ms": {"successful": {"mean": 38.0}},
            },
        }
    ],
}
_LLAMA = {
    "build_commit": "1c1409e1",
    "build_number": 6865,
    "gpu_info": "NVIDIA A100-SXM4-80GB",
    "model_filename": "Llama-3.2-1B-Instruct-Q4_K_M.gguf",
    "model_type": "llama 1B Q4_K - Medium",
    "n_batch": 2048,
    "n_ubatch": 512,
    "type_k": "f16",
    "n_gpu_layers": 99,
    "flash_attn": True,
    "n_depth": 0,
}
_LLAMA_ROWS = [
    _LLAMA
    | {"n_prompt": 512, "n_gen": 0, "avg_ts": 4000.0, "stddev_ts": 20.0, "samples_ts": [3980.0, 4020.0]},
    _LLAMA | {"n_prompt": 0, "n_gen": 128, "avg_ts": 190.0, "stddev_ts": 1.0, "samples_ts": [189.0, 191.0]},
]
_TRT = {
    "engine": {"model": "Qwen/Qwen3-32B", "version": "1.2.0", "dtype": "bfloat16"},
    "machine": {"name": "NVIDIA H100 80GB HBM3"},
    "world_info": {"tp_size": 4, "pp_size": 1, "ep_size": 1, "world_size": 4, "max_batch_size": 256},
    "request_info": {
        "num_requests": 64,
        "avg_num_concurrent_requests": 16.0,
        "avg_input_length": 1024.0,
        "avg_output_length": 256.0,
    },
    "performance": {"system_output_throughput_tok_s": 409.6, "avg_request_latency_ms": 5000.0},
    "streaming_metrics": {"avg_ttft_ms": 150.0, "avg_tpot_ms": 38.0},
}

OUTPUTS: dict[str, tuple[str, str, dict[str, float]]] = {
    "vllm bench serve, saved": ("result.json", json.dumps(VLLM_SERVE), _SERVED),
    "vllm bench serve, printed": ("serve.log", _SERVE_TEXT, _SERVED),
    "vllm bench throughput": (
        "throughput.log",
        (
            "vllm bench throughput --model Qwen/Qwen3-32B -tp 4 --input-len 1024 --output-len 256\n"
            "Throughput: 1.60 requests/s, 2048.00 total tokens/s, 409.60 output tokens/s\n"
            "Total num prompt tokens:  65536\nTotal num output tokens:  16384\n"
        ),
        {"throughput": 409.6, "total_throughput": 2048.0},
    ),
    "vllm bench latency": (
        "latency.json",
        json.dumps(
            {"avg_latency": 2.0, "std_latency": 0.1, "latencies": [1.9, 2.1], "percentiles": {"50": 2.0}}
        ),
        {"e2e_latency": 2.0},
    ),
    "SGLang bench_serving": (
        "sglang.jsonl",
        json.dumps(VLLM_SERVE | {"backend": "sglang", "request_rate": 4.0}) + "\n",
        _SERVED,
    ),
    "SGLang bench_one_batch": (
        "one_batch.jsonl",
        json.dumps(
            {
                "run_name": "a",
                "batch_size": 8,
                "input_len": 1024,
                "output_len": 16,
                "prefill_latency": 0.4,
                "prefill_throughput": 20480.0,
                "median_decode_latency": 0.02,
                "median_decode_throughput": 400.0,
                "total_latency": 0.7,
                "overall_throughput": 11885.7,
            }
        ),
        {"ttft": 0.4, "tpot": 0.02, "decode_throughput": 400.0, "e2e_latency": 0.7},
    ),
    "AIPerf": ("profile_export_aiperf.json", json.dumps(_AIPERF), _SERVED | {"e2e_latency": 5.0}),
    "genai-perf": (
        "profile_export_genai_perf.csv",
        (
            "Metric,avg,min,max,p99\nTime To First Token (ms),150.00,100.00,310.00,300.00\n"
            'Request Latency (ms),"5,000.00",400.00,610.00,600.00\nInter Token Latency (ms),38.00,1,50,45\n'
            "Input Sequence Length (tokens),1024,1024,1024,1024\n\n"
            "Metric,Value\nOutput Token Throughput (tokens/sec),409.60\nRequest Count (count),64.00\n"
        ),
        _SERVED | {"e2e_latency": 5.0, "ttft_p99": 0.3},
    ),
    "GuideLLM": ("benchmarks.json", json.dumps(_GUIDELLM), _SERVED),
    "EvalScope 0.x": (
        "evalscope.log",
        "Benchmarking summary:\n"
        + "".join(
            _BOXED.format(label, value)
            for label, value in {
                "Key": "Value",
                "Time taken for tests (s)": 40.0,
                "Number of concurrency": 16,
                "Total requests": 64,
                "Output token throughput (tok/s)": 409.6,
                "Average time to first token (s)": 0.15,
                "Average time per output token (s)": 0.038,
                "Average input tokens per request": 1024,
            }.items()
        ),
        _SERVED,
    ),
    "EvalScope 1.x": (
        "benchmark_summary.json",
        json.dumps(
            {
                "Test Duration (s)": 40.0,
                "Concurrency": 16,
                "Success Requests": 64,
                "Avg Latency (s)": 5.0,
                "Output Throughput (tok/s)": 409.6,
                "Avg TTFT (ms)": 150.0,
                "Avg TPOT (ms)": 38.0,
            }
        ),
        _SERVED | {"e2e_latency": 5.0},
    ),
    "AISBench": (
        "aisbench.log",
        (
            "Performance Parameters \u2502 Stage \u2502 Average \u2502 Min \u2502 P99 \u2502 N\n"
            "E2EL \u2502 total \u2502 5000.0 ms \u2502 1.0 ms \u2502 6000.0 ms \u2502 64\n"
            "TTFT \u2502 total \u2502 150.0 ms \u2502 1.0 ms \u2502 300.0 ms \u2502 64\n"
            "TPOT \u2502 total \u2502 38.0 ms \u2502 1.0 ms \u2502 45.0 ms \u2502 64\n"
            "InputTokens \u2502 total \u2502 1024.0 \u2502 1024 \u2502 1024 \u2502 64\n"
            "OutputTokens \u2502 total \u2502 256.0 \u2502 256 \u2502 256 \u2502 64\n"
            "Common Metric \u2502 Stage \u2502 Value\n"
            "Output Token Throughput \u2502 total \u2502 409.6 token/s\n"
            "Max Concurrency \u2502 total \u2502 16\n"
        ),
        _SERVED | {"e2e_latency": 5.0, "tpot_p99": 0.045},
    ),
    "MindIE benchmark": (
        "mindie.log",
        (
            "| Metric | average | max | min | P75 | P90 | SLO_P90 | P99 | N |\n"
            "| FirstTokenTime | 150.0 ms | 1 ms | 1 ms | 1 ms | 1 ms | 1 ms | 300.0 ms | 64 |\n"
            "| DecodeTime | 38.0 ms | 1 ms | 1 ms | 1 ms | 1 ms | 1 ms | 45.0 ms | 64 |\n"
            "| InputTokens | 1024 | 1 | 1 | 1 | 1 | 1 | 1 | 64 |\n"
            "| GeneratedTokens | 256 | 1 | 1 | 1 | 1 | 1 | 1 | 64 |\n"
            "| GeneratedTokenSpeed | 25 token/s | 1 token/s | 1 token/s | 1 | 1 | 1 | 1 | 64 |\n"
            "| Common Metric | Value |\n| Concurrency | 16 |\n| GenerateSpeed | 409.6 token/s |\n"
            "| ModelName | qwen3-32b |\n"
        ),
        _SERVED,
    ),
    "trtllm-bench": ("report.json", json.dumps(_TRT), _SERVED | {"e2e_latency": 5.0}),
    "LLMPerf": (
        "summary.json",
        json.dumps(
            {
                "model": "Qwen/Qwen3-32B",
                "num_concurrent_requests": 16,
                "results_ttft_s_mean": 0.15,
                "results_inter_token_latency_s_mean": 0.038,
                "results_mean_output_throughput_token_per_s": 409.6,
                "results_num_completed_requests": 64,
            }
        ),
        _SERVED,
    ),
    "llama-bench, JSON lines": (
        "llama.jsonl",
        "\n".join(map(json.dumps, _LLAMA_ROWS)),
        {"prefill_throughput": 4000.0, "decode_throughput": 190.0},
    ),
    "llama-bench, Markdown": (
        "llama.md",
        (
            "ggml_cuda_init: found 1 CUDA devices:\n  Device 0: NVIDIA A100-SXM4-80GB, compute capability 8.0\n"
            "| model | size | params | backend | ngl | test | t/s |\n| --- | ---: | ---: | --- | --: | --: | --: |\n"
            "| llama 1B Q4_K - Medium | 762.81 MiB | 1.24 B | CUDA | 99 | pp512 | 4000.00 \u00b1 20.00 |\n"
            "| llama 1B Q4_K - Medium | 762.81 MiB | 1.24 B | CUDA | 99 | tg128 | 190.00 \u00b1 1.00 |\n"
        ),
        {"prefill_throughput": 4000.0, "decode_throughput": 190.0},
    ),
    "llama.cpp server": (
        "server.log",
        (
            "prompt eval time =     150.00 ms /    22 tokens (    6.05 ms per token,   165.25 tokens per second)\n"
            "       eval time =    1520.00 ms /    40 tokens (   38.00 ms per token,    26.32 tokens per second)\n"
        ),
        {"ttft": 0.15, "tpot": 0.038, "decode_throughput": 26.32},
    ),
    "Locust": (
        "run_stats.csv",
        (
            "Type,Name,Request Count,Failure Count,Median Response Time,Average Response Time,Min Response Time,"
            "Max Response Time,Average Content Size,Requests/s,Failures/s,50%\n"
            "POST,/v1/completions,64,0,4900,5000.0,1,2,3,1.6,0.0,4900\n,Aggregated,64,0,4900,5000.0,1,2,3,1.6,0.0,4900\n"
        ),
        {"e2e_latency": 5.0, "throughput": 1.6},
    ),
    "k6": (
        "summary.json",
        json.dumps(
            {
                "metrics": {
                    "http_req_duration": {"avg": 5000.0, "med": 4900.0},
                    "http_reqs": {"count": 64, "rate": 1.6},
                    "iterations": {"count": 64, "rate": 1.6},
                    "vus_max": {"value": 16},
                }
            }
        ),
        {"e2e_latency": 5.0, "throughput": 1.6},
    ),
    "Megatron": (
        "train.log",
        "  micro_batch_size ................................ 2\n  world_size .................................. 8\n"
        + "\n".join(
            _MEGATRON.format(at, at * 64, step, 300.0, 64)
            for at, step in ((1, 60000.0), (2, 2000.0), (3, 2010.0), (4, 1990.0))
        ),
        {"step_time": 2.0, "compute_rate_per_device": 300e12},
    ),
    "MindFormers": (
        "mindformers.log",
        "\n".join(
            f"2026-01-02 - mindformers - INFO - {{ Epoch:[  1/  2], step:[{at:5d}/  100], loss: 1.0, "
            f"per_step_time: {step}ms, lr: 1e-5, overflow cond: False, loss_scale: 1.0, train_throughput_per_npu: 150.0T"
            for at, step in ((1, 9000), (2, 2000), (3, 2000))
        ),
        {"step_time": 2.0},
    ),
    "DeepSpeed": (
        "ds.log",
        "\n".join(
            f"[INFO] [timer.py:264:stop] epoch=0/micro_step={at}/global_step={at}, RunningAvgSamplesPerSec=30.0, "
            "CurrSamplesPerSec=32.0, MemAllocated=1.0GB, MaxMemAllocated=2.0GB"
            for at in (10, 20, 30)
        ),
        {"throughput": 32.0},
    ),
    "HF Trainer": (
        "trainer_state.json",
        json.dumps(
            {
                "global_step": 100,
                "log_history": [
                    {"loss": 2.0, "step": 50},
                    {"train_runtime": 200.0, "train_samples_per_second": 16.0, "train_steps_per_second": 0.5},
                ],
            }
        ),
        {"throughput": 16.0, "step_time": 2.0},
    ),
    "LLaMA-Factory": (
        "trainer_log.jsonl",
        "\n".join(map(json.dumps, _FACTORY)),
        {"throughput": 1000.0, "step_time": 3.0},
    ),
    "ms-swift": ("logging.jsonl", "\n".join(map(json.dumps, _SWIFT)), {"step_time": 2.0}),
    "verl": (
        "verl.log",
        "\n".join(
            f"step:{at} - global_seqlen/mean:1.0 - perf/max_memory_allocated_gb:40.0 - timing_s/step:20.0 - "
            "perf/throughput:1500.0"
            for at in (1, 2)
        ),
        {"step_time": 20.0, "throughput": 1500.0},
    ),
    "torchtitan": (
        "titan.log",
        "\n".join(
            f"[rank0]:2026-01-02 - root - INFO - step: {at:2}  loss:  7.1  memory: 40.6GiB(51.0%)  tps: {tps}  "
            "tflops: 300.25  mfu: 30.35%"
            for at, tps in ((1, "500"), (10, "7,500"), (20, "7,500"), (30, "7,500"))
        ),
        {"throughput": 7500.0, "mfu": 0.3035},
    ),
}
"""Name of the file, its text and the metrics in it, by what wrote it."""
