"""A space pruned by other devices: what goes is what was dear everywhere, and the rules say just that."""

import math
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kg.errors import InputError
from kg.nouns.values import Settings
from recommender.search.engine.pruning import prune
from recommender.search.evaluations import SourceTable
from recommender.space.space import SearchSpace
from recommender.space.space_file import read_space

VALUES: dict[str, list[object]] = {
    "x": [16, 32, 64, 128],
    "tile": [1, 2, 4, 8],
    "mode": ["a", "b"],
    "u": [0, 1, 2, 4],
}
POINTS = [Settings(dict(zip(VALUES, point, strict=True))) for point in product(*VALUES.values())]


def space() -> SearchSpace:
    return read_space({"parameters": VALUES})


def source(costs: np.ndarray, points: list[Settings] = POINTS) -> SourceTable:
    return SourceTable(name="other", similarity=1.0, configurations=points, costs=costs)


def cost(point: Settings, best: int = 64) -> float:
    x, tile, unroll = (float(point[name]) for name in ("x", "tile", "u"))  # type: ignore[arg-type]
    return float(1 + abs(np.log2(x / best)) + abs(np.log2(tile / 4)) + 0.1 * abs(unroll - 2))


@given(
    st.lists(st.floats(0.1, 10), min_size=len(POINTS), max_size=len(POINTS)),
    st.sampled_from([0.0, 0.3, 0.6, 0.9]),
)
@settings(max_examples=20)
def test_the_best_of_every_known_device_stays_and_the_share_is_reached(
    costs: list[float], share: float
) -> None:
    table = np.array(costs)
    pruned = prune(space(), [source(table)], share=share)
    left = list(pruned.space.enumerate())
    assert len(left) == pruned.after
    assert pruned.before == len(POINTS)
    assert POINTS[int(np.argmin(table))] in left
    for point in left:
        assert not any(
            all(point[n] == v for n, v in zip(p.names, p.values, strict=True)) for p in pruned.pairs
        )
    assert pruned.removed >= share or not pruned.pairs or max(table) == min(table)


def test_what_was_good_on_one_of_two_devices_stays() -> None:
    one = np.array([cost(point, 64) for point in POINTS])
    other = np.array([cost(point, 16) for point in POINTS])
    pruned = prune(space(), [source(one), source(other)], share=0.6)
    left = {(point["x"], point["tile"]) for point in pruned.space.enumerate()}
    assert {(64, 4), (16, 4)} <= left
    assert pruned.removed >= 0.6


def test_failures_everywhere_go_and_what_nobody_measured_stays() -> None:
    costs = np.array([math.inf if point["x"] == 128 and point["tile"] == 8 else 1.0 for point in POINTS])
    pruned = prune(space(), [source(costs)], share=0.05)
    assert all(not (point["x"] == 128 and point["tile"] == 8) for point in pruned.space.enumerate())
    assert "failed" in pruned.space.constraints[-1].reason
    kept = [i for i, point in enumerate(POINTS) if point["mode"] == "a"] * 2
    half = source(np.array([cost(POINTS[i]) for i in kept]), [POINTS[i] for i in kept])
    left = list(prune(space(), [half], share=0.3).space.enumerate())
    assert {point["mode"] for point in left} == {"a", "b"}


def test_rules_of_the_space_are_kept() -> None:
    ruled = read_space({"parameters": VALUES, "constraints": ["x * tile <= 128"]})
    pruned = prune(ruled, [source(np.array([cost(point) for point in POINTS]))], share=0.5)
    assert all(point["x"] * point["tile"] <= 128 for point in pruned.space.enumerate())  # type: ignore[operator]
    assert pruned.before == ruled.size(1000)


def test_too_little_is_said() -> None:
    with pytest.raises(InputError, match="no source has"):
        prune(space(), [source(np.ones(3), POINTS[:3])])
    with pytest.raises(InputError, match="cannot be left out"):
        prune(space(), [source(np.ones(len(POINTS)))], share=1.0)
