"""Recipes are chosen by each thing that they are for, and by all of them together."""

import pytest

from kg.errors import UnknownEntityError
from recommender.workspace.workspace import Workspace


@pytest.mark.parametrize("name", ["framework", "family", "role"])
def test_what_is_asked_for_is_what_all_of_them_have(shipped: Workspace, name: str) -> None:
    every = shipped.knowledge.recipes()
    assert [(item.family, item.id) for item in every] == sorted((item.family, item.id) for item in every)
    for value in sorted({str(getattr(item, name)) for item in every} - {""})[:3]:
        found = shipped.knowledge.recipes(**{name: value})
        assert found == [item for item in every if str(getattr(item, name)) == value]
        assert shipped.knowledge.recipes(identifier=found[0].id, **{name: value}) == [found[0]]
    with pytest.raises(UnknownEntityError) as refused:
        shipped.knowledge.recipes(**{name: "no such thing"})
    assert refused.value.hint


def test_a_part_of_an_id_is_found_in_any_spelling(shipped: Workspace) -> None:
    one = shipped.knowledge.recipes()[0]
    assert one in shipped.knowledge.recipes(like=one.id.upper().replace("-", "_"))
    assert shipped.knowledge.recipes(like="no such thing") == []


def test_hardware_stands_for_what_it_is_part_of_and_what_is_part_of_it(shipped: Workspace) -> None:
    every, path = shipped.knowledge.recipes(), shipped.knowledge.hardware.path
    names = sorted({item.hardware for item in every if item.hardware})
    wide = max((node for name in names for node in path(name)[1:-1]), key=lambda node: len(path(node)))
    for asked in (names[0], names[-1], wide):
        found = {item.id for item in shipped.knowledge.recipes(hardware=asked)}
        for item in every:
            related = item.hardware and (item.hardware in path(asked) or asked in path(item.hardware))
            is_vendor = item.hardware and len(path(item.hardware)) == 1
            assert (item.id in found) == bool(related and not is_vendor)
    with pytest.raises(UnknownEntityError):
        shipped.knowledge.recipes(hardware="no such thing")
