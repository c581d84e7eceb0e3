"""Pairs of siblings: what they lack, and what counts as a leak."""

import random
import re

import pytest

from benchmarks.answers.siblings import WORDS, lacking, pairs, shipped_models, situation

MODELS = {model.id: model for model in shipped_models()}


def test_what_a_model_lacks_follows_from_its_configuration() -> None:
    dense = lacking(MODELS["qwen3-8b"])
    assert {"images", "experts", "latent", "pooling"} <= dense
    sparse = lacking(MODELS["deepseek-v3-2"])
    assert not sparse & {"experts", "shared expert", "latent", "sparse", "drafts of its own"}
    assert "pooling" not in lacking(MODELS["qwen3-embedding-0-6b"])


def test_pairs_are_of_one_family_or_one_model_and_differ() -> None:
    drawn = list(pairs(MODELS, random.Random(3), 60))
    assert len(drawn) == 60
    assert all(one.words != other.words for one, other in drawn)
    assert all(MODELS[one.model].family == MODELS[other.model].family for one, other in drawn)
    assert drawn == list(pairs(MODELS, random.Random(3), 60))


@pytest.mark.parametrize(
    ("written", "part"),
    [
        ("mm_encoder_tp_mode=data", "images"),
        ("moe_token_dispatcher_type=alltoall", "experts"),
        ("vllm_ascend_enable_mlapo=1", "latent"),
        ("speculative_config.method=mtp", "drafts of its own"),
        ("max_loras=4", "adapters"),
    ],
)
def test_words_say_the_part(written: str, part: str) -> None:
    assert re.search(WORDS[part], written)


@pytest.mark.parametrize("written", ["mla_mm_split=true", "max_num_seqs=8", "kv_lora_rank=512"])
def test_words_pass_over_what_only_looks_alike(written: str) -> None:
    assert not re.search(WORDS["images"], written)
    assert not re.search(WORDS["adapters"], written)


def test_training_has_no_drafts_and_a_chip_may_lack_formats() -> None:
    training = situation(MODELS["qwen3-8b"], "ascend-310p3", "training")
    assert {"drafts", "bfloat16", "adapters"} <= training.lacks
    assert (
        "adapters" not in situation(MODELS["qwen3-8b"], "a100-sxm-80gb", "training", has={"adapters"}).lacks
    )
