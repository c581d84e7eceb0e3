"""Steps that a program marked by ranges."""

import numpy as np
import pytest

from ingest.profiles.facts.step_ranges import StepRange, assign_to_ranges, step_of


@pytest.mark.parametrize(
    ("text", "kind", "number"),
    [
        ("step 12", "step", "12"),
        ("ProfilerStep#3", "profilerstep", "3"),
        ("train_step_7", "train_step", "7"),
        ("iteration=5", "iteration", "5"),
        ("Iter: 9", "iter", "9"),
    ],
)
def test_a_range_with_a_number_is_a_step(text: str, kind: str, number: str) -> None:
    assert step_of(text, 1, 2) == StepRange(1, 2, kind, number)


@pytest.mark.parametrize(
    "text", ["step", "forward", "optimizer.step", "layer 3", "stepping 3", "step 3 forward"]
)
def test_another_range_is_none(text: str) -> None:
    assert step_of(text, 1, 2) is None


def test_times_lie_in_the_outermost_kind_of_range_or_in_none() -> None:
    ranges = [
        StepRange(0, 100, "iteration", "1"),
        StepRange(10, 40, "micro_step", "1"),
        StepRange(50, 90, "micro_step", "2"),
        StepRange(120, 200, "iteration", "2"),
    ]
    codes, labels = assign_to_ranges(np.array([-5, 15, 95, 110, 120, 199, 200]), ranges)
    assert [labels[code] for code in codes] == ["", "1", "1", "", "2", "2", ""]
