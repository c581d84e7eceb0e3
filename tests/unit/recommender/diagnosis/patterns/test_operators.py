"""Operators that a better program would not run."""

from typing import Any

from recommender.diagnosis.analysis import analyse
from recommender.diagnosis.diagnosis import diagnose


def test_padding_is_told_from_other_copies(make: Any, thresholds: Any) -> None:
    extra = [("PadV3", "AI_VECTOR_CORE", 60.0), ("Slice", "AI_VECTOR_CORE", 20.0)] * 20
    found = analyse(make(extra), thresholds)
    assert found["data-padding"].lost_us == 20 * 60.0
    assert found["memory-copies"].lost_us == 20 * 20.0


def test_causes_that_the_same_kernels_show_leave_their_effect(
    make: Any, network: Any, thresholds: Any
) -> None:
    """All of what runs on the AI CPU indexes and is of a type without a kernel: which is the reason is open."""
    both = make([("NonZero", "AI_CPU", 90.0)] * 20, types="INT64;INT64")
    assert [item.cause.node for item in diagnose(both, network, thresholds).findings] == ["aicpu-operator"]
    one = make([("NonZero", "AI_CPU", 90.0)] * 20)
    assert [item.cause.node for item in diagnose(one, network, thresholds).findings] == ["index-operators"]
