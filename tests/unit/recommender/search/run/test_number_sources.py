"""The sections of a search file that evaluate configurations."""

import pytest

from kg.errors import InputError
from recommender.search.run.number_sources import source_of_numbers


def test_numbers_come_from_one_place() -> None:
    assert source_of_numbers({"command": ["a"]}) == "command"
    assert not source_of_numbers({})
    with pytest.raises(InputError, match="command and cost_model"):
        source_of_numbers({"command": ["a"], "cost_model": {"model": "b"}})
