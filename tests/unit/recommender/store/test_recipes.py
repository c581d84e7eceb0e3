"""Recipes by their documents."""

import pytest

from kg.errors import InputError
from recommender.store.recipes import of_documents
from recommender.store.shipped_knowledge import recipes


def test_recipes_of_a_document_are_found_by_its_address_alone() -> None:
    found = recipes()
    named = of_documents(found, r"Ascend/sglang/")
    assert named == {item.id for item in found if "Ascend/sglang/" in item.source.url} != frozenset()
    assert of_documents(found, "") == frozenset()


def test_a_broken_pattern_is_said() -> None:
    with pytest.raises(InputError, match="no regular expression"):
        of_documents([], "(")
