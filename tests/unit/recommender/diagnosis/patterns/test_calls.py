"""Calls of the host that hold the device up."""

from typing import Any

import pytest

from ingest.profiles.facts.place import FactPlace
from ingest.profiles.facts.run import Call
from recommender.diagnosis.analysis import analyse, views
from recommender.diagnosis.diagnosis import diagnose
from recommender.diagnosis.patterns import calls as patterns


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


def test_a_checkpoint_in_the_step_is_named(make: Any, network: Any, thresholds: Any) -> None:
    name = "torch/serialization.py: save"
    saves = [
        Call(level="save", name=name, total_us=4000.0, count=2, max_us=3000.0, place=FactPlace("trace.json")),
        Call(level="save", name="torch/distributed/checkpoint/state_dict_saver.py: save", total_us=5000.0, count=1,
             max_us=5000.0, place=FactPlace("trace.json")),
    ]  # fmt: skip
    run = make(gap_us=60.0, calls=saves)
    [found] = [
        item for item in patterns.find(views(run)[0][0], thresholds) if item.node == "checkpoint-stall"
    ]
    assert found.lost_us == 5000.0  # the one calls the other
    assert diagnose(run, network, thresholds).findings[0].cause.chain == ("host-bound", "checkpoint-stall")


def test_what_the_collector_takes_is_no_synchronisation(make: Any, thresholds: Any) -> None:
    place = FactPlace("trace.json")
    waits = Call(
        level="runtime", name="cudaStreamSynchronize", total_us=50.0, count=99, max_us=1.0, place=place
    )
    pause = Call(level="gc", name="gc.collect", total_us=5500.0, count=3, max_us=2000.0, place=place)

    def lost(*made: Call) -> float:
        view = views(make(gap_us=60.0, calls=made))[0][0]
        found = patterns.find(view, thresholds)
        return next(item.lost_us for item in found if item.node == "host-device-synchronisation")

    assert lost(waits) == pytest.approx(99 * 60.0)
    assert lost(waits, pause) == pytest.approx(99 * 60.0 - 5500.0)
