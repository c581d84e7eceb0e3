"""Requests at once that a recipe is for."""

from dataclasses import replace

import pytest

from kg.nouns.recipe import Recipe
from kg.nouns.values import Settings
from recommender.ranking.starts.recipes.recipe_load import is_for_latency, recipe_load
from tests.unit.recommender.ranking.starts.situations import recipe

PLAIN = recipe()


@pytest.mark.parametrize(
    ("one", "load", "short"),
    [
        (PLAIN, None, False),
        (recipe(sets={"--max-num-seqs": "4"}), 4, True),
        (recipe(sets={"--max-num-seqs": "4"}, layout={"dp": 4, "tp": 2}), 16, False),
        (recipe(sets={"--max-num-seqs": "1"}, instances=2, devices=16), 2, True),
        (recipe(sets={"--max-running-requests": "4"}, layout={"dp": 4, "tp": 2}), 4, True),
        (recipe(sets={"--max-running-requests": "many"}), None, False),
        (replace(PLAIN, context=Settings({"concurrency": 1})), 1, True),
        (replace(PLAIN, context=Settings({"concurrency": 64})), 64, False),
    ],
)
def test_a_recipe_for_fewer_requests_than_devices_is_for_latency(
    one: Recipe, load: float | None, short: bool
) -> None:
    assert (recipe_load(one), is_for_latency(one)) == (load, short)
