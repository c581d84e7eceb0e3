"""Blocks of a model by kind."""

from dataclasses import replace

import pytest

from recommender.cost_model.facts.model import blocks_of, model_of
from tests.unit.recommender.cost_model.machines import model


def test_a_plain_model_has_one_kind_of_block() -> None:
    ((count, block),) = blocks_of(model("qwen3-32b"))
    assert count == model("qwen3-32b").layers
    assert blocks_of(block) == ((1.0, block),)


@pytest.mark.parametrize("name", ["deepseek-v3", "deepseek-v3-2", "qwen3-next-80b-a3b", "gpt-oss-120b"])
def test_blocks_are_as_many_as_layers_and_each_is_of_one_kind(name: str) -> None:
    sizes = model(name)
    kinds = blocks_of(sizes)
    assert sum(count for count, _ in kinds) == pytest.approx(sizes.layers)
    assert len(kinds) > 1
    for _, block in kinds:
        assert blocks_of(block) == ((1.0, block),)
    dense = sum(count for count, block in kinds if not block.experts)
    assert dense == sizes.dense_layers
    assert sum(count for count, block in kinds if block.linear_layers) == sizes.linear_layers
    assert sum(count for count, block in kinds if block.window_layers) == sizes.window_layers


def test_some_blocks_may_take_the_choice_of_those_before() -> None:
    own = model("deepseek-v3-2")
    few = replace(own, index_layers=21.0)
    assert [(count, block.is_indexed, bool(block.experts)) for count, block in blocks_of(few)] == [
        (3.0, True, False),
        (18.0, True, True),
        (own.layers - 21, False, True),
    ]
    assert all(block.is_indexed for _, block in blocks_of(own))


def test_parameters_are_those_of_all_blocks() -> None:
    sizes = model("qwen3-next-80b-a3b")
    linear, full = (
        next(b.own_attention_parameters for _, b in blocks_of(sizes) if b.is_linear is kind)
        for kind in (True, False)
    )
    share = sizes.linear_layers / sizes.layers
    assert sizes.attention_parameters == pytest.approx(share * linear + (1 - share) * full)


def test_experts_of_a_latent_width_are_as_large_as_the_parameters_say() -> None:
    for name in ("nemotron-3-super", "kimi-k3"):
        sizes = model(name)
        assert sizes.parameters == pytest.approx(sizes.known_parameters, rel=0.02)


def test_feed_forward_blocks_that_stand_alone_hold_no_cache() -> None:
    facts = {"layers": 10, "hidden_size": 64, "attention_heads": 4, "intermediate_size": 256}
    mixed = model_of("x", "decoder", facts | {"full_attention_layers": 1, "linear_attention_layers": 5})
    assert (mixed.layers, mixed.linear_layers) == (6.0, 5.0)
    assert model_of("x", "decoder", facts).layers == 10.0
    assert model("deepseek-v4-flash").layers == 43.0  # two layers compress nothing, and attend


def test_state_space_models_are_as_large_as_they_say() -> None:
    """Blocks of Nemotron-H have no gate, those of Mamba-2 no feed-forward part."""
    for name, share in (
        ("nemotron-h-8b", 0.07),
        ("nemotron-h-56b", 0.02),
        ("mamba2-2-7b", 0.01),
        ("mamba2-8b", 0.11),
    ):
        sizes = model(name)
        assert sizes.is_linear
        assert sizes.parameters == pytest.approx(sizes.known_parameters, rel=share)
