"""Results in the forms of older releases, and of forms beside the usual ones; entries as in ``outputs``."""

import json

_SERVED = {"throughput": 409.6, "ttft": 0.15, "e2e_latency": 5.0}
_EVALSCOPE = {
    "Time taken for tests (senconds)": 40.0,
    "Number of concurrency": 16,
    "Succeed requests": 64,
    "Average latency (s)": 5.0,
    "Average time to first token (s)": 0.15,
    "Average time per output token (s)": 0.00244,
    "Throughput(average output tokens per second)": 409.6,
    "Average input tokens per request": 1024.0,
}
_AIPERF = {
    "records": {
        "request_latency": {"tag": "request_latency", "unit": "ms", "avg": 5000.0},
        "time_to_first_token": {"tag": "time_to_first_token", "unit": "ms", "avg": 150.0},
        "output_token_throughput": {"unit": "tokens/sec", "avg": 409.6},
    },
    "input_config": {"endpoint": {"model_names": ["Qwen/Qwen3-32B"]}, "loadgen": {"concurrency": 16}},
    "was_cancelled": False,
}
_GUIDELLM = {
    "benchmarks": [
        {
            "type_": "generative_benchmark",
            "args": {"strategy": {"type_": "concurrent", "streams": 16}},
            "worker": {"backend_type": "openai_http", "backend_model": "Qwen/Qwen3-32B"},
            "request_totals": {"successful": 64, "errored": 0},
            "metrics": {
                "request_latency": {"successful": {"mean": 5.0}},
                "output_tokens_per_second": {"successful": {"mean": 409.6}},
                "time_to_first_token_ms": {"successful": {"mean": 150.0}},
            },
        }
    ]
}
_ONE_BATCH = """\
Prefill. latency: {} s, throughput: 20480.00 token/s
Decode.  latency: 0.02100 s, throughput:    380.95 token/s
Decode.  median latency: 0.02000 s, median throughput:    400.00 token/s
Total. latency:  0.700 s, throughput:  11885.70 token/s
"""
OLDER = {
    "AIPerf 0.1": ("profile_export_aiperf.json", json.dumps(_AIPERF), _SERVED),
    "genai-perf, printed": (
        "run.log",
        (
            "\u2503 Statistic \u2503 avg \u2503 min \u2503 max \u2503 p99 \u2503\n"
            "\u2502 Time To First Token (ms) \u2502 150.00 \u2502 100.00 \u2502 310.00 \u2502 300.00 \u2502\n"
            "\u2502 Request Latency (ms) \u2502 5,000.00 \u2502 400.00 \u2502 610.00 \u2502 600.00 \u2502\n"
            "\u2502 Output Token Throughput (per sec) \u2502 409.60 \u2502 N/A \u2502 N/A \u2502 N/A \u2502\n"
        ),
        _SERVED,
    ),
    "GuideLLM 0.2": ("benchmarks.json", json.dumps(_GUIDELLM), _SERVED),
    "GuideLLM 0.3, CSV": (
        "benchmarks.csv",
        (
            "Type,Run Id,Id,Name,Successful Requests,Successful Request Latency mean,Successful Time To First Token Ms mean,"
            "Successful Output Tokens Per Second mean,Worker\n"
            'generative_benchmark,r,a,concurrent@16,64,5.0,150.0,409.6,"{""backend_model"": ""Qwen/Qwen3-32B""}"\n'
        ),
        _SERVED,
    ),
    "EvalScope 0.7": ("benchmark_summary.json", json.dumps(_EVALSCOPE), _SERVED),
    "SGLang bench_one_batch, printed": (
        "one_batch.log",
        f"Warmup ...\n{_ONE_BATCH.format('9.40000')}Benchmark ...\n{_ONE_BATCH.format('0.40000')}",
        {"ttft": 0.4, "tpot": 0.02, "decode_throughput": 400.0, "e2e_latency": 0.7},
    ),
    "SGLang bench_one_batch_server, printed": (
        "one_batch_server.log",
        "batch size: 16\nlatency: 5.00 s\noutput throughput: 409.60 token/s\n(input + output) throughput: 2048.00 token/s\n",
        {"throughput": 409.6, "total_throughput": 2048.0, "e2e_latency": 5.0},
    ),
    "SGLang bench_offline_throughput": (
        "offline.log",
        (
            "====== Offline Throughput Benchmark Result =======\nBackend:                                 engine\n"
            "Successful requests:                     64\nOutput token throughput (tok/s):         409.60\n"
        ),
        {"throughput": 409.6},
    ),
    "vllm benchmark_throughput": (
        "throughput.log",
        "Namespace(model='Qwen/Qwen3-32B', input_len=1024)\nThroughput: 1.60 requests/s, 2048.00 tokens/s\n",
        {"total_throughput": 2048.0},
    ),
    "GuideLLM 0.3, printed": (
        "guidellm.log",
        (
            "Benchmarks Metadata:\n"
            "    Worker:         backend_type=openai_http, backend_target=http://h:8000, backend_model=Qwen/Qwen3-32B\n"
            "Benchmarks Stats:\n"
            "=====================\n"
            "Metadata     |Request Stats       || Out Tok/sec| Tot Tok/sec| Req Latency (sec)|||TTFT (ms)|||"
            " ITL (ms)||| TPOT (ms)||\n"
            "    Benchmark| Per Second| Concurrency|        mean|        mean| mean| median|  p99|  mean| median|"
            "   p99| mean| median| p99| mean| median| p99\n"
            "-------------|-----------|------------|\n"
            "concurrent@16|       1.60|       15.97|       409.6|      2048.0| 5.00|   4.99| 9.50| 150.0|  149.0|"
            " 310.0| 18.9|   18.9| 20.1| 18.9|   18.9| 20.1\n"
        ),
        {
            "throughput": 409.6,
            "total_throughput": 2048.0,
            "ttft": 0.15,
            "ttft_p99": 0.31,
            "tpot": 0.0189,
            "e2e_latency": 5.0,
        },
    ),
    "GuideLLM 0.1, printed": (
        "guidellm.txt",
        (
            "│ │ Performance Summary by Benchmark │ │\n"
            "│ │ ┃ Benchmark   ┃ Requests per Second ┃ Request Latency ┃ Time to First Token ┃ Inter Token Latency ┃"
            " Output Token Throughput ┃ │ │\n"
            "│ │ │ synchronous │ 1.60 req/sec        │ 5.00 sec        │ 150.00 ms           │ 18.90 ms            │"
            " 409.60 tokens/sec       │ │ │\n"
        ),
        _SERVED | {"tpot": 0.0189},
    ),
    "Locust --json": (
        "locust.json",
        json.dumps(
            [
                {
                    "method": "POST",
                    "name": name,
                    "last_request_timestamp": 1040.0,
                    "start_time": 1000.0,
                    "num_requests": 32,
                    "num_none_requests": 0,
                    "num_failures": 0,
                    "total_response_time": total,
                    "num_reqs_per_sec": {"1000": 2},
                }
                for name, total in (("/v1/completions", 100_000.0), ("/v1/chat/completions", 220_000.0))
            ]
        ),
        {"e2e_latency": 5.0, "throughput": 1.6},
    ),
    "Locust, quoted": (
        "run_stats.csv",
        (
            '"Type","Name","Request Count","Failure Count","Average Response Time","Requests/s","Failures/s"\n'
            '"POST","/v1",64,0,5000.0,1.6,0.0\n"","Aggregated",64,0,5000.0,1.6,0.0\n'
        ),
        {"e2e_latency": 5.0, "throughput": 1.6},
    ),
    "Locust, printed": (
        "locust.log",
        (
            "Type     Name          # reqs      # fails |    Avg     Min     Max    Med |   req/s  failures/s\n"
            "POST     /v1               64     0(0.00%) |   5000    1500    9500   4990 |    1.60        0.00\n"
            "         Aggregated        64     0(0.00%) |   5000    1500    9500   4990 |    1.60        0.00\n"
        ),
        {"e2e_latency": 5.0, "throughput": 1.6},
    ),
    "verl 0.2": (
        "verl.log",
        "".join(f"step:{at} - timing_s/gen:10.0 - timing_s/step:20.000\n" for at in (1, 2)),
        {"step_time": 20.0},
    ),
    "torchtitan 0.0": (
        "titan.log",
        "".join(f"step: {at:2}  loss:  7.1  memory: 40.6GiB  wps: 7,500  mfu: 30.35%\n" for at in (1, 2))
        + "validate step:  2  loss:  7.1  tps: 21,000\n",
        {"throughput": 7500.0, "mfu": 0.3035},
    ),
}
"""Name of the file, its text and the metrics in it, by what wrote it."""
