"""Charts with a row for each change."""

import math
import re
from typing import Any

import pytest

from recommender.report.sections.ladders import contribution_chart, gain_ladder
from recommender.report.words import Words


def change(title: str, low: float, expected: float, high: float) -> dict[str, Any]:
    return {
        "title": title,
        "gain": {"low_factor": low, "expected_factor": expected, "high_factor": high},
    }


def step(name: str, log_gain: float) -> dict[str, Any]:
    return {"parameters": [name], "before": [1], "after": [2], "log_gain": log_gain}


def bars(figure: str) -> list[tuple[float, float]]:
    found = re.findall(r'<rect x="([\d.]+)" width="([\d.]+)"', figure)
    return [(float(x), float(x) + float(width)) for x, width in found]


def test_a_ladder_has_a_rung_for_each_gain_and_none_for_what_nobody_measured() -> None:
    items = [change("prefetch", 0.9, 1.1, 1.3), change("fusion", 1.1, 1.2, 1.4), {"title": "x", "gain": None}]
    figure = str(gain_ladder({"changes": items}, Words()))
    ends = [tuple(map(float, pair)) for pair in re.findall(r"M([\d.]+) [\d.]+H([\d.]+)", figure)]
    assert len(ends) == 2
    assert ends[0][0] < ends[1][0] < ends[0][1] < ends[1][1]
    assert "i s1" in figure
    assert "i s3" in figure  # 1x is outside the second
    assert gain_ladder({"changes": [items[2]]}, Words()) is None


def test_contributions_stand_on_one_another() -> None:
    figure = str(contribution_chart([step("batch", 0.5), step("fusion", 0.2), step("depth", -0.1)], Words()))
    first, second, third = bars(figure)
    assert second[0] == pytest.approx(first[1], abs=0.2)
    assert third[1] == pytest.approx(second[1], abs=0.2)
    assert "b s2" in figure
    assert f"{math.exp(0.6):.2f}x" in figure
    assert contribution_chart([], Words()) is None
