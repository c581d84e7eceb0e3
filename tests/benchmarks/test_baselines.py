"""Baselines that the recommender must beat, checked by hand."""

import math
from itertools import combinations

import pytest

from benchmarks.protocols.baselines import UNTRIED, Defaults, random_choice
from kg.nouns.values import Settings

A, B, C = (Settings({"tile": value}) for value in (1, 2, 3))


@pytest.mark.parametrize("k", [1, 2, 3])
def test_random_choice_is_the_mean_over_all_lists(k: int) -> None:
    truth = [0.0, 0.01, 0.3, 0.7, 0.7]
    lists = list(combinations(truth, k))
    chance = sum(min(one) < 0.05 for one in lists) / len(lists)
    regret = sum(min(one) for one in lists) / len(lists)
    assert list(random_choice(truth, k, 0.05)) == pytest.approx([chance, regret])


def test_popular_wins_most_and_robust_loses_least() -> None:
    tables = [
        (8, {A: 0.0, B: 0.1}),
        (8, {A: 0.0, B: 0.1}),
        (8, {A: math.log(100), B: 0.1, C: 0.0}),
        (4, {C: 0.0, B: 0.2}),
    ]
    defaults = Defaults(tables)
    assert defaults.popular(8) == [A, C]
    assert defaults.robust(8)[0] == B  # 0.1 each time; A costs UNTRIED / 3 at the mean
    assert UNTRIED / 3 > 0.1
    assert defaults.popular(4) == [C]
    assert defaults.popular(16) == []
