"""Recipes are chosen by each thing that they are for, and by all of them together."""

from collections.abc import Callable
from functools import partial

import pytest

from kg.errors import UnknownEntityError
from kg.nouns.recipe import Recipe
from recommender.store import shipped_knowledge
from recommender.store.recipes import recipes
from recommender.workspace.workspace import Workspace
from tests.samples.graphs import store_of

Chosen = Callable[..., list[Recipe]]


@pytest.fixture(scope="module")
def chosen(shipped: Workspace) -> Chosen:
    """Every fortieth recipe; all of them are read from a graph in seconds."""
    graph = store_of(*shipped_knowledge.recipes()[::40])
    return partial(recipes, graph, shipped.knowledge.names, shipped.knowledge.hardware)


@pytest.mark.parametrize("name", ["framework", "family", "role"])
def test_what_is_asked_for_is_what_all_of_them_have(chosen: Chosen, name: str) -> None:
    every = chosen()
    assert [(item.family, item.id) for item in every] == sorted((item.family, item.id) for item in every)
    for value in sorted({str(getattr(item, name)) for item in every} - {""})[:3]:
        found = chosen(**{name: value})
        assert found == [item for item in every if str(getattr(item, name)) == value]
        assert chosen(identifier=found[0].id, **{name: value}) == [found[0]]
    with pytest.raises(UnknownEntityError) as refused:
        chosen(**{name: "no such thing"})
    assert refused.value.hint


def test_a_part_of_an_id_is_found_in_any_spelling(shipped: Workspace, chosen: Chosen) -> None:
    one = chosen()[0]
    assert one in chosen(like=one.id.upper().replace("-", "_"))
    assert chosen(like="no such thing") == []
    assert one in shipped.knowledge.recipes(like=one.id)


def test_hardware_stands_for_what_it_is_part_of_and_what_is_part_of_it(
    shipped: Workspace, chosen: Chosen
) -> None:
    every, path = chosen(), shipped.knowledge.hardware.path
    names = sorted({item.hardware for item in every if path(item.hardware)})
    wide = max((node for name in names for node in path(name)[1:-1]), key=lambda node: len(path(node)))
    for asked in (names[0], names[-1], wide, "nvidia"):
        found = {item.id for item in chosen(hardware=asked)}
        for item in every:
            related = item.hardware and (item.hardware in path(asked) or asked in path(item.hardware))
            is_vendor = item.hardware not in {"", asked} and len(path(item.hardware)) == 1
            assert (item.id in found) == bool(related and not is_vendor)
    with pytest.raises(UnknownEntityError):
        chosen(hardware="no such thing")
