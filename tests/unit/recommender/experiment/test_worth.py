"""The value of a gain, and the effort to see it."""

import math
from typing import Any

import pytest

from kg.errors import InputError
from kg.nouns.entities import Better
from recommender.experiment.impact import Prices
from recommender.experiment.metrics import direction, readings_of
from recommender.experiment.verdict import UNKNOWN, Interval, Verdict

GAIN = Interval(mean=math.log(1.25), low=math.log(1.0), high=math.log(2.0), p=0.01, pairs=12)


def test_savings_carry_the_interval_through() -> None:
    prices = Prices(device_hours=1000, price=2.5, currency="EUR", power_w=400, intensity=500)
    found = {item.name: (item.now, item.expected, item.low, item.high) for item in prices.savings(GAIN)}
    assert found["device hours"] == pytest.approx((1000, 200, 0, 500))
    assert found["cost"] == pytest.approx((2500, 500, 0, 1250))
    assert found["energy"] == pytest.approx((400, 80, 0, 200))
    assert found["carbon"] == pytest.approx((200, 40, 0, 100))


def test_what_is_not_told_is_not_reckoned() -> None:
    assert [item.name for item in Prices(device_hours=10).savings(GAIN)] == ["device hours"]
    assert Prices(device_hours=0).savings(GAIN) == []
    [loss] = Prices(device_hours=10).savings(UNKNOWN)
    assert loss.to_json()["low"] is None
    assert loss.to_json()["expected"] is None


@pytest.mark.parametrize(
    "prices",
    [
        {"device_hours": -1.0},
        {"device_hours": math.nan},
        {"device_hours": 1.0, "price": -1.0},
        {"device_hours": 1.0, "intensity": 400.0},
    ],
)
def test_what_nothing_can_be_worth_is_refused(prices: dict[str, Any]) -> None:
    with pytest.raises(InputError):
        Prices(**prices)


def test_the_margin_decides_between_better_and_equivalent() -> None:
    known = Interval(mean=0.005, low=0.002, high=0.008, p=0.001, pairs=500)
    assert known.verdict(0.01) is Verdict.EQUIVALENT
    assert known.verdict(0.005) is Verdict.BETTER
    assert Interval(mean=-0.1, low=-0.2, high=-0.05, p=0.0, pairs=9).verdict(0.01) is Verdict.WORSE
    assert UNKNOWN.verdict(0.01) is Verdict.UNDECIDED
    assert UNKNOWN.to_json()["ratio_high"] is None


def test_metrics_are_read_as_a_search_reads_them() -> None:
    [wall] = readings_of([])
    assert (wall.metric, wall.is_wall) == ("run_time", True)
    first, second = readings_of(["kernel_time=timing.mean:ms"], [r"peak_mem:MB=peak (\S+) MB"])
    assert (first.metric, first.path, first.objective.unit) == ("kernel_time", "timing.mean", "s")
    assert (second.metric, second.pattern) == ("peak_memory", r"peak (\S+) MB")
    assert first.read('{"timing": {"mean": 2.0}}') == pytest.approx(0.002)


@pytest.mark.parametrize(
    ("metrics", "better", "says"),
    [
        (["latency"], "", "NAME=PATH"),
        (["=x:s"], "", "NAME=PATH"),
        (["score=a:1"], "", "which way is better"),
        (["score=a:1"], "up", "lower or higher"),
        (["latency=a:s", "latency=b:s"], "", "twice"),
    ],
)
def test_metrics_that_say_too_little(metrics: list[str], better: str, says: str) -> None:
    with pytest.raises(InputError, match=says):
        readings_of(metrics, better=better)


def test_directions() -> None:
    assert direction("throughput") is Better.HIGHER
    assert direction("my_time") is Better.LOWER
    assert direction("score", "higher") is Better.HIGHER
    with pytest.raises(InputError, match="which way"):
        direction("score")
