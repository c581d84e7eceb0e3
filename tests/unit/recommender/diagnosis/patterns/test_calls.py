"""Calls of the host that hold the device up."""

from __future__ import annotations

from typing import Any

from ingest.profiles.facts.place import FactPlace
from ingest.profiles.facts.run import Call
from recommender.diagnosis.analysis import analyse


def test_items_stop_the_host(make: Any, thresholds: Any) -> None:
    def seen(items: int) -> float:
        calls = [
            Call(level="acl", name="aclrtSynchronizeStream", total_us=15_000.0, count=100, max_us=None,
                 place=FactPlace("api.csv", (3,))),
            Call(level="op", name="aten::item", total_us=15_000.0, count=items, max_us=None,
                 place=FactPlace("operator_details.csv", (9,))),
        ]  # fmt: skip
        return analyse(make(gap_us=150.0, calls=calls), thresholds)["item-calls"].shown

    assert seen(90) > 0.9
    assert seen(5) < 0.1


def test_a_blocking_call_shows_as_far_as_the_device_waited_for_it(make: Any, thresholds: Any) -> None:
    """The published marks are of ten milliseconds; a step may be shorter than that."""

    def shown(total_us: float) -> float:
        calls = [
            Call(level="acl", name="aclrtUnmapMem", total_us=total_us, count=40, max_us=None,
                 place=FactPlace("api.csv", (3,))),
        ]  # fmt: skip
        return analyse(make(gap_us=30.0, calls=calls), thresholds)["memory-allocation-stall"].shown

    assert shown(2000.0) == 1.0
    assert shown(6000.0) < 0.6  # the device had work for half of it


def test_calls_inside_calls_are_counted_once(make: Any, thresholds: Any) -> None:
    calls = [
        Call(level=level, name=name, total_us=us, count=count, max_us=None, place=FactPlace("api.csv", (3,)))
        for level, name, us, count in (
            ("acl", "aclrtSynchronizeStream", 900.0, 30),
            ("runtime", "StreamSynchronize", 1000.0, 40),
            ("runtime", "DeviceSynchronize", 0.0, 500),
        )
    ]
    found = analyse(make(gap_us=100.0, calls=calls), thresholds)["host-device-synchronisation"]
    assert found.says.startswith("40 synchronising calls")
