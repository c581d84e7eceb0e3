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
