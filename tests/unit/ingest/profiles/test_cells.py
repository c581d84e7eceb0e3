"""Cells of profiler tables."""

import math
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ingest.profiles.cells import nanoseconds, number, read_table


@pytest.mark.parametrize("text", ["N/A", "NA", "", " ", "nan", "-", "inf", "text", None])
def test_what_was_not_collected_is_no_number_and_never_zero(text: str | None) -> None:
    assert math.isnan(number(text))


@given(st.integers(0, 9 * 10**15), st.integers(0, 999))
def test_every_timestamp_survives_to_the_nanosecond(whole: int, part: int) -> None:
    assert nanoseconds(f"{whole}.{part:03d}") == whole * 1000 + part


@pytest.mark.parametrize("text", ["99999999999999999999.5", "1e300", "-1e300", "N/A", "", None, math.inf])
def test_a_timestamp_that_no_clock_shows_is_none(text: object) -> None:
    assert nanoseconds(text) is None


def test_damaged_rows_are_told_and_left_out(tmp_path: Path) -> None:
    path = tmp_path / "kernel_details.csv"
    path.write_bytes(b'\xef\xbb\xbfName,Duration(us),\nMatMul,1.5,\nAdd\n\n"Mul",2\n')
    faults: list[str] = []
    rows = [row for _, row in read_table(path, faults.append)]
    assert rows == [{"Name": "MatMul", "Duration(us)": "1.5"}, {"Name": "Mul", "Duration(us)": "2"}]
    assert len(faults) == 1
    assert "line 3" in faults[0]
