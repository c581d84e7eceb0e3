"""How many tokens a checkpoint takes, by its name."""

import pytest

from kg.terms.dated_models import positions_of


@pytest.mark.parametrize(
    ("checkpoint", "model", "most", "expected"),
    [
        ("Qwen/Qwen3-30B-A3B-Instruct-2507-FP8", "qwen3-30b-a3b", 40960, 262144),
        ("Qwen/Qwen3-30B-A3B", "qwen3-30b-a3b", 40960, 40960),
        ("org/Model-8B-Instruct-2509", "model-8b", 40960, None),
        ("org/Small-2506", "small", 131072, 131072),
        ("microsoft/Phi-3-mini-128k-instruct", "phi-3-mini", 4096, 131072),
        ("microsoft/Phi-3-mini-4k-instruct", "phi-3-mini", 4096, 4096),
        ("org/Llama-3-8B-Instruct-1048k", "llama-3-8b", 8192, 1_048_000),
        ("Qwen/Qwen2.5-7B-Instruct-1M", "qwen2-5-7b", 131072, 1_000_000),
        ("/home/me/pretrain_qwen3_8b_4k", "qwen3-8b", 40960, 40960),
    ],
)
def test_a_checkpoint_takes_what_its_name_or_date_says(
    checkpoint: str, model: str, most: int, expected: int | None
) -> None:
    assert positions_of(checkpoint, model, [model, "Small-2506"], most) == expected
