"""Expectations of a recommendation before anybody measures it."""

import json
import math
from dataclasses import replace

import numpy as np
import pytest

from kg.triples.hardware_tree import Distance
from recommender.calibration.outlook import LEVELS, LISTED, MOST_OF_ONE, Checked, Outlook
from recommender.ranking.cases.circumstances import CIRCUMSTANCES, MANY_FROM, STEPS

FEATURES = ("far", "noise")


def world(
    seed: int, n: int, *, devices: int = 12, distance: Distance = Distance.SIBLING, bias: float = 0.0
) -> list[Checked]:
    """Answers whose error grows with ``far``; the other feature means nothing."""
    rng = np.random.default_rng(seed)
    made = []
    for at in range(n):
        row = rng.uniform(0, 2, 2)
        scale = 0.05 * math.exp(row[0])
        gain = float(rng.normal(0.2, 0.2))
        regret = float(rng.exponential(scale))
        made.append(
            Checked(
                operator="op",
                device=f"d{at % devices}",
                distance=distance,
                row=row,
                gain=gain,
                truth=gain + float(rng.normal(bias * scale, scale)),
                regrets=(regret, regret / 2, regret / 3, regret / 4),
            )
        )
    return made


@pytest.fixture(scope="module")
def outlook() -> Outlook:
    return Outlook.fit(world(0, 1500), FEATURES, "a test")


def test_nine_of_ten_truths_lie_in_the_interval_near_and_far(outlook: Outlook) -> None:
    fresh = world(1, 3000)
    for near in (True, False):
        inside = []
        for item in fresh:
            if bool(item.row[0] < 1) is near:
                told = outlook.forecast(item.row, item.distance, item.gain)
                inside.append(told.low <= item.truth <= told.high)
        assert 0.87 <= np.mean(inside) <= 0.96


def test_what_was_always_promised_too_much_is_promised_less() -> None:
    outlook = Outlook.fit(world(2, 1500, bias=-1.0), FEATURES, "a test")
    told = outlook.forecast(np.array([1.0, 1.0]), Distance.SIBLING, 0.5)
    assert told.expected < 0.45
    assert told.low <= told.expected <= told.high


def test_the_probability_of_a_gain_is_that_of_the_errors(outlook: Outlook) -> None:
    fresh = [item for item in world(3, 4000) if abs(item.gain) < 0.05]
    said = np.mean([outlook.forecast(i.row, i.distance, i.gain).probability for i in fresh])
    assert said == pytest.approx(np.mean([item.truth > 0 for item in fresh]), abs=0.05)
    assert outlook.forecast(np.array([0.0, 0.0]), Distance.SIBLING, 2.0).probability == pytest.approx(0.99)


def test_a_class_nobody_checked_borrows_from_all(outlook: Outlook) -> None:
    row = np.array([1.0, 1.0])
    assert outlook.forecast(row, Distance.OTHER_VENDOR, 0.1) == outlook.forecast(
        row, Distance.SAME_VENDOR, 0.1
    )


def test_one_device_with_many_questions_does_not_speak_for_all() -> None:
    few = world(4, 400, devices=10)
    crowd = [
        Checked(
            operator="op",
            device="crowd",
            distance=item.distance,
            row=item.row,
            gain=item.gain,
            truth=item.gain,
            regrets=(0.0,) * len(LISTED),
        )
        for item in world(5, 20 * MOST_OF_ONE, devices=1)
    ]
    alone, together = (Outlook.fit(known, FEATURES, "") for known in (few, few + crowd))
    row = np.array([1.0, 1.0])
    widths = [
        told.high - told.low for told in (o.forecast(row, Distance.SIBLING, 0.0) for o in (alone, together))
    ]
    assert widths[1] > 0.6 * widths[0]


def test_it_comes_back_from_its_json(outlook: Outlook) -> None:
    again = Outlook.from_json(json.loads(json.dumps(outlook.to_json())), FEATURES)
    row = np.array([1.0, 1.0])
    one, other = (o.forecast(row, Distance.SIBLING, 0.1) for o in (outlook, again))
    assert other.low == pytest.approx(one.low, abs=1e-3)


def test_what_ships_grows_more_careful_with_distance() -> None:
    shipped = Outlook.shipped(CIRCUMSTANCES)
    row = np.zeros(len(CIRCUMSTANCES))
    regrets = []
    for distance in Distance:
        for name, step in zip(
            CIRCUMSTANCES[-len(STEPS) - len(MANY_FROM) :], (*STEPS, *MANY_FROM), strict=True
        ):
            many = math.log(1000) if name.startswith("many") else 1.0
            row[CIRCUMSTANCES.index(name)] = many * (distance >= step)
        regrets.append(shipped.regret(row)[1])
    assert regrets == sorted(regrets)
    assert regrets[-1] > regrets[0]


def test_nothing_measured_teaches_nothing() -> None:
    with pytest.raises(ValueError, match="none"):
        Outlook.fit([], FEATURES, "")


def test_a_longer_list_loses_no_more_even_where_its_own_model_says_so(outlook: Outlook) -> None:
    swapped = replace(
        outlook,
        regrets={
            1: outlook.regrets[10],
            3: outlook.regrets[1],
            5: outlook.regrets[1],
            10: outlook.regrets[3],
        },
    )
    row = np.array([1.5, 1.0])
    assert float(swapped.regrets[3].expect(row)) > float(swapped.regrets[1].expect(row))
    found = list(swapped.regret(row).values())
    assert found == sorted(found, reverse=True)


@pytest.mark.parametrize(("devices", "own_share"), [(1, 1 / 6), (5, 1 / 2), (45, 9 / 10)])
def test_a_class_borrows_from_all_by_the_number_of_its_devices(devices: int, own_share: float) -> None:
    """Five devices count as much as all classes together."""
    mine = world(4, 90, devices=devices, distance=Distance.OTHER_VENDOR, bias=-3.0)
    outlook = Outlook.fit([*world(3, 300), *mine], FEATURES, "a test")
    scale = outlook.scale.expect(np.array([item.row for item in mine])) + 0.02
    errors = np.sort([item.truth - item.gain for item in mine] / scale)
    everywhere = outlook.quantiles[Distance.SAME_VENDOR]  # nobody checked this class
    expected = own_share * errors[44] + (1 - own_share) * np.interp(0.5, LEVELS, everywhere)
    assert np.interp(0.5, LEVELS, outlook.quantiles[Distance.OTHER_VENDOR]) == pytest.approx(
        expected, abs=0.05
    )


def test_questions_of_one_device_count_as_the_root_of_their_number() -> None:
    """One device with 100 questions against 25 with one each: together 10 to 25 of 35 votes, not 100 or 1."""
    made = [replace(item, device="much", truth=item.gain + 1.0) for item in world(5, 100)]
    made += [replace(item, device=f"few{k}", truth=item.gain - 1.0) for k, item in enumerate(world(6, 25))]
    quantiles = Outlook.fit(made, FEATURES, "").quantiles[Distance.SIBLING]
    low, middle, high = np.interp((0.2, 0.5, 0.9), LEVELS, quantiles)
    assert low < 0  # the few are 25 of 35 votes: neither 25 of 26 nor 25 of 125
    assert middle < 0
    assert high > 0
