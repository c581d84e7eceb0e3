"""The profiler's split of steps."""

from typing import Any

from ingest.profiles.folders import read_profile
from tests.samples.profile_files import SPLIT


def test_a_step_that_is_empty_is_no_step(folder: Any, rows: Any) -> None:
    empty = {**SPLIT, "Computing": 0, "Free": 0, "Stage": 0}
    [rank] = read_profile(folder(rows("MatMul"), empty)).ranks
    assert all(step.is_counted for step in rank.steps)
