"""Other tools' searches: a warm one begins with the sources' bests, and each configuration counts once."""

import pytest

from benchmarks.searches.kernel_tools import missing, searches
from benchmarks.worlds.kernel_spaces import Space
from kg.nouns.values import Settings

TILES, DEPTHS = (8, 16, 32, 64), (1, 2, 3)
SPACE = Space(
    kernel="toy",
    task="toy",
    device="acme-one",
    costs={
        Settings({"tile": tile, "depth": depth}): 1 + abs(tile - 32) + depth
        for tile in TILES
        for depth in DEPTHS
    },
    values={"depth": DEPTHS, "tile": TILES},
)
FIRST = [Settings({"tile": 64, "depth": 3}), Settings({"tile": 16, "depth": 2})]


def test_a_warm_search_begins_with_the_sources_bests() -> None:
    if missing("optuna_tpe"):
        pytest.skip("Optuna is not installed")
    (cold_name, cold), (warm_name, warm) = searches(SPACE, 1, "optuna_tpe", FIRST)
    assert (cold_name, warm_name) == ("optuna_tpe", "optuna_tpe_warm")
    assert [settings for settings, _ in warm[:2]] == FIRST
    for log in (cold, warm):
        assert len({settings for settings, _ in log}) == len(log)
        assert all(cost == SPACE.costs[settings] for settings, cost in log)
