"""Draft models by name: of a model, for a program, of the weights that they were trained for."""

import csv

import pytest

import data
from recommender.applicability.draft_heads import draft_head, drafted_by

PLAIN, EDITION = "Qwen/Qwen3-30B-A3B", "Qwen/Qwen3-30B-A3B-Instruct-2507"


@pytest.mark.parametrize(
    ("model", "program", "checkpoint", "named"),
    [
        ("qwen3-32b", "vllm", "", "RedHatAI/Qwen3-32B-speculator.eagle3"),
        ("kimi-k2", "cuda", "", "AQ-MedAI/Kimi-K2-Instruct-eagle3"),  # no program is told
        ("gpt-oss-120b", "vllm-ascend", "", "nvidia/gpt-oss-120b-Eagle3-v3"),  # what vLLM loads
        ("gpt-oss-120b", "sglang", "", "nvidia/gpt-oss-120b-Eagle3"),
        ("llama-3-1-8b", "tensorrt-llm", "", "yuhuili/EAGLE3-LLaMA3.1-Instruct-8B"),
        ("qwen3-30b-a3b", "sglang", EDITION, "lmsys/SGLang-EAGLE3-Qwen3-30B-A3B-Instruct-2507-SpecForge-Nex"),
        ("qwen3-30b-a3b", "sglang", PLAIN, "nvidia/Qwen3-30B-A3B-Eagle3"),
        ("qwen3-30b-a3b", "vllm", PLAIN, None),
        ("qwen3-14b", "sglang", "", None),
    ],
)
def test_a_head_is_of_the_program_and_of_the_weights(
    model: str, program: str, checkpoint: str, named: str | None
) -> None:
    head = draft_head(model, "EAGLE3", (program,), checkpoint)
    assert (head.name if head else None) == named
    assert ("eagle3" in drafted_by(model, (program,), checkpoint)) is (named is not None)


def test_a_date_alone_tells_no_other_weights_where_no_name_is_told() -> None:
    names = {"", "mistralai/Mistral-Small-4-119B-2603"}
    assert {draft_head("mistral-small-4-119b", "eagle", ("vllm",), one) for one in names} != {None}


def test_each_row_pins_its_document() -> None:
    rows = list(csv.DictReader(data.text("models/drafts.csv").splitlines()))
    keys = [(row["model"], row["checkpoint"], row["method"], row["software"]) for row in rows]
    assert len(set(keys)) == len(keys)
    assert all("/" in row["head"] and "/blob/" in row["source"] for row in rows)
