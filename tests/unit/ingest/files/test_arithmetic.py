"""Arithmetic of a shell."""

import pytest

from ingest.files.arithmetic import whole_number


@pytest.mark.parametrize(("text", "value"), [("1 + 2 * 3", 7), ("(8 // 3) % 2", 0), (" 4 ", 4)])
def test_whole_numbers_are_added_up(text: str, value: int) -> None:
    assert whole_number(text) == value


@pytest.mark.parametrize("text", ["", "1 +", "1 / 0", "x", "2 ** 9", "1.5", "9223372036854775807 + 1"])
def test_what_is_none_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="arithmetic"):
        whole_number(text)
