"""Curves over clock and cap: their form, and what they choose."""

import numpy as np
import pytest

from recommender.green.power_curve import SLOWDOWNS, PowerCurve, cap_steps, shipped_curve

CURVE = PowerCurve(clock_bound=1.3, sharpness=6.0, static_share=0.35, exponent=3.2)


def test_full_clock_is_the_reference_and_lower_ones_are_slower_and_thriftier() -> None:
    clocks = np.linspace(0.3, 1, 50)
    time, power = CURVE.time(clocks), CURVE.power(clocks)
    assert time[-1] == pytest.approx(1)
    assert power[-1] == pytest.approx(1)
    assert (np.diff(time) <= 1e-12).all()
    assert (np.diff(power) > 0).all()
    assert CURVE.energy(0.8) == pytest.approx(CURVE.time(0.8) * CURVE.power(0.8))


def test_the_clock_of_least_energy_keeps_to_the_slowdown() -> None:
    clock = CURVE.clock_for(0.05)
    assert CURVE.time(clock) <= 1.05
    assert CURVE.energy(clock) < 1
    assert CURVE.energy(CURVE.clock_for(0.5)) <= CURVE.energy(clock)
    assert CURVE.clock_for(0.0) <= 1.0


def test_a_cap_above_what_is_drawn_changes_nothing_and_one_below_does() -> None:
    """Decoding draws 150 of 400 W: no cap of 300 W acts on it."""
    curve = shipped_curve("cap").curve
    time, energy = curve.under_cap(np.array([300.0]), 150.0, 400.0)
    assert time[0] == pytest.approx(1, abs=0.01)
    assert energy[0] == pytest.approx(1, abs=0.02)
    slower, thriftier = curve.under_cap(np.array([200.0]), 390.0, 400.0)
    assert slower[0] > 1.02
    assert thriftier[0] < 0.95


@pytest.mark.parametrize("kind", ["clock", "cap"])
def test_shipped_curves_say_their_error_and_source(kind: str) -> None:
    found = shipped_curve(kind)
    assert 0 < found.error_percent <= 12
    assert "Apache-2.0" in found.source
    assert found.curve.energy(0.8) < 1


@pytest.mark.parametrize(
    ("vendor", "draws", "acts"), [("nvidia", 390.0, True), ("nvidia", 150.0, False), ("huawei", 390.0, False)]
)
def test_caps_are_told_where_they_act(vendor: str, draws: float, acts: bool) -> None:
    """Decoding draws 150 of 400 W, and no curve of an Ascend device is public."""
    found = cap_steps((vendor,), draws, 400.0)
    assert bool(found) is acts
    assert all(0.5 * 400 <= (step.cap_w or 0) < 400 and step.energy < 1 for step in found)
    assert all(step.time <= 1 + most for step, most in zip(found, SLOWDOWNS, strict=False))
    assert any(step.cap_w == 333.0 for step in cap_steps((vendor,), draws, 400.0, limit_w=333.0)) is acts
