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


def test_a_vote_reaches_a_part_of_the_range_whatever_its_unit_and_number() -> None:
    """Beside a failure at an end stands the share of those that ran, half a result's worth, and no other vote."""
    for scale, columns in ((1.0, 1), (1e4, 1), (1.0, 4)):
        pool = np.repeat(scale * (POOL + 1), columns, axis=1)
        beliefs = FeasibilityModel(pool)
        beliefs.add(pool[[10]], np.array([True]), 2.0)
        votes = 2 * np.exp(-0.5 * ((1 - POOL[:, 0]) / (0.35 / 2)) ** 2)
        assert np.allclose(beliefs.probability, 0.5 * (1 / 3) / (votes + 0.5), rtol=1e-3)


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
