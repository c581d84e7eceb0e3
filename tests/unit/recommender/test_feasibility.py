"""What cannot run is refused with its rule."""

from __future__ import annotations

from dataclasses import replace

import pytest

from kg.entities import Hardware
from kg.values import Settings
from recommender.ranking.feasibility import refusals
from tests.unit.recommender.known_cases import problem


def rules(configuration: dict[str, object], count: int | None = 8, **shape: int) -> list[str]:
    asked = problem()
    asked = replace(
        asked,
        workload=replace(asked.workload, shape=Settings(shape)),
        hardware=Hardware(name="same", count=count),
    )
    return [item.reason for item in refusals(asked, Settings(configuration), {})]


@pytest.mark.parametrize(
    ("configuration", "reason"),
    [
        ({"moe_tp_size": 4, "moe_ep_size": 4}, "4 x 4 is not 8"),
        ({"tensor_parallel_size": 3}, "inter is 1024, not divisible by 3"),
        ({"ep": 16}, "experts is 8, not divisible by 16"),
    ],
)
def test_arithmetic_that_does_not_work_out_is_refused(configuration: dict[str, object], reason: str) -> None:
    assert rules(configuration, inter=1024, experts=8) == [reason]


def test_what_works_out_or_cannot_be_known_is_not_refused() -> None:
    assert rules({"moe_tp_size": 4, "moe_ep_size": 2}, inter=1024, experts=8) == []
    assert rules({"moe_tp_size": 4, "moe_ep_size": 4}, count=None, inter=1024, experts=8) == []
    assert rules({"tensor_parallel_size": 3}) == []
    assert rules({"tensor_parallel_size": "auto", "ep": True}, inter=1024, experts=8) == []
