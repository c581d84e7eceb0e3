"""Tasks of models by their names."""

import pytest

from kg.terms.tasks import LENGTHS, task_of


@pytest.mark.parametrize(
    ("name", "task"),
    [
        ("Qwen/Qwen3-Embedding-8B", "embedding"), ("bge-m3", "embedding"), ("e5-mistral-7b", "embedding"),
        ("bge-reranker-v2-m3", "reranking"), ("qwen3-asr-1-7b", "transcription"),
        ("openai/whisper-large-v3", "transcription"), ("qwen3-8b", ""), ("gemma-2", ""), ("basrah-7b", ""),
    ],
)  # fmt: skip
def test_the_name_of_a_model_states_its_task(name: str, task: str) -> None:
    assert task_of(name) == task
    assert not task or LENGTHS[task]
