"""Networks known by their operations: found by name without its edition, with the page that states them."""

import pytest

from kg.nouns.knowledge import Model
from kg.triples.model_facts import facts_of
from kg.triples.network_table import network_facts


@pytest.mark.parametrize(
    "text",
    [
        "Ascend/ResNeSt50d_ID1234_for_PyTorch",
        "ResNeSt50d_mmlab_for_Pytorch",
        "resnest50d_0a1b2c3_for_PyTorch",
    ],
)
def test_an_edition_is_no_part_of_a_name(text: str) -> None:
    assert network_facts(text) == network_facts("resnest50d")
    assert network_facts(text)


def test_operations_are_twice_the_multiply_adds_of_the_page() -> None:
    facts = network_facts("xception")
    assert facts["flops_per_sample"] == pytest.approx(2 * 8.4e9, rel=0.01)
    assert str(facts["operations_source"]).startswith("https://github.com/huggingface/pytorch-image-models")


def test_operations_of_convolutions_go_with_the_area_of_the_input() -> None:
    small, large = network_facts("resnet50"), network_facts("FixRes_for_PyTorch")
    ratio = float(large["flops_per_sample"]) / float(small["flops_per_sample"])
    assert ratio == pytest.approx((384 / float(small["image_size"])) ** 2, rel=1e-6)
    assert "resnet50 at 384 x 384" in str(large["operations_source"])


def test_an_unknown_network_has_no_facts() -> None:
    assert not network_facts("a-network-nobody-made")


def test_facts_of_the_graph_win_over_the_table() -> None:
    bare = Model(id="xception", labels={"en": "Xception"}, family="xception", architecture="vision")
    assert facts_of(bare)["flops_per_sample"] == network_facts("xception")["flops_per_sample"]
