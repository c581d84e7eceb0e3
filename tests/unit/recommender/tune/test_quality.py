"""Answers before and after: the same, another model, or nobody can tell."""

import pytest

from recommender.tune.quality import compare

BEFORE = tuple(f"answer {number} goes on and on" for number in range(8))


def changed(count: int, text: str) -> tuple[str, ...]:
    return tuple(text if number < count else item for number, item in enumerate(BEFORE))


@pytest.mark.parametrize(
    ("after", "wavers", "state"),
    [
        (BEFORE, False, "same"),
        (BEFORE, True, "same"),
        (changed(8, "noise"), False, "fault"),
        (changed(5, "noise"), False, "fault"),
        (changed(4, "noise"), False, "unknown"),
        (changed(1, ""), False, "unknown"),
        (changed(8, "noise"), True, "unknown"),
        (tuple(f"answer {number} goes elsewhere" for number in range(8)), False, "unknown"),
    ],
)
def test_answers(after: tuple[str, ...], wavers: bool, state: str) -> None:
    found = compare(BEFORE, after, wavers=wavers)
    assert found.state == state
    assert found.is_fault == (state == "fault")
