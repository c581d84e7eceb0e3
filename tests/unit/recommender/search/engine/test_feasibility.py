"""Lessons from failures."""

import numpy as np

from recommender.search.engine.feasibility import FeasibilityModel

POOL = np.linspace(0, 1, 11)[:, None].astype(np.float32)


def test_without_failures_all_is_well() -> None:
    beliefs = FeasibilityModel(POOL)
    beliefs.add(POOL[:3], np.zeros(3, bool))
    assert (beliefs.probability == 1).all()


def test_near_a_failure_it_is_less_likely_to_run() -> None:
    beliefs = FeasibilityModel(POOL)
    beliefs.add(POOL[[0, 1, 10]], np.array([False, False, True]))
    found = beliefs.probability
    assert (np.diff(found) <= 1e-9).all()
    assert found[0] > 0.8
    assert found[10] < 0.4


def test_a_foreign_failure_counts_less() -> None:
    ours, theirs = FeasibilityModel(POOL), FeasibilityModel(POOL)
    ours.add(POOL[[10]], np.array([True]))
    theirs.add(POOL[[10]], np.array([True]), 0.25)
    for beliefs in (ours, theirs):
        beliefs.add(POOL[[0]], np.array([False]))
    assert theirs.probability[10] > ours.probability[10]


def test_a_larger_pool_is_judged_by_the_same_results() -> None:
    small, whole = FeasibilityModel(POOL[:6]), FeasibilityModel(POOL)
    for beliefs in (small, whole):
        beliefs._scale = whole._scale
        beliefs.add(POOL[[0, 3]], np.array([False, True]))
    _ = small.probability
    small.append(POOL[6:])
    assert np.allclose(small.probability, whole.probability)
