"""The shipped recipes: ids of the graph, sources at a commit, equal bytes when written again."""

import re
from functools import cache

import data
from ingest.formats.recipes.recipe_jsonl import write
from kg.nouns.knowledge import HardwareProfile
from recommender.store.shipped_knowledge import knowledge, recipe_files, recipes

shipped = cache(recipes)
"""All shipped recipes, read once."""
PINNED = re.compile(r"https://github\.com/[^/]+/[^/]+/blob/[0-9a-f]{40}/.+")


def test_hardware_that_a_recipe_states_is_in_the_graph_and_its_id_is_its_own() -> None:
    nodes = {noun.id for noun in knowledge() if isinstance(noun, HardwareProfile)}
    assert [item.id for item in shipped() if item.hardware and item.hardware not in nodes] == []
    assert len({item.id for item in shipped()}) == len(shipped()) > 400


def test_every_source_is_a_page_at_a_commit_with_its_licence() -> None:
    loose = [
        item.id for item in shipped() if not PINNED.fullmatch(item.source.url) or not item.source.licence
    ]
    assert loose == []


def test_no_recipe_holds_a_place_of_its_publisher() -> None:
    said = [
        (item.id, setting.key)
        for item in shipped()
        for setting in item.settings
        if re.search(r"\b\d{1,3}(\.\d{1,3}){3}\b|^/(home|root|mnt|data)/", setting.value)
    ]
    assert said == []


def test_each_family_is_a_file_in_its_canonical_form() -> None:
    for name in recipe_files():
        lines = data.text(name)
        slug = name.rpartition("/")[2].removesuffix(".jsonl")
        of_file = [item for item in shipped() if re.sub(r"\W+", "-", item.family) == slug]
        assert "".join(write(of_file)) == lines
