"""A model's config.json as sizes."""

from __future__ import annotations

import json

import pytest

from ingest.questions.launches.model_config import read_config
from kg.errors import InputError

QWEN3 = {
    "architectures": ["Qwen3ForCausalLM"], "hidden_size": 4096, "num_hidden_layers": 36, "vocab_size": 151936,
    "num_attention_heads": 32, "num_key_value_heads": 8, "intermediate_size": 12288, "head_dim": 128,
    "torch_dtype": "bfloat16",
}  # fmt: skip


def test_sizes_and_format() -> None:
    told = read_config(json.dumps(QWEN3), "config.json")
    assert told.question == {
        "sizes": {
            "hidden_size": 4096, "layers": 36, "vocabulary_size": 151936, "attention_heads": 32, "kv_heads": 8,
            "intermediate_size": 12288, "head_dim": 128, "architecture": "decoder",
        },
        "precision": "bfloat16",
    }  # fmt: skip
    assert told.notes == ()


@pytest.mark.parametrize(
    ("changes", "architecture"),
    [
        ({"num_experts": 128, "num_experts_per_tok": 8}, "moe-decoder"),
        ({"architectures": ["BertForMaskedLM"]}, "encoder"),
        ({"is_encoder_decoder": True}, "encoder-decoder"),
        ({"vision_config": {"a": 1}}, "multimodal"),
    ],
)
def test_kinds_of_networks(changes: dict[str, object], architecture: str) -> None:
    told = read_config(json.dumps({**QWEN3, **changes}), "c").question["sizes"]
    assert isinstance(told, dict)
    assert told["architecture"] == architecture


def test_the_text_part_of_a_multimodal_model_is_read_and_said() -> None:
    told = read_config(json.dumps({"text_config": QWEN3, "vision_config": {"a": 1}}), "c.json")
    assert told.notes == ("c.json: the sizes are those of its text part",)


def test_a_size_that_is_none_is_listed() -> None:
    told = read_config(json.dumps({**QWEN3, "num_key_value_heads": [8, 4]}), "c")
    assert told.notes == ("c: could not be read: kv_heads is [8, 4]",)


@pytest.mark.parametrize("text", ["no json", "[1]", "{}", '{"hidden_size": 8}', "[" * 5000])
def test_something_else_is_a_fault(text: str) -> None:
    with pytest.raises(InputError):
        read_config(text, "c")
