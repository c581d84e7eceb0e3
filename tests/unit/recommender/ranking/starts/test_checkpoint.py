"""The model in the command of a start: the one that was named, where its files are the ones that are priced."""

import pytest

from kg.errors import NoEvidenceError
from recommender.workspace.workspace import Workspace


@pytest.mark.parametrize(
    ("name", "precision", "served"),
    [
        ("Qwen/Qwen3-32B", None, "Qwen/Qwen3-32B"),
        ("qwen3-32b", None, "Qwen/Qwen3-32B"),
        ("qwen3-32b", "w4a16", "MODEL"),
        ("Qwen/Qwen3-32B-AWQ", None, "Qwen/Qwen3-32B-AWQ"),
        ("Qwen/Qwen3-32B", "w4a16", "MODEL"),
    ],
)
def test_the_command_serves_the_named_checkpoint(
    shipped: Workspace, name: str, precision: str | None, served: str
) -> None:
    question = {"model": name, "phase": "serving", "hardware": "h100-sxm", "software": {"vllm": "0.20.0"}}
    if precision:
        question["precision"] = precision
    answer = shipped.recommend(question)
    assert answer.plan is not None
    command = next(line for line in answer.plan.start.paste_lines if line.startswith("vllm"))
    assert command.split()[2] == served


@pytest.mark.parametrize(
    ("model", "hardware", "software", "told"),
    [
        ("BAAI/bge-m3", "h100-sxm", {}, "--runner pooling"),
        ("BAAI/bge-m3", "ascend-910b3", {}, "--runner pooling"),
        ("Alibaba-NLP/gte-Qwen2-7B-instruct", "h100-sxm", {"vllm": "0.9.1"}, "--task embed"),
        ("Qwen/Qwen3-Reranker-8B", "h100-sxm", {}, '"is_original_qwen3_reranker": true'),
        ("Qwen/Qwen3-Reranker-8B", "h100-sxm", {"vllm": "0.9.1"}, "--task score"),
        ("Qwen/Qwen3-Embedding-8B", "h100-sxm", {"sglang": ""}, "--is-embedding"),
        ("openai/whisper-large-v3", "h100-sxm", {}, "vllm serve openai/whisper-large-v3"),
        ("openai/whisper-large-v3", "ascend-910b3", {}, ""),
    ],
)
def test_a_server_is_told_what_it_answers_with_as_its_release_takes_it(
    shipped: Workspace, model: str, hardware: str, software: dict[str, str], told: str
) -> None:
    question = {"model": model, "phase": "serving", "hardware": hardware, "count": 1, "software": software}
    answer = shipped.recommend(question)
    assert answer.plan is not None
    text = " ".join(" ".join(answer.plan.start.paste_lines).replace("\\", "").split())
    assert told in text
    assert ("vllm serve" in text) == bool(told and "sglang" not in software)
    assert "--runner pooling" not in text or "whisper" not in model


def test_what_a_list_says_is_not_served_is_refused_by_name(shipped: Workspace) -> None:
    question = {
        "model": "openai/whisper-large-v3",
        "phase": "serving",
        "hardware": "ascend-910b3",
        "count": 1,
    }
    with pytest.raises(NoEvidenceError, match="vllm-ascend says that it does not serve"):
        shipped.recommend({**question, "software": {"vllm": ""}})
