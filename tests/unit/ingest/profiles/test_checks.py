"""Facts that a profile lacks, and parts that do not add up."""

from typing import Any

from ingest.profiles.folders import read_profile
from tests.samples.profile_files import SPLIT


def test_what_was_not_collected_is_said_with_how_to_collect_it(folder: Any, rows: Any) -> None:
    [rank] = read_profile(folder(rows("MatMul"), SPLIT)).ranks
    missing = {item.what: item.how for item in rank.missing}
    assert "profile_memory=True" in missing["use of device memory"]
    assert "pipe ratios of operators" not in missing
    assert rank.memory is None


def test_a_table_that_is_cut_is_told_by_its_own_sums(folder: Any, rows: Any) -> None:
    [rank] = read_profile(folder(rows("MatMul"), {**SPLIT, "Computing": 33_000, "Stage": 40_000})).ranks
    assert any("cut" in note for note in rank.notes)


def test_parts_that_exceed_their_step_are_told(folder: Any, rows: Any) -> None:
    [rank] = read_profile(folder(rows("MatMul", "Add"), {**SPLIT, "Free": 90})).ranks
    assert any("of its length" in note for note in rank.notes)
