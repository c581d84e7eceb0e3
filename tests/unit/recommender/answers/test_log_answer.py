"""Answers to logs: what runs short in which program, and what to set."""

from pathlib import Path
from typing import Any

import pytest

from recommender.answers.log_answer import LogAnswer

VLLM = (
    "INFO 01-02 03:04:05 [loggers.py:9] Engine 000: Avg prompt throughput: 1.0 tokens/s, Avg generation throughput: "
    "2.0 tokens/s, Running: {} reqs, Waiting: {} reqs, GPU KV cache usage: {}%, Prefix cache hit rate: 0.0%\n"
)
SGLANG = "[2026-01-02 03:04:05 TP0] Decode batch. #running-req: {}, #token: 9, token usage: {}, gen throughput (token/s): 4.0, #queue-req: {}\n"
OUT_OF_MEMORY = "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB.\n"


@pytest.fixture
def answer(tmp_path: Path, shipped: Any) -> Any:
    def read(text: str) -> LogAnswer:
        log = tmp_path / "run.log"
        log.write_text(text)
        found: LogAnswer = shipped.profiles.log(log)
        return found

    return read


def test_out_of_memory_is_met_by_the_program_that_ran(answer: Any) -> None:
    trains = answer(OUT_OF_MEMORY)
    assert "gradient-checkpointing" in trains.strategies["cuda-out-of-memory"]
    assert trains.lacks == {}
    serves = answer('File "/x/vllm/v1/worker.py", line 3\n' + OUT_OF_MEMORY)
    assert serves.server == "vllm"
    assert "gradient-checkpointing" not in serves.strategies["cuda-out-of-memory"]
    first = serves.lacks["device-memory"][0]
    assert (first.key, first.to) == ("--gpu-memory-utilization", "lower")


@pytest.mark.parametrize(
    ("function", "first"),
    [
        ("load_model", "--tensor-parallel-size"),
        ("determine_available_memory", "--max-num-batched-tokens"),
        ("capture_model", "--gpu-memory-utilization"),
        ("execute_model", "--gpu-memory-utilization"),
    ],
)
def test_what_helps_against_a_lack_of_memory_depends_on_where_the_server_was(
    answer: Any, function: str, first: str
) -> None:
    frames = "".join(
        f'ERROR File "/x/vllm/v1/worker/gpu_worker.py", line 9, in {name}\n'
        for name in ("run", function, "torch_call")
    )
    [(_, moves)] = answer(frames + OUT_OF_MEMORY).lacks.items()
    assert moves[0].key == first
    assert ("--gpu-memory-utilization" in {move.key for move in moves}) == (
        first == "--gpu-memory-utilization"
    )


def test_a_lack_of_cache_is_moved_by_the_flags_of_its_server(answer: Any) -> None:
    found = answer(SGLANG.format(9, 0.99, 5))
    assert found.reading.faults == ()
    moves = {move.key: move.to for move in found.lacks["kv-block-shortage"]}
    assert moves["--schedule-conservativeness"] == "higher"
    assert moves["--mem-fraction-static"] == "higher"
    assert all(not move.to.replace(".", "").isdigit() for move in found.lacks["kv-block-shortage"])


def test_a_limit_of_running_requests_is_raised_from_where_it_stands(answer: Any) -> None:
    [move] = answer(VLLM.format(128, 40, 50.0) * 3).lacks["running-limit"]
    assert (move.key, move.to, move.current) == ("--max-num-seqs", "higher", "128")
    assert move.brings == pytest.approx(1.8)  # up to nine tenths of the cache


def test_against_a_short_cache_stands_what_each_setting_brings(answer: Any) -> None:
    load = VLLM.format(100, 50, 99.0) * 2
    told = (
        "INFO 01-02 03:04:05 [x.py:9] Model loading took 30.0 GiB and 2 seconds\n"
        "INFO 01-02 03:04:05 [x.py:9] Available KV cache memory: 15.0 GiB\n"
        "INFO 01-02 03:04:05 [x.py:9] non-default args: {'tensor_parallel_size': 2}\n"
    )
    moves = {move.key: move for move in answer(told + load).lacks["kv-block-shortage"]}
    assert (moves["--kv-cache-dtype"].brings, moves["--kv-cache-dtype"].suffices) == (2, True)
    wider = moves["--tensor-parallel-size"]  # twice the tokens a byte, and half of the weights' room besides
    assert (wider.value, wider.brings, wider.suffices) == ("4", 4, True)
    assert moves["--max-num-seqs"].value == "88"
    more = answer(told + VLLM.format(100, 150, 99.0)).lacks["kv-block-shortage"]
    assert {move.key: move.suffices for move in more}["--kv-cache-dtype"] is False


def test_a_scheduler_that_waits_with_free_cache_is_too_careful(answer: Any) -> None:
    found = answer(SGLANG.format(9, 0.5, 5) + SGLANG.format(40, 0.6, 5) * 2 + SGLANG.format(20, 0.6, 5) * 4)
    assert [(move.key, move.to) for move in found.lacks["conservative-scheduler"]] == [
        ("--schedule-conservativeness", "lower")
    ]


def test_the_log_of_a_server_without_an_error_is_understood_and_another_text_is_not(answer: Any) -> None:
    assert answer(VLLM.format(3, 0, 5.0)).is_understood
    assert not answer("# Title\nSome words about training on many devices.\n").is_understood
    assert not answer(VLLM.format(3, 0, 5.0) + "OddError: nobody knows\n").is_understood


@pytest.mark.parametrize(
    ("line", "is_fine"),
    [
        ("INFO 01-02 03:04:05 [x.py:9] optional thing failed to load", True),
        ("2026-01-02 03:04:05,006 - odd - INFO - error: 0", True),
        ("ERROR 01-02 03:04:05 [x.py:9] odd thing failed, set NCCL_DEBUG=INFO", False),
        ("odd thing failed", False),
        ("host:1:2 [0] NCCL INFO odd call failed", False),
    ],
)
def test_what_a_program_calls_a_line_of_state_is_no_error(answer: Any, line: str, is_fine: bool) -> None:
    assert answer(VLLM.format(3, 0, 5.0) + line + "\n").is_understood is is_fine


def test_the_largest_block_follows_from_what_fits(answer: Any) -> None:
    line = "error: ub overflow, requires 3072 bits while 1536 bits available!\n"
    assert answer("BLOCK_SIZE=4096\n" + line).block == ("BLOCK_SIZE", 4096, 2048)
    assert answer(line).block is None
    assert answer("BLOCK_M=4\nBLOCK_N=8\n" + line).block is None


def test_what_is_only_claimed_is_tried_against_no_fault(answer: Any) -> None:
    assert answer("fused operator slower\n").strategies["fused-slower-than-unfused"] == ("larger-tile",)


def test_what_only_says_that_something_failed_comes_last(answer: Any) -> None:
    found = answer(
        "ValueError: No available memory for the cache blocks\n"
        "RuntimeError: Engine core initialization failed. See root cause above.\n"
    )
    assert [item.fault.id for item in found.reading.faults] == ["vllm-cache-below-length", "engine-died"]


def test_the_cost_model_adds_what_the_log_does_not_tell(answer: Any) -> None:
    found = answer(
        "INFO 01-02 03:04:05 [utils.py:9] non-default args: {'model': 'Qwen/Qwen2.5-32B-Instruct', "
        "'max_model_len': 16384}\n"
        "INFO 01-02 03:04:05 [gpu_worker.py:9] Available KV cache memory: -15.43 GiB\n"
        "ERROR 01-02 03:04:06 [core.py:9] ValueError: No available memory for the cache blocks.\n"
    )
    assert 58 < found.modelled["weights"] < 62
    assert found.modelled["needed"] == pytest.approx(64 * 2 * 8 * 128 * 2 * 16384 / 2**30)
    parallel = next(item for item in found.lacks["cache-length"] if item.key == "--tensor-parallel-size")
    assert parallel.value == "2"


def test_an_error_of_no_table_is_met_by_its_own_words(answer: Any) -> None:
    found = answer(
        "INFO 01-02 03:04:05 [utils.py:9] hello\n"
        "ERROR 01-02 03:04:06 [core.py:9] OddError: the odd slots (9) are larger than max_num_seqs (4)\n"
    )
    assert found.is_understood
    [move] = found.cures[2].moves
    assert (move.key, move.to, move.current) == ("--max-num-seqs", "at least 9", "4")


@pytest.mark.parametrize("tail", ["", " " + "x" * 900])
def test_a_number_that_a_line_cuts_is_no_number(answer: Any, tail: str) -> None:
    first = "INFO 01-02 03:04:05 [utils.py:9] hello\n"
    line = (
        f"ERROR 01-02 03:04:06 [core.py:9] OddError:{tail} the odd slots (9) are larger than max_num_seqs (4"
    )
    assert answer(first + line).cures == {}
    assert answer(first + line + ")").cures[2].moves[0].to == "at least 9"
    far = f"ERROR 01-02 03:04:06 [core.py:9] OddError: {'a ' * 479}slots (9) are larger than max_num_seqs (4567)\n"
    assert answer(first + far).cures == {}


def test_drafts_that_are_rejected_are_fewer(answer: Any) -> None:
    line = "INFO 01-02 03:04:05 [metrics.py:9] SpecDecoding metrics: Per-position acceptance rate: 0.700, 0.300, {}\n"
    few = answer(VLLM.format(3, 0, 5.0) + line.format("0.010") + line.format("0.030"))
    assert few.load.accepted == pytest.approx((0.7, 0.3, 0.02))
    [move] = few.lacks["drafts-rejected"]
    assert (move.key, move.value) == ("speculative_config.num_speculative_tokens", "2")
    assert "drafts-rejected" not in answer(VLLM.format(3, 0, 5.0) + line.format("0.200")).lacks


def test_prefills_that_block_decoding_are_seen_beside_samples_without(answer: Any) -> None:
    line = VLLM.replace("throughput: 1.0", "throughput: {p}").replace("2.0 tokens/s, R", "{g} tokens/s, R")
    rows = [(9000, 10.0), (9000, 12.0), (0, 100.0), (0, 90.0)]
    text = "".join(line.replace("{p}", str(p)).replace("{g}", str(g)).format(4, 0, 5.0) for p, g in rows)
    found = answer(text)
    assert found.load.decode_rates == (2.75, 23.75)
    assert found.lacks["prefill-blocks-decode"][0].key == "--max-num-batched-tokens"
    alike = text.replace("100.0", "11.0").replace("90.0", "11.0")
    assert "prefill-blocks-decode" not in answer(alike).lacks


@pytest.mark.parametrize(
    ("component", "first"),
    [
        ("Model", "--tp_size"),
        ("KV cache", "kv_cache_config.free_gpu_memory_fraction"),
        ("Additional executor resources", "--max_num_tokens"),
        ("Sampler", "--max_seq_len"),
    ],
)
def test_the_part_that_did_not_fit_says_what_to_set(answer: Any, component: str, first: str) -> None:
    found = answer(
        "[TRT-LLM] [I] max_seq_len=4096, max_num_requests=64, max_num_tokens=16384, max_batch_size=64\n"
        "[TRT-LLM] [E] Executor creation failed due to insufficient GPU memory.\n\n"
        f"The following component could not be created: {component}\nTotal GPU memory (GiB): 79.10\n"
    )
    [(_, moves)] = found.lacks.items()
    assert moves[0].key == first
    assert found.reading.faults[0].values["capacity"] == "79.10"
    assert {move.current for move in moves if move.key == "--max_num_tokens"} <= {"16384"}


def test_requests_that_wait_for_a_start_or_a_server_out_of_memory_are_no_careful_scheduler(
    answer: Any,
) -> None:
    assert answer(SGLANG.format(0, 0.0, 5)).lacks == {}
    waits = SGLANG.format(9, 0.4, 5) + SGLANG.format(4, 0.4, 5) * 2
    assert [*answer(waits).lacks] == ["conservative-scheduler"]
    out = answer(waits + OUT_OF_MEMORY)
    assert [*out.lacks] == ["device-memory"]


def test_memory_of_a_rollout_is_met_by_what_the_launch_overrode(answer: Any) -> None:
    [(lack, moves)] = answer(
        "(TaskRunner pid=1) verl\nError executing job with overrides: "
        "['actor_rollout_ref.rollout.gpu_memory_utilization=0.8']\n"
        '  File "/x/rollout.py", line 3, in wake_up\n' + OUT_OF_MEMORY
    ).lacks.items()
    assert lack == "memory-while-waking"
    assert (moves[0].current, moves[0].origin) == ("0.8", "log")


def test_an_adapter_that_repeats_what_hccl_said_stands_behind_it(answer: Any) -> None:
    found = answer(
        "RuntimeError: create:x.ts:212 HCCL function error: HcclCommInit(), error code is 4\n"
        "ERR02200 DIST call hccl api failed.\nEI0014: [PID: 1] inconsistent\n"
    )
    assert found.reading.faults[-1].fault.id == "pta-call-hccl-api-failed"
    assert found.reading.unknown == ()


def test_a_page_of_another_server_is_answered_by_its_own_settings(answer: Any) -> None:
    page = "num_requests_running 200\nnum_requests_waiting 8\nnpu_cache_usage_perc 0.3\n"
    [moves] = answer("INFO 11-02 10:01:12 [x.py:1] vLLM API server version 0.11.0\n" + page).lacks.values()
    assert [(move.key, move.value) for move in moves] == [
        ("BackendConfig.ScheduleConfig.maxBatchSize", "600")
    ]
