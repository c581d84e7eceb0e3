"""Exposed communication, and which part of it is to blame."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from recommender.diagnosis.diagnosis import diagnose
from recommender.diagnosis.patterns import transfers
from recommender.diagnosis.rank.view import view_of

MARK = ("exposed-communication", "communication_not_overlapped_share")


def exposing(make: Any, share: float) -> Any:
    """A run whose step exposes this share of communication, by its table of steps."""
    [rank] = make(wait_ms=1.0).ranks
    [step] = rank.steps
    exposed = share * step.step_us
    return replace(rank, steps=(replace(step, exposed_us=exposed, computing_us=step.step_us - exposed),))


@pytest.mark.parametrize("share", [0.12, 0.26])
def test_one_mark_tells_the_sum_and_all_marks_together_its_parts(
    make: Any, thresholds: Any, share: float
) -> None:
    shown = {item.node: item.shown for item in transfers.find(view_of(exposing(make, share)), thresholds)}
    assert shown["exposed-communication"] == pytest.approx(float(thresholds.most_shows(*MARK, share)))
    assert shown["data-parallel-communication"] == pytest.approx(float(thresholds.shows(*MARK, share)))
    assert shown["exposed-communication"] > shown["data-parallel-communication"]


def test_a_quarter_of_the_step_exposed_is_named_though_nothing_tells_its_parts(
    make: Any, network: Any, thresholds: Any
) -> None:
    rank = replace(exposing(make, 0.26), collectives=())
    found = diagnose(replace(make(), ranks=(rank,)), network, thresholds).findings
    assert [item.cause.node for item in found] == ["exposed-communication"]
