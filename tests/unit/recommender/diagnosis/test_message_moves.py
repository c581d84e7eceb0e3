"""Settings that messages name."""

import pytest

from recommender.diagnosis.message_moves import MessageMoves


def moves(program: str, line: str, further: str = "", **given: str) -> dict[str, str]:
    return {move.key: move.to for move in MessageMoves(program, given).moves(line, further)}


@pytest.mark.parametrize(
    ("program", "line", "found"),
    [
        (
            "vllm",
            "ValueError: max_num_batched_tokens (2048) is smaller than max_model_len (8192).",
            {"--max-num-batched-tokens": "at least 8192", "--max-model-len": "at most 2048"},
        ),
        (
            "vllm",
            "ValueError: max_num_batched_tokens (2048) is smaller than max_model_len (1048576).",
            {"--max-num-batched-tokens": "at least 1048576", "--max-model-len": "at most 2048"},
        ),
        (
            "vllm",
            "ValueError: LoRA rank 64 is greater than max_lora_rank 16.",
            {"--max-lora-rank": "at least 64"},
        ),
        ("vllm-ascend", "AssertionError: max_num_seqs=7 must be equal to 9 slots", {"--max-num-seqs": "9"}),
        (
            "verl",
            "AssertionError: real_train_batch_size (20) must be divisible by minimal possible batch size (16)",
            {"data.train_batch_size": "16 or 32"},
        ),
        (
            "vllm",
            "ERROR 01-02 03:04:05 [core.py:9] Try increasing `gpu_memory_utilization` or decreasing `max_model_len`.",
            {"--gpu-memory-utilization": "higher", "--max-model-len": "lower"},
        ),
        (
            "vllm",
            "ValueError: It fails. Please decrease GPU memory utilization.",
            {"--gpu-memory-utilization": "lower"},
        ),
        ("vllm", "ValueError: no graphs here, set --enforce-eager", {"--enforce-eager": "on"}),
        ("vllm", "ValueError: wrong backend, use --block-size 64 for it", {"--block-size": "64"}),
        (
            "ms-swift",
            "ValueError: The global train batch size (8 x 2) must be evenly divisible by num_generations (6).",
            {"--num_generations": "one of 2, 4, 8"},
        ),
        ("vllm", "ValueError: heads (32) must be divisible by tensor parallel size (8).", {}),
        ("vllm", "ValueError: --async-scheduling is set, which is not used if max_num_seqs is used", {}),
        (
            "mindie",
            "RuntimeError: no block. Please reduce maxSeqLen.",
            {"BackendConfig.ModelDeployConfig.maxSeqLen": "lower"},
        ),
        ("sglang", "Exception: disable graphs by --disable-cuda-graph", {"--disable-cuda-graph": "on"}),
        ("sglang", "4. disable graphs by --disable-cuda-graph. (Not recommended)", {}),
        ("no-program", "ValueError: max_lora_rank 4 is smaller than 8", {}),
    ],
)
def test_numbers_and_advice_move_settings_of_the_program(
    program: str, line: str, found: dict[str, str]
) -> None:
    assert moves(program, line) == found


def test_advice_may_stand_on_the_lines_that_follow() -> None:
    further = "1. set --mem-fraction-static to a smaller value (e.g., 0.8) 2. disable --enable-mixed-chunk"
    found = moves("sglang", "Exception: Capture cuda graph failed", further, mem_fraction_static="0.9")
    assert found == {"--mem-fraction-static": "lower", "--enable-mixed-chunk": "off"}


def test_a_known_pattern_names_the_values() -> None:
    line = "ValueError: found 5 but the limit of the adapters is larger than 2"
    pattern = "found {num} but the limit of the adapters is larger than {max_loras}"
    [move] = MessageMoves("vllm", {}).moves(line, patterns=[pattern])
    assert (move.key, move.to, move.current, move.origin) == ("--max-loras", "at least 5", "2", "log")


def test_advice_starts_from_what_the_log_tells() -> None:
    [move] = MessageMoves("vllm", {"max_num_seqs": "8"}).moves("ValueError: increase max_num_seqs")
    assert move.text == "--max-num-seqs higher than 8 (in the log)"


def test_an_argument_that_no_release_knows_is_met_by_the_nearest() -> None:
    line = "vllm serve: error: unrecognized arguments: --enable-chunk-prefill --max-model-lenght=8192 model"
    (first, second) = MessageMoves("vllm", {}).moves(line)
    assert first.text == "--enable-chunked-prefill in place of --enable-chunk-prefill"
    assert second.text == "--max-model-len in place of --max-model-lenght"


def test_an_argument_of_another_release_is_not_called_misspelt() -> None:
    assert moves("vllm", "vllm: error: unrecognized arguments: --max-num-seqs=8") == {}
