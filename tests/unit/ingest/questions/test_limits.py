"""Limits as people write them."""

import pytest

from ingest.questions.limits import parse_limit
from kg.errors import InputError


@pytest.mark.parametrize(
    ("text", "hint"),
    [("tpot=50", "write the unit: tpot<=50ms"), ("peak_memory<=32", "write the unit: peak_memory<=32GB")],
)
def test_a_bare_number_is_refused_with_the_unit_to_write(text: str, hint: str) -> None:
    with pytest.raises(InputError, match="a bare number") as fault:
        parse_limit(text)
    assert fault.value.hint == hint
