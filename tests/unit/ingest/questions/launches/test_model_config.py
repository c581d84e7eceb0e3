"""A model's config.json as sizes."""

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
            "intermediate_size": 12288, "head_dim": 128, "architecture": "decoder", "attention_kind": "full",
        },
        "precision": "bfloat16",
    }  # fmt: skip
    assert told.notes == ()


@pytest.mark.parametrize(
    ("changes", "architecture"),
    [
        ({"num_experts": 128, "num_experts_per_tok": 8}, "moe-decoder"),
        ({"architectures": ["BertForMaskedLM"]}, "encoder"),
        ({"architectures": ["XLMRobertaModel"]}, "encoder"),
        ({"architectures": ["BertLMHeadCausalLM"]}, "decoder"),
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


def _sizes(**config: object) -> dict[str, object]:
    sizes = read_config(json.dumps(config), "config.json").question["sizes"]
    assert isinstance(sizes, dict)
    return sizes


def test_an_encoder_and_its_decoder_are_layers_of_one_model() -> None:
    whisper = _sizes(
        model_type="whisper", d_model=1280, encoder_layers=32, decoder_layers=32, encoder_attention_heads=20,
        encoder_ffn_dim=5120, vocab_size=51866, is_encoder_decoder=True,
    )  # fmt: skip
    assert (whisper["layers"], whisper["attention_heads"], whisper["intermediate_size"]) == (64, 20, 5120)
    t5 = _sizes(model_type="t5", d_model=768, d_ff=3072, d_kv=64, num_layers=12, num_decoder_layers=12,
                num_heads=12, vocab_size=32128)  # fmt: skip
    assert (t5["layers"], t5["head_dim"]) == (24, 64)


def test_a_state_space_model_has_layers_whose_state_does_not_grow() -> None:
    mamba = _sizes(model_type="mamba2", hidden_size=4096, num_hidden_layers=64, num_heads=128, head_dim=64,
                   state_size=128, expand=2, vocab_size=32768)  # fmt: skip
    names = ("linear_attention_layers", "attention_heads", "linear_key_head_dim", "linear_key_heads")
    assert [mamba[name] for name in names] == [64, 128, 128, 8]
    assert mamba["linear_value_heads"] == 128


@pytest.mark.parametrize("stated", [None, "two", 0, True])
def test_a_size_of_a_state_that_is_none_is_the_usual_one(stated: object) -> None:
    mamba = _sizes(model_type="mamba2", hidden_size=4096, num_hidden_layers=64, expand=stated,
                   vocab_size=32768)  # fmt: skip
    assert mamba["attention_heads"] == 2 * 4096 // 64


def test_layers_with_a_window_are_told_apart_by_the_pattern() -> None:
    gemma = _sizes(hidden_size=2560, intermediate_size=10240, num_hidden_layers=34, num_attention_heads=8,
                   num_key_value_heads=4, head_dim=256, sliding_window=1024, sliding_window_pattern=6)  # fmt: skip
    assert (gemma["sliding_attention_layers"], gemma["full_attention_layers"], gemma["sliding_window"]) == (
        29,
        5,
        1024,
    )


def test_blocks_that_share_an_index_are_told_from_those_that_have_one() -> None:
    glm = _sizes(hidden_size=6144, intermediate_size=12288, num_hidden_layers=6, num_attention_heads=64,
                 index_topk=2048, indexer_types=["full", "full", "shared", "shared", "shared", "full"])  # fmt: skip
    assert glm["index_layers"] == 3


def test_a_size_beyond_any_number_is_refused() -> None:
    text = '{"hidden_size": %s, "num_hidden_layers": 32, "num_attention_heads": 32}' % ("9" * 400)
    with pytest.raises(InputError, match="a number of 400 digits"):
        read_config(text, "config.json")
