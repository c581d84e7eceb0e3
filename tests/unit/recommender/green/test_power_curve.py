"""Curves over clock and cap: their form, their fit, and what they choose."""

from __future__ import annotations

import numpy as np
import pytest

from recommender.green.power_curve import PowerCurve, fit_cap, fit_clock, shipped_curve

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


def test_three_points_find_the_curve() -> None:
    prior = shipped_curve("clock").curve
    points = [
        (clock, 3 * float(CURVE.time(clock)), 70 * float(CURVE.energy(clock))) for clock in (0.5, 0.75, 1.0)
    ]
    fitted = fit_clock(points, prior)
    clocks = np.linspace(0.5, 1, 20)
    error = np.abs(fitted.energy(clocks) / CURVE.energy(clocks) - 1).mean()
    assert error < 0.02
    assert error < 0.6 * np.abs(prior.energy(clocks) / CURVE.energy(clocks) - 1).mean()


def test_one_point_leaves_the_shipped_curve() -> None:
    prior = shipped_curve("clock").curve
    assert fit_clock([(1410.0, 0.05, 24.0)], prior) == prior


def test_points_under_caps_are_fitted_too() -> None:
    prior = shipped_curve("cap").curve
    caps = np.array([100.0, 175.0, 250.0])
    truth = PowerCurve(
        clock_bound=0.6, sharpness=20, static_share=0.3, exponent=4, cap_reach=0.92, cap_sharpness=6
    )
    time, energy = truth.under_cap(caps, 210.0, 250.0)
    points = [
        (cap, t, 210 * e / t) for cap, t, e in zip(caps.tolist(), time.tolist(), energy.tolist(), strict=True)
    ]
    fitted = fit_cap(points, prior)
    inner = np.array([125.0, 150.0, 200.0])
    wanted = truth.under_cap(inner, 210.0, 250.0)[1]
    assert np.abs(fitted.under_cap(inner, 210.0, 250.0)[1] / wanted - 1).max() < 0.06


@pytest.mark.parametrize("kind", ["clock", "cap"])
def test_shipped_curves_say_their_error_and_source(kind: str) -> None:
    found = shipped_curve(kind)
    assert 0 < found.error_percent <= 12
    assert "Apache-2.0" in found.source
    assert found.curve.energy(0.8) < 1
