"""Tiles that can run: the space and the rules of a recommendation say the same."""

from __future__ import annotations

from itertools import product

import pytest

from kg.errors import InfeasibleError, InputError
from kg.values import Settings
from recommender.cost_model.device import Device
from recommender.ranking.buffers import buffers
from recommender.search.space_file import read_space
from recommender.search.spaces.tiles import kernel_space
from recommender.workspace import Workspace

SHAPE = {"M": 4096, "N": 4096, "K": 4096}


def device(shipped: Workspace, name: str) -> Device:
    found = shipped.names.hardware(name).id
    return Device(found, dict(shipped.hardware.facts(found)))


@pytest.mark.parametrize(
    ("name", "number_format"),
    [
        ("ascend-910b3", "bfloat16"),
        ("ascend-910b3", "float32"),
        ("NVIDIA H100 PCIe", "fp8"),
        ("NVIDIA H100 PCIe", "float32"),
    ],
)
def test_what_is_in_it_is_what_a_recommendation_allows(
    shipped: Workspace, name: str, number_format: str
) -> None:
    chip = device(shipped, name)
    made = kernel_space("gemm", SHAPE, number_format, chip)
    assert made.skipped == ()
    space = read_space(
        {"parameters": dict(made.parameters), "constraints": [dict(x) for x in made.constraints]}
    )
    inside = {item.digest for item in space.enumerate()}
    assert len(inside) == made.configurations
    names = list(made.parameters)
    for point in product(*made.parameters.values()):
        configuration = space.decode(space.encode([Settings(dict(zip(names, point, strict=True)))]))[0]
        refused = next(buffers(configuration, number_format, chip.id, chip.facts), None)
        assert (configuration.digest in inside) == (refused is None), configuration


def test_no_tile_is_larger_than_the_problem(shipped: Workspace) -> None:
    made = kernel_space("gemm", {"M": 8, "N": 100, "K": 64}, "bf16", device(shipped, "ascend-910b3"))
    assert made.parameters == {"baseM": [16], "baseN": [16, 32, 64, 128], "baseK": [16, 32, 64]}
    assert {item.what for item in made.left} >= {"baseM=32", "baseN=256", "baseK=128"}


def test_missing_facts_skip_rules_and_empty_spaces_name_theirs() -> None:
    made = kernel_space("gemm", SHAPE, "bf16", Device("chip", {}))
    assert any("shared_memory_bytes of chip is not known" in text for text in made.skipped)
    with pytest.raises(InfeasibleError, match="no tile fits"):
        kernel_space("gemm", SHAPE, "bf16", Device("chip", {"shared_memory_bytes": 100}))


@pytest.mark.parametrize(
    ("operator", "shape", "form", "says"),
    [
        ("softmax", SHAPE, "", "softmax"),
        ("gemm", {"M": 1}, "", "N: None"),
        ("gemm", SHAPE, "cuda", "no form"),
    ],
)
def test_what_cannot_be_made_is_said(operator: str, shape: dict[str, object], form: str, says: str) -> None:
    with pytest.raises(InputError, match=says):
        kernel_space(operator, shape, "bf16", Device("chip", {}), form=form)
