"""Cases as rows of a table."""

import csv
import re
from dataclasses import replace
from pathlib import Path

import pytest

from ingest.door.flat_cases import cell, value_of
from ingest.door.records import NameResolver
from ingest.exporting import write_file
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


@pytest.mark.parametrize("mark", [*"=+-@＝＋－＠", "\t=", "\r=", "\n=", " ="])
def test_no_text_in_any_place_is_a_formula(tmp_path: Path, names: NameResolver, mark: str) -> None:
    text = f"{mark}cmd|' /C calc'!A0"
    assert value_of(cell(text)) == text
    plain = untimed(names, 1)
    shown = text.strip() if mark in "=+-@＝＋－＠" else "x"
    case = replace(
        plain,
        configuration=Settings({shown: text, "list": [text]}),
        source=replace(plain.source, title=shown, path=shown, commit=shown, licence=shown, note=text),
        strategy=shown,
    )
    with (tmp_path / "x.csv").open("w+b") as stream:
        write_file("csv", [case], stream)
    rows = list(csv.reader((tmp_path / "x.csv").read_text().splitlines()))
    assert any("calc" in item for item in rows[1])
    assert not [
        item for row in rows for item in row if item[:1] in {*"=+-@＝＋－＠\t\r"} and not is_number(item)
    ]


def is_number(text: str) -> bool:
    return re.fullmatch(r"-?[\d.e-]+", text) is not None


@pytest.mark.parametrize("name", ["a\tb", "a\xa0b", "a ", "two\nlines"])
def test_an_object_with_a_name_that_no_header_can_hold_is_one_cell(
    tmp_path: Path, names: NameResolver, name: str
) -> None:
    plain = untimed(names, 1)
    odd = replace(plain, configuration=Settings({name: "=1+1", "unset": None}))
    with (tmp_path / "x.csv").open("w+b") as stream:
        assert write_file("csv", [plain, odd], stream).rows == 2
    header, first, second = csv.reader((tmp_path / "x.csv").read_text().splitlines())
    assert {"config", "config.num_warps"} <= set(header)
    assert all(column == column.strip() and column.isprintable() for column in header)
    assert not first[header.index("config")]
    assert value_of(second[header.index("config")]) == odd.configuration.to_json()
