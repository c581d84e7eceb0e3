"""Priors of the kernel's hyperparameters: published figures."""

import math

import pytest

from recommender.search.belief.kernel import KernelPrior


@pytest.mark.parametrize("groups", [1, 2, 20])
def test_length_scales_grow_with_the_root_of_the_dimension(groups: int) -> None:
    """The published location sqrt(2) + log(d) / 2, less one, and half of the published spread sqrt(3)."""
    found = KernelPrior.usual(groups, 0.4)
    expected = [math.sqrt(2) + math.log(groups) / 2 - 1] * groups + [math.log(0.4), math.log(0.008)]
    assert found.mean == pytest.approx(expected)
    assert found.stdev == pytest.approx([math.sqrt(3) / 2] * groups + [0.7, 1.0])
