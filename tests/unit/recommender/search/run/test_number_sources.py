"""The sections of a search file that evaluate configurations."""

import pytest

from kg.errors import InputError
from recommender.search.run.number_sources import Assumption, source_of_numbers


def test_an_assumption_says_what_and_why() -> None:
    assert str(Assumption(name="cores", value=1.5e6)) == "assumed: cores = 1.5e+06"
    assert (
        str(Assumption(name="link", value="NVLink", reason="its sheet"))
        == "assumed: link = NVLink (its sheet)"
    )


def test_numbers_come_from_one_place() -> None:
    assert source_of_numbers({"command": ["a"]}) == "command"
    assert not source_of_numbers({})
    with pytest.raises(InputError, match="command and cost_model"):
        source_of_numbers({"command": ["a"], "cost_model": {"model": "b"}})
