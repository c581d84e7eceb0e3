"""Users' expressions: what they find, and that none takes for ever."""

import os

import pytest

from kg.nouns.entities import Better
from recommender.measuring.readings import OutputReading, ReadingError
from recommender.measuring.user_patterns import first_and_last

TEXT = "time: 3 s\ntime: n/a, 4\n" + "a" * 60


def test_first_groups_of_the_first_and_last_match_in_each_text() -> None:
    assert first_and_last(r"^time: (\S+)", [TEXT, "", "time: 5"]) == [("3", "n/a,"), None, ("5", "5")]
    assert first_and_last(r"time: (\d)?", [TEXT]) == [("3", None)]
    assert first_and_last("(\udcff中)", ["\udcff中"]) == [("\udcff中", "\udcff中")]


def test_one_that_would_take_for_ever_is_a_failed_run_and_the_next_is_read() -> None:
    before = os.times()
    slow = OutputReading(metric="kernel_time", better=Better.LOWER, unit="s", pattern=r"(a|a)*(b)")
    with pytest.raises(ReadingError, match=r"takes more than 2 CPU s"):
        slow.read(TEXT)
    after = os.times()
    assert after.user - before.user < 1
    assert after.children_user - before.children_user < 4
    assert first_and_last(r"time: (\d)", [TEXT]) == [("3", "3")]
