"""Rates and prices as people write them."""

import pytest

from cli.commands.size import capacity_request
from kg.errors import InputError


@pytest.mark.parametrize(
    ("text", "per_s"), [("20/s", 20), ("20", 20), ("90/min", 1.5), ("7200/h", 2), (" .5 / s", 0.5)]
)
def test_a_rate_in_any_unit_is_one_in_seconds(text: str, per_s: float) -> None:
    assert capacity_request(text, "", pareto=False).rate_per_s == pytest.approx(per_s)


@pytest.mark.parametrize(("text", "per_hour"), [("2.5/h", 2.5), ("2.5", 2.5), ("60/d", 2.5), ("1/min", 60)])
def test_a_price_in_any_unit_is_one_of_an_hour(text: str, per_hour: float) -> None:
    assert capacity_request("", text, pareto=True).price_per_hour == pytest.approx(per_hour)


@pytest.mark.parametrize("text", ["0/s", "-3/s", "fast", "20/x", "1e9999/s", "20/s/s"])
def test_what_is_no_rate_is_named(text: str) -> None:
    with pytest.raises(InputError, match="--rate"):
        capacity_request(text, "", pareto=False)


def test_options_that_contradict_each_other_are_named() -> None:
    with pytest.raises(InputError, match="--rate and --pareto"):
        capacity_request("1/s", "", pareto=True)
    with pytest.raises(InputError, match="nothing to size"):
        capacity_request("", "2/h", pareto=False)
