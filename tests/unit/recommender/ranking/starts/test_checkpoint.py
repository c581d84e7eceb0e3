"""The model in the command of a start: the one that was named, where its files are the ones that are priced."""

from dataclasses import replace

import pytest

from kg.errors import InputError, NoEvidenceError
from recommender.ranking.starts.weights import published_weights
from recommender.workspace.workspace import Workspace
from tests.unit.recommender.ranking.starts.situations import recipe, weighed


@pytest.mark.parametrize(
    ("name", "precision", "served"),
    [
        ("Qwen/Qwen3-32B", None, "Qwen/Qwen3-32B"),
        ("qwen3-32b", None, "Qwen/Qwen3-32B"),
        ("qwen3-32b", "w4a16", "MODEL"),
        ("qwen3-32b", "fp8", "Qwen/Qwen3-32B-FP8"),
        ("Qwen/Qwen3-32B", "fp8", "Qwen/Qwen3-32B-FP8"),
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


def test_weights_in_another_format_are_named_and_their_accuracy_is_said(shipped: Workspace) -> None:
    about = {"model": "qwen3-32b", "phase": "serving", "hardware": "ascend-910b3", "count": 4}
    answer = shipped.recommend(about)
    assert answer.plan is not None
    assert answer.plan.start.checkpoint == "vllm-ascend/Qwen3-32B-W8A8"
    assert "weights in int8, whose accuracy is not known here" in answer.plan.start.needs


@pytest.mark.parametrize(
    ("repository", "found"),
    [("nvidia/Pine-8B-FP8", "nvidia/Pine-8B-FP8"), ("somebody/Pine-8B-FP8", ""), ("nvidia/Pine-8B-INT8", "")],
)
def test_only_repositories_of_known_publishers_are_served_unasked(repository: str, found: str) -> None:
    [behind] = weighed(replace(recipe("r", {}), model="pine-8b", reported_model=repository))
    assert published_weights([behind], "pine-8b", "pines/Pine-8B", "fp8") == found


def test_a_split_of_a_block_of_scales_is_refused_where_the_weights_have_such(shipped: Workspace) -> None:
    about = {
        "model": "Qwen/Qwen3-235B-A22B-FP8", "phase": "serving", "hardware": "h200", "count": 8,
        "software": {"sglang": ""}, "current": {"tp_size": 8, "ep_size": 1},
    }  # fmt: skip
    with pytest.raises(InputError, match="1536 columns of an expert"):
        shipped.recommend(about)
    own = {**about, "model": "Qwen/Qwen3-235B-A22B", "current": {"tp_size": 8, "quantization": "fp8"}}
    answer = shipped.recommend(own)
    assert answer.plan is not None
    assert answer.plan.start.layout is not None
    assert (answer.plan.start.layout.tp, answer.plan.start.layout.ep) == (8, 1)


def test_the_batch_size_of_llama_cpp_is_no_number_of_requests(shipped: Workspace) -> None:
    about = {"model": "qwen2.5-14b", "phase": "serving", "hardware": "rtx-4090", "precision": "q4_k_m"}
    settings = {"ctx_size": 8192, "parallel": 4}
    rates = []
    for current in (settings, {**settings, "batch_size": 512}):
        answer = shipped.recommend({**about, "software": {"llama.cpp": ""}, "current": current})
        assert answer.plan is not None
        assert answer.plan.start.fits
        rates.append(answer.plan.start.expected[0].value)
    assert rates[1] == pytest.approx(rates[0], rel=0.1)  # a prompt is read in two batches
