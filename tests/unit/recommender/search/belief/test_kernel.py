"""Priors of the kernel's hyperparameters: published figures."""

import math

import numpy as np
import pytest

from recommender.search.belief.kernel import Hyperparameters, KernelPrior


@pytest.mark.parametrize("groups", [1, 2, 20])
def test_length_scales_grow_with_the_root_of_the_dimension(groups: int) -> None:
    """The published location sqrt(2) + log(d) / 2, less one, and half of the published spread sqrt(3)."""
    found = KernelPrior.usual(groups, 0.4)
    expected = [math.sqrt(2) + math.log(groups) / 2 - 1] * groups + [math.log(0.4), math.log(0.008)]
    assert found.mean == pytest.approx(expected)
    assert found.stdev == pytest.approx([math.sqrt(3) / 2] * groups + [0.7, 1.0])


@pytest.mark.parametrize("groups", [1, 7])
def test_hyperparameters_are_what_was_packed(groups: int) -> None:
    held = Hyperparameters(scales=np.linspace(0.1, 3.0, groups), amplitude=0.4, noise=0.02)
    found = Hyperparameters.unpacked(held.packed())
    assert found.scales == pytest.approx(held.scales)
    assert (found.amplitude, found.noise) == pytest.approx((0.4, 0.02))
