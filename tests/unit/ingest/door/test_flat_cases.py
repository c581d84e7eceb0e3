"""Cases as rows of a table."""

from dataclasses import replace
from pathlib import Path

import pytest

from ingest.door.flat_cases import cell, value_of
from ingest.door.records import NameResolver
from ingest.exporting import write_file
from kg.errors import InputError
from kg.nouns.values import Settings
from tests.samples.rich_cases import untimed


@pytest.mark.parametrize(
    "value",
    ["plain", "16", "null", "NaN", " padded", "two\nlines", "", 16, 0.1, True, None, [1, "x"], "ja, nein"],
)
def test_a_cell_keeps_the_type_of_its_value(value: object) -> None:
    assert value_of(cell(value)) == value
    assert type(value_of(cell(value))) is type(value)
    assert cell(value)
    assert "\n" not in cell(value)


def test_a_name_that_no_header_can_hold_is_refused(tmp_path: Path, names: NameResolver) -> None:
    case = replace(untimed(names, 1), configuration=Settings({"two\nlines": 1}))  # of an older workspace
    with (tmp_path / "x.csv").open("wb") as stream, pytest.raises(InputError, match="name of a column"):
        write_file("csv", [case], stream)


# -- answers -------------------------------------------------------------------------------------
