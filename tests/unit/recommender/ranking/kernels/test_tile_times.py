"""Times: soft maxima lie above each part, and the reason names what decides."""

import numpy as np

from recommender.ranking.kernels.tile_times import joined, soft_maximum


def test_parts_that_overlap_cost_more_where_they_are_alike() -> None:
    alike, apart = soft_maximum(np.array([1.0, 1.0]), np.array([1.0, 0.1]))
    assert 1.15 < alike < 1.2
    assert 1 < apart < 1.001


def test_what_does_not_fit_takes_for_ever() -> None:
    one = np.array([1.0, 1.0])
    times = joined(
        on_chip=one,
        memory=one * 2,
        ideal=one,
        launch=0.5,
        parts=one * 30,
        lanes=20,
        fits=np.array([True, False]),
    )
    assert times.total_s[1] == np.inf
    assert times.total_s[0] > 2.5
    assert times.reason(0).startswith("30 tiles in 2 rounds over 20 cores, 25% of them idle; memory traffic")
