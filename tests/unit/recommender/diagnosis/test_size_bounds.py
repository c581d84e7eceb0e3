"""Bounds on blocks from a compiler's messages."""

import pytest

from recommender.diagnosis.size_bounds import SizeBound


@pytest.mark.parametrize(
    ("bound", "parameters", "expression"),
    [
        (SizeBound(sizes={"BLOCK_SIZE": 4096}, most=2048, reason="r"), ["block_size", "x"], "block_size <= 2048"),
        (SizeBound(sizes={"BLOCK": 1024}, least=2049, reason="r"), ["BLOCK"], "BLOCK >= 2049"),
        (SizeBound(sizes={"BLOCK_M": 128, "BLOCK_N": 64}, reason="r"), ["BLOCK_M", "BLOCK_N"], "BLOCK_M < 128 or BLOCK_N < 64"),
        (SizeBound(sizes={"BLOCK_M": 128, "BLOCK_N": 64}, reason="r"), ["BLOCK_M"], ""),  # the other may be to blame
    ],
)  # fmt: skip
def test_a_bound_is_a_rule_on_the_parameters_of_its_sizes(
    bound: SizeBound, parameters: list[str], expression: str
) -> None:
    assert bound.expression(parameters) == expression
